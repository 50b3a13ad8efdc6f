package workflow_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// TestHandlerLeavesTheRestAlone: whatever is not the route of runs reaches the wrapped handler as it
// was sent, and its answer leaves as it was written.
func TestHandlerLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	next := make(chan struct{})
	server := httptest.NewServer(r.newEngine(wf.Config{AuthToken: "secret"}).Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body) // a test's own request
		w.Header().Set("X-Saw", fmt.Sprintf("%s %s %s %s", req.Method, req.URL.RequestURI(), req.Header.Get("X-Own"), body))
		w.WriteHeader(http.StatusTeapot)
		if req.URL.Path != "/stream" {
			return
		}
		for n := range 3 {
			_, _ = fmt.Fprintf(w, "piece %d\n", n) // the client may be gone
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("flush: %v", err)
			}
			<-next
		}
	})))
	t.Cleanup(server.Close)
	for _, c := range []struct{ method, path string }{
		{"GET", "/"},
		{"POST", "/ingest?a=%2F"},
		{"PUT", "/x"},
		{"DELETE", "/x"},
		{"PATCH", "/x"},
		{"OPTIONS", "/x"},
		{"POST", "/__spky"},
		{"POST", "/__spky/workflow"},
		{"POST", "/__spky/other/X"},
		{"GET", "/__spky/health"},
		{"POST", "/x/__spky/workflow/X"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, strings.NewReader("body"))
		check(t, err)
		req.Header.Set("X-Own", "own")
		resp, err := http.DefaultClient.Do(req)
		check(t, err)
		check(t, resp.Body.Close())
		if want := c.method + " " + c.path + " own body"; resp.StatusCode != http.StatusTeapot || resp.Header.Get("X-Saw") != want {
			t.Errorf("%s %s: %d, the handler saw %q", c.method, c.path, resp.StatusCode, resp.Header.Get("X-Saw"))
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/stream", nil)
	check(t, err)
	resp, err := http.DefaultClient.Do(req)
	check(t, err)
	defer func() { check(t, resp.Body.Close()) }()
	lines := bufio.NewScanner(resp.Body)
	for n := range 3 { // each piece comes while the handler waits
		if !lines.Scan() || lines.Text() != fmt.Sprintf("piece %d", n) {
			t.Fatalf("the stream has %q (%v)", lines.Text(), lines.Err())
		}
		next <- struct{}{}
	}
}

// TestHandlerRefusals: what is no legal request for a run gets an answer that says why, and touches
// no instance.
func TestHandlerRefusals(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{AuthToken: "secret"})
	var calls atomic.Int32
	flow := wf.Register(engine, "KNOWN", func(context.Context, wf.Event[int], *wf.Step) (int, error) { calls.Add(1); return 0, nil })
	wf.Register(engine, "OTHER", func(context.Context, wf.Event[int], *wf.Step) (int, error) { calls.Add(1); return 0, nil })
	_, err := flow.Create(t.Context(), 0, wf.ID("one"))
	check(t, err)
	before, handler := r.snapshot(), engine.Handler(http.NotFoundHandler())
	for _, c := range []struct {
		name, method, path, token, body string
		code                            int
		says                            string
	}{
		{"another method", "GET", "KNOWN", "Bearer secret", "", 405, "POST"},
		{"no token", "POST", "KNOWN", "", `{"instance":"one"}`, 401, "token"},
		{"a wrong token", "POST", "KNOWN", "Bearer secre", `{"instance":"one"}`, 401, "token"},
		{"another scheme", "POST", "KNOWN", "Basic secret", `{"instance":"one"}`, 401, "token"},
		{"a bare token", "POST", "KNOWN", "secret", `{"instance":"one"}`, 401, "token"},
		{"no token for an unknown binding", "POST", "UNKNOWN", "", `{"instance":"one"}`, 401, "token"},
		{"an unknown binding", "POST", "UNKNOWN", "Bearer secret", `{"instance":"one"}`, 404, `"UNKNOWN"`},
		{"no binding", "POST", "", "Bearer secret", `{"instance":"one"}`, 404, `""`},
		{"something below a binding", "POST", "KNOWN/x", "Bearer secret", `{"instance":"one"}`, 404, `"KNOWN/x"`},
		{"an empty body", "POST", "KNOWN", "Bearer secret", "", 400, "body"},
		{"a body that is no JSON", "POST", "KNOWN", "Bearer secret", "instance=one", 400, "body"},
		{"a body of another shape", "POST", "KNOWN", "Bearer secret", `{"instance":{"id":"one"}}`, 400, "body"},
		{"null", "POST", "KNOWN", "Bearer secret", `null`, 400, "no instance"},
		{"an illegal id", "POST", "KNOWN", "Bearer secret", `{"instance":"a b"}`, 400, "no instance"},
		{"a large body", "POST", "KNOWN", "Bearer secret", `{"instance":"` + strings.Repeat("a", 1<<20) + `"}`, 400, "body"},
		{"an unknown instance", "POST", "KNOWN", "Bearer secret", `{"instance":"two"}`, 404, "no such instance"},
		{"another workflow's instance", "POST", "OTHER", "Bearer secret", `{"instance":"one"}`, 404, "no such instance"},
		{"another job's id", "POST", "KNOWN", "Bearer secret", `{"instance":"one"}`, 200, "job%3Aother"},
		{"a broken job's id", "POST", "KNOWN", "Bearer secret", `{"instance":"one"}`, 200, "job%3%"},
	} {
		req := httptest.NewRequestWithContext(t.Context(), c.method, "/__spky/workflow/"+c.path, strings.NewReader(c.body))
		if c.token != "" {
			req.Header.Set("Authorization", c.token)
		}
		if c.code == http.StatusOK {
			req.Header.Set("Spky-Job-Id", c.says)
			c.says = ""
		}
		got := r.serveRun(handler, req)
		if got.Code != c.code || !strings.Contains(got.Text, c.says) || got.Retry != "" {
			t.Errorf("%s: %+v", c.name, got)
		}
		if c.code == http.StatusOK && got.State != "superseded" {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	r.unchanged("a refused request", before)
	if calls.Load() != 0 {
		t.Errorf("%d runs", calls.Load())
	}
	req := runRequest(t, "", "KNOWN", "one", surreal.RecordID{})
	req.Header.Set("Authorization", "Bearer secret")
	if got := r.serveRun(handler, req); got.State != "complete" || calls.Load() != 1 {
		t.Errorf("a legal request: %+v", got)
	}
	if got := r.serveRun(handler, authorised(runRequest(t, "", "KNOWN", "one", surreal.RecordID{}))); got.Code != http.StatusOK || got.State != "done" {
		t.Errorf("a request for a finished instance: %+v", got)
	}
}

func authorised(req *http.Request) *http.Request {
	req.Header.Set("Authorization", "Bearer secret")
	return req
}

// TestHandlerWithoutSchema: a database without the platform's tables is an error that says what to do,
// and no answer that would end the job.
func TestHandlerWithoutSchema(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	r.Exec("REMOVE FUNCTION fn::spky::wf::acquire_all", nil)
	engine := r.newEngine(wf.Config{})
	wf.Register(engine, "X", func(context.Context, wf.Event[int], *wf.Step) (int, error) { return 0, nil })
	if got := r.serveRun(engine.Handler(http.NotFoundHandler()), runRequest(t, "", "X", "one", surreal.RecordID{})); got.Code != http.StatusInternalServerError || !strings.Contains(got.Text, "migrate") {
		t.Errorf("%+v", got)
	}
}

// TestRegisterPanics on a binding that is used or illegal.
func TestRegisterPanics(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	code := func(context.Context, wf.Event[int], *wf.Step) (int, error) { return 0, nil }
	wf.Register(engine, "USED", code)
	wf.Register(engine, strings.Repeat("a", 64), code)
	for _, binding := range []string{"USED", "", "-badName", strings.Repeat("a", 65), "a b", "1st", "a/b", "é"} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), fmt.Sprintf("%q", binding)) {
					t.Errorf("register %q: %v", binding, p)
				}
			}()
			wf.Register(engine, binding, code)
		}()
	}
}

// TestTwoEngines in one process, each with workflows of its own, serve the same database at once.
func TestTwoEngines(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	one, two := r.newEngine(wf.Config{}), r.newEngine(wf.Config{})
	code := func(by string) func(context.Context, wf.Event[int], *wf.Step) (string, error) {
		return func(ctx context.Context, _ wf.Event[int], s *wf.Step) (string, error) {
			if err := s.Sleep(ctx, "s", 10*time.Millisecond); err != nil {
				return "", err
			}
			return wf.Do(ctx, s, "by", func(context.Context) (string, error) { return by, nil })
		}
	}
	first, second := wf.Register(one, "FIRST", code("one")), wf.Register(two, "SECOND", code("two"))
	// The second wraps the first: one server for both.
	r.StartNode(r.Serve(both(one, two)))
	for range 5 {
		for flow, want := range map[*wf.Workflow[int]]string{first: "one", second: "two"} {
			i, err := flow.Create(t.Context(), 0)
			check(t, err)
			var by string
			check(t, r.untilStatus(i, wf.Complete).Output(&by))
			if by != want {
				t.Errorf("run by %s, want %s", by, want)
			}
		}
	}
}

// both sends requests to the engine that knows the binding.
func both(one, two *wf.Engine) http.Handler {
	first, second := one.Handler(http.NotFoundHandler()), two.Handler(http.NotFoundHandler())
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/FIRST") {
			first.ServeHTTP(w, req)
			return
		}
		second.ServeHTTP(w, req)
	})
}

// TestCloseHandsOver: an engine that is closed ends its running steps' contexts, takes their attempts
// back, gives the instances back at once, and refuses new runs; another process finishes them.
func TestCloseHandsOver(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	var attempts []int
	held := make(chan error, 2)
	code := func(ctx context.Context, ev wf.Event[int], s *wf.Step) (string, error) {
		return wf.Do(ctx, s, "long", func(ctx context.Context) (string, error) {
			attempts = append(attempts, wf.Attempt(ctx))
			if len(attempts) > 1 {
				return "done", nil
			}
			held <- nil
			<-ctx.Done()
			held <- context.Cause(ctx)
			return "", ctx.Err()
		}, wf.Retry(ev.Payload, time.Hour, wf.Constant))
	}
	for _, c := range []struct {
		limit  int
		status string
		calls  int
	}{{1, "complete", 2}, {0, "errored", 1}} { // a step without retries must not run twice
		attempts = nil
		closing, err := wf.New(t.Context(), wf.Config{DB: r.DB.Retrying(), OutboxTable: r.Table, Logger: logger(t)})
		check(t, err)
		flow := wf.Register(closing, "CLOSE", code)
		i, err := flow.Create(t.Context(), c.limit)
		check(t, err)
		handler := closing.Handler(http.NotFoundHandler())
		answers := make(chan reply, 1)
		go func() { answers <- r.run(handler, "CLOSE", i.ID()) }()
		<-held
		r.Poll("the step shows as running", func() (bool, any) { return r.Steps(i.ID())["do long #1"].Status == "running", nil })
		closeEngine(t, closing)
		if cause := <-held; cause == nil {
			t.Error("the step's context had no cause")
		}
		if got := <-answers; got.State != "shutdown" {
			t.Errorf("the run answers %+v", got)
		}
		row, step := r.Instance(i.ID()), r.Steps(i.ID())["do long #1"]
		due := read[[]bool](r, "SELECT VALUE run_at <= time::now() FROM $id.job WHERE status = 'pending'", map[string]any{"id": instanceKey(i.ID())})
		if row.Status != "queued" || row.LeaseToken != "" || len(due) != 1 || !due[0] || len(step.Attempts) != 1-c.limit || len(attempts) != 1 {
			t.Errorf("limit %d: it leaves %+v with the jobs %v and the step %+v", c.limit, row, due, step)
		}
		if got := r.run(handler, "CLOSE", i.ID()); got.Code != http.StatusServiceUnavailable || got.Retry != "busy" {
			t.Errorf("a run of a closed engine: %+v", got)
		}
		closeEngine(t, closing) // once more does no harm
		next := r.newEngine(wf.Config{})
		wf.Register(next, "CLOSE", code)
		row = r.finish(next.Handler(http.NotFoundHandler()), "CLOSE", i)
		if row.Status != c.status || len(attempts) != c.calls || len(r.Steps(i.ID())["do long #1"].Attempts) != 1 {
			t.Errorf("limit %d: %s after the attempts %v: %+v", c.limit, row.Status, attempts, r.Steps(i.ID()))
		}
	}
}

// TestCloseGivesUp: a database that does not answer holds Close up no longer than its context.
func TestCloseGivesUp(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	g := newGate(r.DB.Retrying(), "commit_steps")
	engine, err := wf.New(t.Context(), wf.Config{DB: g, OutboxTable: r.Table, Logger: logger(t)})
	check(t, err)
	flow := wf.Register(engine, "STUCK", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		return wf.Do(ctx, s, "a", func(context.Context) (int, error) { return 1, nil })
	})
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	answers := make(chan reply, 1)
	go func() { answers <- r.run(engine.Handler(http.NotFoundHandler()), "STUCK", i.ID()) }()
	<-g.reached
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := engine.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("close gives %v", err)
	}
	close(g.open)
	<-answers
	closeEngine(t, engine)
}

// TestCallerGone: a run whose request was given up goes on to its end in the background, and requests
// meanwhile are told that it is busy.
func TestCallerGone(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	held, free := make(chan struct{}), make(chan struct{})
	flow := wf.Register(engine, "GONE", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		v, err := wf.Do(ctx, s, "long", func(ctx context.Context) (int, error) {
			close(held)
			select {
			case <-free:
				return 1, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		if err != nil {
			return 0, err
		}
		return wf.Do(ctx, s, "next", func(context.Context) (int, error) { return v + 1, nil })
	})
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	handler := engine.Handler(http.NotFoundHandler())
	ctx, hangUp := context.WithCancel(t.Context())
	answers := make(chan reply, 1)
	req := runRequest(t, "", "GONE", i.ID(), r.Instance(i.ID()).Job).WithContext(ctx)
	go func() { answers <- r.serveRun(handler, req) }()
	<-held
	hangUp()
	if got := <-answers; got.Code == http.StatusOK {
		t.Errorf("the request that was given up: %+v", got)
	}
	if got := r.run(handler, "GONE", i.ID()); got.Code != http.StatusServiceUnavailable || got.Retry != "busy" {
		t.Errorf("a request meanwhile: %+v", got)
	}
	close(free)
	report := r.untilStatus(i, wf.Complete)
	if row := r.Instance(i.ID()); row.Runs != 1 || report.StepsDone != 2 {
		t.Errorf("it took %d runs and %d steps", row.Runs, report.StepsDone)
	}
}

// TestTimeoutEndsTheContext with the timeout as its cause, and a function that does not care holds
// nothing up.
func TestTimeoutEndsTheContext(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	causes, free := make(chan error, 1), make(chan struct{})
	flow := wf.Register(engine, "SLOW", func(ctx context.Context, ev wf.Event[bool], s *wf.Step) (int, error) {
		return wf.Do(ctx, s, "slow", func(ctx context.Context) (int, error) {
			if ev.Payload {
				<-free
				return 1, nil
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return 0, fmt.Errorf("gave up: %w", ctx.Err())
		}, wf.Timeout(50*time.Millisecond), wf.Retry(0, 0, wf.Constant))
	})
	for _, deaf := range []bool{false, true} {
		i, err := flow.Create(t.Context(), deaf)
		check(t, err)
		row := r.finish(engine.Handler(http.NotFoundHandler()), "SLOW", i)
		report, err := i.Status(t.Context())
		check(t, err)
		if row.Status != "errored" || !errors.Is(report.Error, wf.ErrTimeout) || !strings.Contains(row.Error.Message, "timed out after 50ms") {
			t.Errorf("deaf %t: %s with %v", deaf, row.Status, row.Error)
		}
	}
	if cause := <-causes; !errors.Is(cause, wf.ErrTimeout) {
		t.Errorf("the cause is %v", cause)
	}
	close(free)
}

// TestPanicsAndExits: whatever ends a function or a workflow without a return is an error of it, never
// a result and never a run that nobody ends.
func TestPanicsAndExits(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	type nothing struct{ p *int }
	ends := map[string]func(){
		"panic": func() { panic("boom") }, "panic with an error": func() { panic(errors.New("boom")) },
		"nil dereference": func() { var n nothing; *n.p = 1 }, "exit": runtime.Goexit,
	}
	where := map[string]func(ctx context.Context, s *wf.Step, end func()) (int, error){
		"step": func(ctx context.Context, s *wf.Step, end func()) (int, error) {
			return wf.Do(ctx, s, "a", func(context.Context) (int, error) { end(); return 1, nil }, wf.Retry(1, 0, wf.Constant))
		},
		"parallel step": func(ctx context.Context, s *wf.Step, end func()) (int, error) {
			return wf.Go(ctx, s, "a", func(context.Context) (int, error) { end(); return 1, nil }, wf.Retry(1, 0, wf.Constant)).Wait()
		},
		"branch": func(ctx context.Context, s *wf.Step, end func()) (int, error) {
			return wf.Branch(ctx, s, func(context.Context, *wf.Step) (int, error) { end(); return 1, nil }).Wait()
		},
		"workflow": func(_ context.Context, _ *wf.Step, end func()) (int, error) { end(); return 1, nil },
	}
	flow := wf.Register(engine, "ENDS", func(ctx context.Context, ev wf.Event[[2]string], s *wf.Step) (int, error) {
		return where[ev.Payload[0]](ctx, s, ends[ev.Payload[1]])
	})
	for place := range where {
		for how := range ends {
			i, err := flow.Create(t.Context(), [2]string{place, how})
			check(t, err)
			row := r.finish(engine.Handler(http.NotFoundHandler()), "ENDS", i)
			name := "PanicError"
			if how == "exit" {
				name = "Error"
			}
			if row.Status != "errored" || row.Error.Name != name || how != "exit" && !strings.Contains(row.Stack, "handler_test.go") {
				t.Errorf("%s in a %s: %s, %+v, %.100s", how, place, row.Status, row.Error, row.Stack)
			}
			if step := r.Steps(i.ID())["do a #1"]; strings.Contains(place, "step") && len(step.Attempts) != 2 {
				t.Errorf("%s in a %s: %d attempts", how, place, len(step.Attempts))
			}
		}
	}
}
