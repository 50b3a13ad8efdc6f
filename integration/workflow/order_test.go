package workflow_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/wf"
)

// stepsOf is a workflow that does steps of these names, and sleeps at the name "sleep", so that what
// comes before is stored when other code is deployed.
func stepsOf(names ...string) func(context.Context, wf.Event[int], *wf.Step) (string, error) {
	return func(ctx context.Context, _ wf.Event[int], s *wf.Step) (string, error) {
		var did []string
		for _, name := range names {
			if name == "sleep" {
				if err := s.Sleep(ctx, name, time.Millisecond); err != nil {
					return "", err
				}
				continue
			}
			v, err := wf.Do(ctx, s, name, func(context.Context) (string, error) { return name, nil })
			if err != nil {
				return "", err
			}
			did = append(did, v)
		}
		return strings.Join(did, " "), nil
	}
}

// TestChangedCode deploys other code while an instance sleeps. It goes on in every case; where stored
// steps are passed by, the row carries a warning that names them; where they are not, it carries none.
func TestChangedCode(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	for n, c := range []struct {
		name         string
		before, then []string
		output       string
		unreached    []string // that the warning names
		instead      string
	}{
		{"unchanged", []string{"a", "b", "sleep", "c"}, []string{"a", "b", "sleep", "c"}, "a b c", nil, ""},
		{"appended", []string{"a", "sleep", "c"}, []string{"a", "sleep", "c", "d"}, "a c d", nil, ""},
		{"inserted after what is stored", []string{"a", "sleep", "c"}, []string{"a", "sleep", "x", "c"}, "a x c", nil, ""},
		{"inserted before what is stored", []string{"a", "b", "sleep", "c"}, []string{"a", "x", "b", "sleep", "c"}, "a x b c", []string{`do "b" #1`, `sleep "sleep" #1`}, "x"},
		{"inserted at the start", []string{"a", "sleep", "c"}, []string{"x", "a", "sleep", "c"}, "x a c", []string{`do "a" #1`, `sleep "sleep" #1`}, "x"},
		{"removed", []string{"a", "b", "sleep", "c"}, []string{"a", "sleep", "c"}, "a c", []string{`do "b" #1`}, "c"},
		{"removed at the end", []string{"a", "b", "sleep"}, []string{"a", "sleep"}, "a", []string{`do "b" #1`}, ""},
		{"renamed", []string{"a", "b", "sleep", "c"}, []string{"a", "x", "sleep", "c"}, "a x c", []string{`do "b" #1`, `sleep "sleep" #1`}, "x"},
		{"reordered, all stored", []string{"a", "b", "sleep", "c"}, []string{"b", "a", "sleep", "c"}, "b a c", nil, ""},
		{"reordered across the edge", []string{"a", "b", "sleep", "c"}, []string{"a", "c", "b", "sleep"}, "a c b", []string{`do "b" #1`, `sleep "sleep" #1`}, "c"},
		{"fewer of one name", []string{"a", "a", "a", "sleep", "c"}, []string{"a", "sleep", "c"}, "a c", []string{`do "a" #2`, `do "a" #3`}, "c"},
		{"the sleep removed", []string{"a", "sleep", "c"}, []string{"a", "c"}, "a c", []string{`sleep "sleep" #1`}, "c"},
		{"all removed", []string{"a", "sleep", "c"}, nil, "", []string{`do "a" #1`, `sleep "sleep" #1`}, ""},
	} {
		old, changed := r.newEngine(wf.Config{}), r.newEngine(wf.Config{})
		binding := fmt.Sprintf("CHANGED_%d", n)
		flow := wf.Register(old, binding, stepsOf(c.before...))
		wf.Register(changed, binding, stepsOf(c.then...))
		i, err := flow.Create(t.Context(), 0)
		check(t, err)
		if got := r.run(old.Handler(http.NotFoundHandler()), binding, i.ID()); got.State != "suspended" {
			t.Fatalf("%s: the first run is %+v", c.name, got)
		}
		row := r.finish(changed.Handler(http.NotFoundHandler()), binding, i)
		if row.Status != "complete" || row.Output != c.output {
			t.Errorf("%s: %s with %v (%v)", c.name, row.Status, row.Output, row.Error)
		}
		judgeWarning(t, c.name, row.Warning, c.unreached, c.instead)
		r.Consistent(i.ID())
		report, err := i.Status(t.Context())
		check(t, err)
		judgeWarning(t, c.name+", in the report", report.Warning, c.unreached, c.instead)
	}
}

func judgeWarning(t *testing.T, name string, warning map[string]any, unreached []string, instead string) {
	t.Helper()
	if len(unreached) == 0 {
		if warning != nil {
			t.Errorf("%s: a false warning: %v", name, warning)
		}
		return
	}
	message, _ := warning["message"].(string)
	if warning["code"] != "nondeterminism" || fmt.Sprint(warning["unreached"]) != fmt.Sprint(unreached) || instead != "" && (warning["instead"] != instead || !strings.Contains(message, fmt.Sprintf("%q", instead))) {
		t.Errorf("%s: the warning is %v, want %q instead of %v", name, warning, instead, unreached)
	}
	for _, step := range unreached {
		if !strings.Contains(message, step) {
			t.Errorf("%s: the message does not name %s: %s", name, step, message)
		}
	}
}

// TestStoredConfigWins: the retries with which a step first started are its own, whatever the code that
// goes on with it says.
func TestStoredConfigWins(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	old, changed := r.newEngine(wf.Config{}), r.newEngine(wf.Config{})
	code := func(opt wf.Option) func(context.Context, wf.Event[int], *wf.Step) (int, error) {
		return func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			return wf.Do(ctx, s, "a", func(context.Context) (int, error) { return 0, fmt.Errorf("no") }, opt)
		}
	}
	flow := wf.Register(old, "CONFIG", code(wf.Retry(1, time.Hour, wf.Constant)))
	wf.Register(changed, "CONFIG", code(wf.Retry(5, 0, wf.Constant)))
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	r.run(old.Handler(http.NotFoundHandler()), "CONFIG", i.ID())
	if got := r.run(changed.Handler(http.NotFoundHandler()), "CONFIG", i.ID()); got.State != "suspended" {
		t.Errorf("before the hour is over: %+v", got)
	}
	r.Exec("UPDATE _00_wf_step SET retry_at = time::now()", nil)
	row := r.finish(changed.Handler(http.NotFoundHandler()), "CONFIG", i)
	if step := r.Steps(i.ID())["do a #1"]; row.Status != "errored" || len(step.Attempts) != 2 {
		t.Errorf("%s after %d attempts", row.Status, len(step.Attempts))
	}
}

// TestStrict: under Strict code that does not fit stops the instance where it is: nothing new runs, the
// row says so, and it goes on by itself, without anything done twice, once fitting code is there.
func TestStrict(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	for n, then := range [][]string{
		{"a", "x", "b", "sleep", "c"}, // a new step where stored ones were
		{"a", "sleep"},                // an end without them
	} {
		binding := fmt.Sprintf("STRICT_%d", n)
		old, changed := r.newEngine(wf.Config{}), r.newEngine(wf.Config{})
		fitting := stepsOf("a", "b", "sleep", "c")
		flow := wf.Register(old, binding, fitting, wf.Strict())
		wf.Register(changed, binding, stepsOf(then...), wf.Strict())
		i, err := flow.Create(t.Context(), 0)
		check(t, err)
		r.run(old.Handler(http.NotFoundHandler()), binding, i.ID())
		r.Poll("the sleep is over", func() (bool, any) {
			return read[bool](r, "RETURN (SELECT VALUE wake_at FROM ONLY $id) <= time::now()", map[string]any{"id": instanceKey(i.ID())}), nil
		})
		var stalls int
		for range 2 {
			if got := r.run(changed.Handler(http.NotFoundHandler()), binding, i.ID()); got.State != "stalled" {
				t.Errorf("%v: a run with other code is %+v", then, got)
			}
			row := r.Instance(i.ID())
			if row.Status != "queued" || row.StalledAt == nil || row.Stalls <= stalls || row.LeaseToken != "" {
				t.Errorf("%v: the instance is %+v", then, row)
			}
			stalls = row.Stalls
			judgeWarning(t, fmt.Sprint(then), row.Warning, passedBy(then), "")
			if steps := r.Steps(i.ID()); len(steps) > 3 {
				t.Errorf("%v: the steps are %v", then, steps)
			}
			due := read[[]time.Time](r, "SELECT VALUE run_at FROM $id.job WHERE status = 'pending'", map[string]any{"id": instanceKey(i.ID())})
			if len(due) != 1 || !due[0].After(row.UpdatedAt) {
				t.Errorf("%v: the next try is at %v", then, due)
			}
		}
		row := r.finish(old.Handler(http.NotFoundHandler()), binding, i)
		if row.Status != "complete" || row.Output != "a b c" || row.StalledAt != nil || row.Stalls != 0 || row.Warning != nil {
			t.Errorf("%v: after fitting code came back: %+v", then, row)
		}
		r.Consistent(i.ID())
	}
}

// passedBy are the stored steps that the code of TestStrict does not reach.
func passedBy(then []string) []string {
	if len(then) == 2 {
		return []string{`do "b" #1`}
	}
	return []string{`do "b" #1`, `sleep "sleep" #1`}
}

// TestNoFalseWarnings: branches whose steps come in any order, retries, waits and steps of one name
// give no warning, however often a process dies or a run is replayed.
func TestNoFalseWarnings(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	r.StartNode(r.Serve(r.world))
	code := func(ctx context.Context, ev wf.Event[int], s *wf.Step) (int, error) {
		var branches []*wf.Future[int]
		for b := range 4 {
			branches = append(branches, wf.Branch(ctx, s, func(ctx context.Context, s *wf.Step) (int, error) {
				sum := 0
				for n := range 3 {
					v, err := wf.Do(ctx, s, fmt.Sprintf("branch %d", b), func(context.Context) (int, error) {
						if wf.Attempt(ctx) == 1 && n == b%3 {
							return 0, fmt.Errorf("once")
						}
						return n, nil
					}, wf.Retry(9, time.Millisecond, wf.Constant))
					if err != nil {
						return 0, err
					}
					sum += v
					if err := s.Sleep(ctx, fmt.Sprintf("nap %d", b), time.Duration((ev.Payload+b*n)%7)*time.Millisecond); err != nil {
						return 0, err
					}
				}
				return sum, nil
			}))
		}
		// Beside the branches, in the workflow's own goroutine.
		own, err := wf.Do(ctx, s, "own", func(context.Context) (int, error) { return 100, nil })
		if err != nil {
			return 0, err
		}
		for _, b := range branches {
			v, err := b.Wait()
			if err != nil {
				return 0, err
			}
			own += v
		}
		return wf.Do(ctx, s, "last", func(context.Context) (int, error) { return own, nil })
	}
	flow := wf.Register(r.newEngine(wf.Config{}), "BRANCHES", code, wf.Strict())
	p := r.newProcess("BRANCHES", func(e *wf.Engine) { wf.Register(e, "BRANCHES", code, wf.Strict()) })
	p.stepwise = true
	var instances []*wf.Instance
	for n := range 6 {
		i, err := flow.Create(t.Context(), n)
		check(t, err)
		instances = append(instances, i)
	}
	for _, i := range instances {
		var out int
		check(t, r.untilStatus(i, wf.Complete).Output(&out))
		row := r.Instance(i.ID())
		if out != 112 || row.Warning != nil || row.StalledAt != nil {
			t.Errorf("%d with %v", out, row.Warning)
		}
		r.Consistent(i.ID())
	}
}
