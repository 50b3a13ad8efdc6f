package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// oneQuery is a workflow of one block, with what it answers or why it failed as its output.
func oneQuery(r *rig, block string, vars map[string]any, opts ...wf.Option) (http.Handler, *wf.Instance) {
	r.t.Helper()
	engine := r.newEngine(wf.Config{})
	flow := wf.Register(engine, "QUERY", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (any, error) {
		got, err := wf.Query[any](ctx, s, "block", block, vars, opts...)
		if errors.Is(err, wf.ErrSuspended) {
			return nil, err
		}
		if err != nil {
			return "failed: " + err.Error(), nil
		}
		return got, s.Sleep(ctx, "replay", time.Millisecond)
	})
	i, err := flow.Create(r.t.Context(), 0)
	check(r.t, err)
	return engine.Handler(http.NotFoundHandler()), i
}

// TestQueryResults: the result of a block is that of its last statement or of its RETURN, as JSON, the
// same in the run that made it and in the next.
func TestQueryResults(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	r.Exec("DEFINE TABLE thing; CREATE thing:⟨a b⟩ SET n = 1", nil)
	vars := map[string]any{"n": 2, "text": "a'; }) ; COMMIT; --", "list": []int{1, 2}}
	for name, c := range map[string]struct {
		block, want string
	}{
		"the last statement":      {"LET $a = 1; $a + $n", "3"},
		"RETURN":                  {"RETURN $n * 2; CREATE thing:never", "4"},
		"RETURN in a branch":      {"IF $n = 2 { RETURN 'two' }; CREATE thing:never", "two"},
		"RETURN in a loop":        {"FOR $i IN $list { IF $i = 2 { RETURN $i } }; CREATE thing:never", "2"},
		"nothing":                 {"", "map[]"}, // to SurrealQL that is an object
		"NONE":                    {"RETURN NONE", "<nil>"},
		"a comment at the end":    {"RETURN $n -- what", "2"},
		"a text that looks wild":  {"RETURN $text", "a'; }) ; COMMIT; --"},
		"rows":                    {"UPDATE thing:⟨a b⟩ SET n = $n RETURN id, n", "[map[id:thing:`a b` n:2]]"},
		"times and durations":     {"RETURN [d'2026-01-02T03:04:05.678Z', 90m]", "[2026-01-02T03:04:05.678Z 1h30m]"},
		"many statements":         {strings.Repeat("LET $x = 1;\n", 200) + "RETURN $x", "1"},
		"an object":               {"RETURN { a: [1, { b: NONE }] }", "map[a:[1 map[]]]"},
		"a text of exactly 1 MiB": {"RETURN string::repeat('a', 1048574)", strings.Repeat("a", 1048574)},
		"1 MiB of two bytes each": {"RETURN string::repeat('é', 524287)", strings.Repeat("é", 524287)},
	} {
		handler, i := oneQuery(r, c.block, vars)
		row := r.finish(handler, "QUERY", i)
		var output any
		report, err := i.Status(t.Context())
		check(t, err)
		check(t, report.Output(&output))
		if row.Status != "complete" || row.StepsDone != 2 || fmt.Sprint(output) != c.want {
			t.Errorf("%s: %s with %.200v (%v) after %d steps", name, row.Status, output, row.Error, row.StepsDone)
		}
	}
	if made := read[[]surreal.RecordID](r, "SELECT VALUE id FROM thing", nil); len(made) != 1 {
		t.Errorf("the blocks made %v", made)
	}
}

// TestQueryFailures: a block that throws, fails, or answers too much undoes all it did and fails the
// attempt; what is refused does not even start.
func TestQueryFailures(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	r.Exec("DEFINE TABLE thing; DEFINE TABLE full SCHEMAFULL; DEFINE FIELD n ON full TYPE int; CREATE thing:taken", nil)
	once := wf.Retry(1, 0, wf.Constant)
	for name, c := range map[string]struct {
		block    string
		says     string
		attempts int
	}{
		"THROW":               {"CREATE thing; THROW 'my reason'", "my reason", 2},
		"THROW in a function": {"CREATE thing; LET $f = |$x| { THROW 'deep' }; $f(1)", "deep", 2},
		"a failed statement":  {"CREATE thing; CREATE full SET n = 'text'", "int", 2},
		"a taken id":          {"CREATE thing; CREATE thing:taken", "already exists", 2},
		"a syntax error":      {"CREATE thing; SELEKT 1", "Parse error", 2},
		"one byte too much":   {"CREATE thing; RETURN string::repeat('a', 1048575)", "1 MiB", 2},
		"characters of more":  {"CREATE thing; RETURN string::repeat('é', 524288)", "1 MiB", 2},
		"a list too much":     {"CREATE thing; RETURN [string::repeat('a', 1000000), string::repeat('b', 50000)]", "1 MiB", 2},
		"COMMIT":              {"CREATE thing; COMMIT", "COMMIT", 0},
		"an escape":           {"CREATE thing; }) ; COMMIT; (||{", "bracket", 0},
	} {
		handler, i := oneQuery(r, c.block, nil, once)
		row := r.finish(handler, "QUERY", i)
		step := r.Steps(i.ID())["do block #1"]
		if text := fmt.Sprint(row.Output); row.Status != "complete" || !strings.HasPrefix(text, "failed: ") || !strings.Contains(text, c.says) || len(step.Attempts) != c.attempts {
			t.Errorf("%s: %s with %v after %d attempts", name, row.Status, row.Output, len(step.Attempts))
		}
	}
	if made := read[[]surreal.RecordID](r, "SELECT VALUE id FROM thing", nil); len(made) != 1 {
		t.Errorf("the blocks made %v", made)
	}
}

// TestQueryConflicts: blocks of many instances that write one row at once are each made exactly once.
func TestQueryConflicts(t *testing.T) {
	t.Parallel()
	const n = 20
	r := newDatabase(t)
	r.Exec("DEFINE TABLE counter; CREATE counter:one SET n = 0", nil)
	engine := r.newEngine(wf.Config{})
	flow := wf.Register(engine, "COUNT", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		return wf.Query[int](ctx, s, "count", "LET $row = UPDATE ONLY counter:one SET n += 1; RETURN $row.n", nil)
	})
	handler := engine.Handler(http.NotFoundHandler())
	var runs sync.WaitGroup
	for range n {
		i, err := flow.Create(t.Context(), 0)
		check(t, err)
		runs.Go(func() { r.finish(handler, "COUNT", i) })
	}
	runs.Wait()
	seen := map[string]bool{}
	for _, output := range read[[]any](r, "SELECT VALUE output FROM _00_wf_instance WHERE status = 'complete'", nil) {
		seen[fmt.Sprint(output)] = true
	}
	if counted := read[[]int](r, "SELECT VALUE n FROM counter", nil); counted[0] != n || len(seen) != n {
		t.Errorf("%d instances counted to %v and saw %v", n, counted, seen)
	}
}

// A late database answers a block only after the attempt's timeout, or takes it up only then.
type late struct {
	surreal.Querier
	before  bool
	slow    bool // the block itself took longer than the attempt may
	first   atomic.Bool
	release chan struct{}
	done    chan error
}

func (l *late) Query(ctx context.Context, surql string, vars map[string]any) (surreal.Results, error) {
	if !strings.HasPrefix(surql, "BEGIN") || l.first.Swap(true) {
		return l.Querier.Query(ctx, surql, vars)
	}
	if l.before {
		go func() {
			<-l.release
			_, err := l.Querier.Query(context.WithoutCancel(ctx), surql, vars)
			l.done <- err
		}()
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	_, err := l.Querier.Query(context.WithoutCancel(ctx), surql, vars)
	l.slow = ctx.Err() != nil
	l.done <- err
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestLateQuery: a block whose answer comes after the attempt's timeout was made once, and the workflow
// sees its result, even where there is no other attempt; one that reaches the database only when the
// workflow has gone on is refused there.
func TestLateQuery(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	r.Exec("DEFINE TABLE counter", nil)
	for _, c := range []struct {
		before bool
		limit  int
		want   string
	}{{false, 0, "1"}, {false, 1, "1"}, {true, 0, "timed out"}, {true, 1, "1"}} {
		db := &late{Querier: r.DB.Retrying(), before: c.before, release: make(chan struct{}), done: make(chan error, 1)}
		engine := r.newEngine(wf.Config{DB: db})
		flow := wf.Register(engine, "LATE", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (string, error) {
			n, err := wf.Query[int](ctx, s, "block", "LET $row = UPSERT ONLY counter:[$id] SET n += 1; RETURN $row.n", map[string]any{"id": s.InstanceID()},
				wf.Timeout(time.Second), wf.Retry(c.limit, 0, wf.Constant))
			if errors.Is(err, wf.ErrTimeout) {
				return "timed out", nil
			}
			return fmt.Sprint(n), err
		})
		i, err := flow.Create(t.Context(), 0)
		check(t, err)
		row := r.finish(engine.Handler(http.NotFoundHandler()), "LATE", i)
		close(db.release)
		err = <-db.done
		if db.slow {
			t.Logf("%+v: the database was too slow to tell", c)
			continue
		}
		if row.Status != "complete" || row.Output != c.want {
			t.Errorf("%+v: %s with %v (%v)", c, row.Status, row.Output, row.Error)
		}
		if thrown, _ := surreal.IsThrown(err); c.before && !strings.Contains(thrown, "spky: ") {
			t.Errorf("%+v: the late block gives %v", c, err)
		}
		counted := read[[]int](r, "SELECT VALUE n FROM $c", map[string]any{"c": surreal.NewRecordID("counter", []any{i.ID()})})
		if times := len(counted); times != 1 && c.want == "1" || times != 0 && c.want != "1" || times == 1 && counted[0] != 1 {
			t.Errorf("%+v: the block was made as %v", c, counted)
		}
		r.Consistent(i.ID())
	}
}
