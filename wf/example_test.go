package wf_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"sp00ky.cloud/spky/wf"
	"sp00ky.cloud/spky/wf/wftest"
)

// The code of docs/workflows.md; a test holds the two against each other.

type Params struct {
	Document string `json:"document"`
}

type Summary struct {
	Pages int `json:"pages"`
}

type Review struct {
	OK bool `json:"ok"`
}

func Ingest(ctx context.Context, ev wf.Event[Params], s *wf.Step) (Summary, error) {
	pages, err := wf.Do(ctx, s, "count pages", func(ctx context.Context) (int, error) {
		return countPages(ctx, ev.Payload.Document)
	})
	if err != nil {
		return Summary{}, err
	}
	if err := s.Sleep(ctx, "let it settle", time.Hour); err != nil {
		return Summary{}, err
	}
	review, err := wf.WaitForEvent[Review](ctx, s, "review", "reviewed", wf.Timeout(3*24*time.Hour))
	if err != nil {
		return Summary{}, err
	}
	if !review.Payload.OK {
		return Summary{}, errors.New("the reviewer says no")
	}
	return Summary{Pages: pages}, nil
}

func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	engine, err := wf.New(ctx, wf.Config{})
	if err != nil {
		return err
	}
	ingest := wf.Register(engine, "INGEST", Ingest)

	mux := http.NewServeMux()
	mux.HandleFunc("POST /documents", func(w http.ResponseWriter, r *http.Request) {
		instance, err := ingest.Create(r.Context(), Params{Document: r.FormValue("document")})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, instance.ID())
	})
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: engine.Handler(mux), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return errors.Join(engine.Close(grace), server.Shutdown(grace)) // in this order: runs hand over, then the server ends
}

// Convert shows retries, timeouts, and what errors mean.
func Convert(ctx context.Context, ev wf.Event[Params], s *wf.Step) ([]string, error) {
	images, err := wf.Do(ctx, s, "convert", func(ctx context.Context) ([]string, error) {
		images, err := convert(ctx, ev.Payload.Document)
		if errors.Is(err, errBroken) {
			return nil, wf.NonRetryable(err) // another attempt won't mend it
		}
		return images, err
	}, wf.Retry(3, 10*time.Second, wf.Exponential), wf.Timeout(time.Minute))

	var failed *wf.StepError
	if errors.As(err, &failed) {
		wf.Logger(ctx).Warn("no images", "name", failed.Name, "message", failed.Message)
		return nil, nil // go on without
	}
	return images, err
}

// Pages shows steps that run side by side.
func Pages(ctx context.Context, ev wf.Event[[]string], s *wf.Step) (map[string]int, error) {
	var counts []*wf.Future[int]
	for _, document := range ev.Payload {
		counts = append(counts, wf.Go(ctx, s, "count pages", func(ctx context.Context) (int, error) {
			return countPages(ctx, document)
		}))
	}
	pages := map[string]int{}
	for i, document := range ev.Payload {
		n, err := counts[i].Wait()
		if err != nil {
			return nil, err
		}
		pages[document] = n
	}
	return pages, nil
}

// Remind shows branches: one reminds every day, the other waits for the answer.
func Remind(ctx context.Context, _ wf.Event[Params], s *wf.Step) (bool, error) {
	answer := wf.Branch(ctx, s, func(ctx context.Context, s *wf.Step) (bool, error) {
		got, err := wf.WaitForEvent[Review](ctx, s, "answer", "answered", wf.Timeout(72*time.Hour))
		return got.Payload.OK, err
	})
	reminders := wf.Branch(ctx, s, func(ctx context.Context, s *wf.Step) (int, error) {
		for n := range 2 {
			if err := s.Sleep(ctx, "a day", 24*time.Hour); err != nil {
				return n, err
			}
			if _, err := wf.Do(ctx, s, "remind", remind); err != nil {
				return n, err
			}
		}
		return 2, nil
	})
	ok, err := answer.Wait()
	if err != nil {
		return false, err
	}
	_, err = reminders.Wait()
	return ok, err
}

// Batches shows a loop over steps.
func Batches(ctx context.Context, ev wf.Event[[]string], s *wf.Step) (int, error) {
	done := 0
	for batch := range chunks(ev.Payload, 10) {
		n, err := wf.Do(ctx, s, "convert batch", func(ctx context.Context) (int, error) {
			return convertAll(ctx, batch)
		})
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// Poll shows how to wait for something that sends no event.
func Poll(ctx context.Context, ev wf.Event[Params], s *wf.Step) error {
	for range 100 {
		ready, err := wf.Do(ctx, s, "look", func(ctx context.Context) (bool, error) {
			return isReady(ctx, ev.Payload.Document)
		})
		if err != nil || ready {
			return err
		}
		if err := s.Sleep(ctx, "before the next look", 10*time.Minute); err != nil {
			return err
		}
	}
	return errors.New("not ready after 100 looks")
}

func publish(ctx context.Context, s *wf.Step, document string, pages int) (int, error) {
	return wf.Query[int](ctx, s, "publish", `
		LET $doc = type::record('document', $document);
		UPDATE $doc SET pages = $pages, published_at = time::now();
		UPSERT ONLY stats:documents SET published += 1;
		RETURN (SELECT VALUE published FROM ONLY stats:documents);
	`, map[string]any{"document": document, "pages": pages})
}

func manage(ctx context.Context, ingest *wf.Workflow[Params]) error {
	instance, err := ingest.Create(ctx, Params{Document: "a.pdf"}, wf.ID("a-pdf"), wf.Owner("user:abc"))
	if errors.Is(err, wf.ErrExists) { // somebody has started it already, which is fine
		instance, err = ingest.Get(ctx, "a-pdf")
	}
	if err != nil {
		return err
	}
	var state *wf.StateError
	if err := instance.SendEvent(ctx, "reviewed", Review{OK: true}); errors.As(err, &state) {
		return fmt.Errorf("too late: the instance is %s", state.Status)
	} else if err != nil {
		return err
	}
	report, err := instance.Status(ctx)
	if err != nil {
		return err
	}
	if report.Status == wf.Complete {
		var summary Summary
		return report.Output(&summary)
	}
	return nil
}

func TestIngest(t *testing.T) {
	run := wftest.Run(t, Ingest, Params{Document: "a.pdf"},
		wftest.Stub("count pages", 12),
		wftest.Event("reviewed", Review{OK: true}, wftest.OnWait(2*time.Hour)))
	var summary Summary
	run.Output(&summary)
	if summary.Pages != 12 || run.Slept() != time.Hour {
		t.Errorf("%+v\n%s", summary, run)
	}
}

func TestIngestWithoutAReview(t *testing.T) {
	run := wftest.Run(t, Ingest, Params{Document: "a.pdf"}, wftest.Stub("count pages", 12))
	if !errors.Is(run.Err(), wf.ErrTimeout) {
		t.Errorf("%v\n%s", run.Err(), run)
	}
}

func Example() {
	engine, err := wf.New(context.Background(), wf.Config{})
	if err != nil {
		panic(err)
	}
	ingest := wf.Register(engine, "INGEST", Ingest)
	http.Handle("POST /documents", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = ingest.Create(r.Context(), Params{Document: r.FormValue("document")}, wf.Owner("user:abc"))
	}))
	_ = http.ListenAndServe("127.0.0.1:8080", engine.Handler(http.DefaultServeMux))
}

// What the examples stand on.

var errBroken = errors.New("broken document")

func countPages(_ context.Context, document string) (int, error) { return len(document), nil }

func convert(_ context.Context, document string) ([]string, error) {
	if strings.HasPrefix(document, "broken") {
		return nil, errBroken
	}
	return []string{document + ".png"}, nil
}

func convertAll(_ context.Context, documents []string) (int, error) { return len(documents), nil }

func isReady(context.Context, string) (bool, error) { return true, nil }

func remind(context.Context) (string, error) { return "sent", nil }

func chunks(all []string, size int) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		for len(all) > 0 {
			n := min(size, len(all))
			if !yield(all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

var _ = []any{serve, manage, publish}
