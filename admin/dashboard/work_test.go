package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"sp00ky.cloud/spky/wf"
)

// material is what INGEST is started with.
type material struct {
	Pages    int    `json:"pages"`
	Settle   string `json:"settle"`
	Failures int    `json:"failures"`
	Broken   bool   `json:"broken"`
}

// ingest counts, converts in parallel batches, of which the second fails at first, sleeps, waits for a review and
// publishes.
func ingest(ctx context.Context, ev wf.Event[material], step *wf.Step) (map[string]any, error) {
	m := ev.Payload
	total, err := wf.Do(ctx, step, "count pages", func(context.Context) (int, error) { return max(m.Pages, 1), nil })
	if err != nil {
		return nil, err
	}
	var parts []*wf.Future[int]
	for n := 1; n <= min(total, 4); n++ {
		parts = append(parts, wf.Go(ctx, step, fmt.Sprintf("convert batch %d", n), func(ctx context.Context) (int, error) {
			if err := busy(ctx, time.Duration(n)*60*time.Millisecond); err != nil {
				return 0, err
			}
			if n == 2 && wf.Attempt(ctx) <= m.Failures {
				return 0, fmt.Errorf("the converter answers 503 at attempt %d", wf.Attempt(ctx))
			}
			return 10, nil
		}, wf.Retry(3, 150*time.Millisecond, wf.Exponential), wf.Timeout(time.Minute)))
	}
	for _, part := range parts {
		if _, err := part.Wait(); err != nil {
			return nil, err
		}
	}
	if m.Broken {
		_, err := wf.Do(ctx, step, "check links", func(context.Context) (int, error) {
			return 0, wf.NonRetryable(errors.New("page 3 links to nowhere"))
		})
		return nil, err
	}
	if m.Settle != "" {
		settle, err := time.ParseDuration(m.Settle)
		if err != nil {
			return nil, wf.NonRetryable(err)
		}
		if err := step.Sleep(ctx, "let the index settle", settle); err != nil {
			return nil, err
		}
	}
	got, err := wf.WaitForEvent[map[string]any](ctx, step, "review", "reviewed", wf.Timeout(24*time.Hour))
	if err != nil {
		return nil, err
	}
	return wf.Do(ctx, step, "publish", func(ctx context.Context) (map[string]any, error) {
		return map[string]any{"pages": total, "review": got.Payload}, busy(ctx, 40*time.Millisecond)
	})
}

// mail is a workflow that ends.
func mail(ctx context.Context, _ wf.Event[any], step *wf.Step) (string, error) {
	return wf.Do(ctx, step, "send", func(ctx context.Context) (string, error) { return "sent", busy(ctx, 20*time.Millisecond) })
}

// busy takes a while, so that there is something to be seen.
func busy(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func workflows(e *wf.Engine) {
	wf.Register(e, "INGEST", ingest)
	wf.Register(e, "MAIL", mail)
}

// answers is the backend for jobs: /work succeeds, /fail does not, /hang does not end.
func answers(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/work":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"words":114,"pages":2}`)
	case "/hang":
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that its client has gone
		<-r.Context().Done()
	default:
		http.Error(w, "no such document", http.StatusUnprocessableEntity)
	}
}
