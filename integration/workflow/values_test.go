package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/integration/internal/durable"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// mebibyte is the most JSON that a value may be.
const mebibyte = 1 << 20

// finish makes runs of an instance until it ends, without a node.
func (r *rig) finish(handler http.Handler, binding string, i *wf.Instance) instanceRow {
	r.t.Helper()
	var row instanceRow
	r.Poll("the instance ends", func() (bool, any) {
		got := r.run(handler, binding, i.ID())
		if got.Retry == "busy" {
			r.t.Errorf("nobody runs it, and it is busy: %+v", got)
		}
		row = r.Instance(i.ID())
		return row.Status == "complete" || row.Status == "errored" || row.Status == "terminated", []any{got, row}
	})
	return row
}

// TestLimitOfParamsAndPayloads: exactly 1 MiB of JSON passes, one byte more is refused, and nothing is
// written. Results and outputs are cases of the conformance table.
func TestLimitOfParamsAndPayloads(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	flow := wf.Register(engine, "BIG", func(ctx context.Context, ev wf.Event[string], s *wf.Step) (int, error) {
		got, err := wf.WaitForEvent[string](ctx, s, "w", "go")
		return len(ev.Payload) + len(got.Payload), err
	})
	for name, full := range map[string]string{
		"letters":             strings.Repeat("a", mebibyte-2),
		"of up to four bytes": strings.Repeat("é🎉a\"", (mebibyte-2)/9) + "aa",
		"of markup":           strings.Repeat("<&>\u2028\u2029", (mebibyte-2)/9) + "aa", // which Go escapes, and other languages do not
	} {
		if size := surreal.JSONSize(durable.Must(json.Marshal(full))); size != mebibyte {
			t.Fatalf("%s: %d bytes", name, size)
		}
		i, err := flow.Create(t.Context(), full)
		check(t, err)
		check(t, i.SendEvent(t.Context(), "go", full))
		before := r.snapshot()
		if _, err := flow.Create(t.Context(), full+"a"); !errors.Is(err, wf.ErrTooLarge) {
			t.Errorf("%s: params of one byte more give %v", name, err)
		}
		if _, err := flow.CreateBatch(t.Context(), []wf.NewInstance[string]{{Params: "small"}, {Params: full + "a"}}); !errors.Is(err, wf.ErrTooLarge) {
			t.Errorf("%s: a batch with params of one byte more gives %v", name, err)
		}
		if err := i.SendEvent(t.Context(), "go", full+"a"); !errors.Is(err, wf.ErrTooLarge) {
			t.Errorf("%s: a payload of one byte more gives %v", name, err)
		}
		r.unchanged(name+": a refused value", before)
		row := r.finish(engine.Handler(http.NotFoundHandler()), "BIG", i)
		if row.Status != "complete" || fmt.Sprint(row.Output) != fmt.Sprint(2*len(full)) {
			t.Errorf("%s: %s with %v and %v", name, row.Status, row.Output, row.Error)
		}
	}
}

type loop struct{ Next *loop }

// notJSON are values that can't be JSON.
func notJSON() map[string]any {
	cycle := &loop{}
	cycle.Next = cycle
	deep := any(1)
	for range 65 {
		deep = []any{deep}
	}
	return map[string]any{
		"NaN": math.NaN(), "infinity": math.Inf(1), "a channel": make(chan int), "a function": func() {}, "a complex number": 1i,
		"a cycle": cycle, "65 levels": deep, "29 digits": json.Number(strings.Repeat("9", 29)), "no number": json.Number("1e999"),
		"a key that is no text": map[bool]int{true: 1}, "in a list": []any{1, math.NaN()}, "in an object": map[string]any{"a": math.Inf(-1)},
	}
}

// TestValuesThatAreNotJSON are refused at once, wherever they turn up, with an error that says so.
func TestValuesThatAreNotJSON(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	values := notJSON()
	calls := 0
	flow := wf.Register(engine, "BAD", func(ctx context.Context, ev wf.Event[any], s *wf.Step) (any, error) {
		name, _ := ev.Payload.(string)
		_, err := wf.Do(ctx, s, "bad", func(context.Context) (any, error) { calls++; return values[name], nil })
		var failed *wf.StepError
		if !errors.As(err, &failed) || failed.Name != "WorkflowFatalError" || !strings.Contains(failed.Message, "not serialisable") || !strings.Contains(failed.Message, `"bad"`) {
			return nil, fmt.Errorf("the step gives %w", err)
		}
		return values[name], nil
	})
	for name, value := range values {
		calls = 0
		if _, err := flow.Create(t.Context(), value); !errors.Is(err, wf.ErrNotJSON) {
			t.Errorf("%s as params gives %v", name, err)
		}
		i, err := flow.Create(t.Context(), name)
		check(t, err)
		if err := i.SendEvent(t.Context(), "go", value); !errors.Is(err, wf.ErrNotJSON) {
			t.Errorf("%s as payload gives %v", name, err)
		}
		row := r.finish(engine.Handler(http.NotFoundHandler()), "BAD", i)
		if row.Status != "errored" || row.Error == nil || row.Error.Name != "WorkflowFatalError" || !strings.Contains(row.Error.Message, "output of the workflow") || calls != 1 {
			t.Errorf("%s: %s with %v after %d calls", name, row.Status, row.Error, calls)
		}
	}
}

type everything struct {
	Int     int64
	Uint    uint64
	Float   float64
	Small   float32
	Text    string
	Bytes   []byte
	Time    time.Time
	Wait    time.Duration
	List    []any
	Map     map[string]int
	Pointer *string
	Nil     *string
	Raw     json.RawMessage
	Number  json.Number
	Nested  struct{ A, B any }
}

// TestValuesAreTheSameOnReplay: what a step returned is seen alike when it has just run, when it is
// replayed, in an output and in a payload; and nothing that JSON can say is lost on the way.
func TestValuesAreTheSameOnReplay(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	text, berlin := "p", time.FixedZone("CET", 3600)
	roundTrip(r, "integers", []int64{0, -1, 1 << 53, 1<<53 + 1, math.MaxInt64, math.MinInt64})
	roundTrip(r, "large integers", []uint64{math.MaxUint64, 1 << 63})
	roundTrip(r, "floats", []float64{0.1, -2.5, 1e21, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64, 3, 1 << 60})
	roundTrip(r, "short floats", []float32{0.1, math.MaxFloat32, 16777217})
	roundTrip(r, "texts", []string{"", "a\x00b", "é\u0301", "🎉👩‍👩‍👧", "\u2028\u2029", "user:1", "r'user:1'", "⟨x⟩", "NONE", "null", "2026-01-02T03:04:05Z", "1w", strings.Repeat("x", 100_000)})
	roundTrip(r, "bytes", [][]byte{{}, {0, 255}, make([]byte, 200_000)})
	roundTrip(r, "times", []time.Time{time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)})
	roundTrip(r, "any", []any{nil, true, 1.5, "x", []any{}, map[string]any{}, map[string]any{"": nil, "a.b": 1.0, "$c": 2.0, "`": 3.0, "d\x00": 4.0}})
	roundTrip(r, "nothing", (*int)(nil))
	roundTrip(r, "an empty struct", struct{}{})
	roundTrip(r, "a wide map", wide(5000))
	roundTrip(r, "64 levels", nested(63))
	roundTrip(r, "everything", everything{
		Int: -1, Uint: math.MaxUint64, Float: 0.1, Small: 0.1, Text: "é", Bytes: []byte{1}, Time: time.Date(2026, 7, 1, 0, 0, 0, 1, berlin).UTC(),
		Wait: time.Hour, List: []any{"a", nil}, Map: map[string]int{"a": 1}, Pointer: &text, Raw: json.RawMessage(`{"a":[1,2.5]}`), Number: "12345678901234567890123",
	})
}

func wide(n int) map[string]int {
	m := map[string]int{}
	for i := range n {
		m[fmt.Sprintf("key %d", i)] = i
	}
	return m
}

func nested(levels int) any {
	v := any("deep")
	for range levels {
		v = map[string]any{"a": v}
	}
	return v
}

func roundTrip[T any](r *rig, name string, value T) {
	r.t.Helper()
	engine := r.newEngine(wf.Config{})
	var mu sync.Mutex
	var saw []T
	flow := wf.Register(engine, "VALUE", func(ctx context.Context, ev wf.Event[T], s *wf.Step) (T, error) {
		got, err := wf.Do(ctx, s, "value", func(context.Context) (T, error) { return value, nil })
		if err != nil {
			return got, err
		}
		sent, err := wf.WaitForEvent[T](ctx, s, "event", "go")
		if err != nil {
			return got, err
		}
		mu.Lock()
		saw = append(saw, ev.Payload, got, sent.Payload)
		mu.Unlock()
		return got, s.Sleep(ctx, "replay", time.Millisecond)
	})
	i, err := flow.Create(r.t.Context(), value)
	check(r.t, err)
	check(r.t, i.SendEvent(r.t.Context(), "go", value))
	if row := r.finish(engine.Handler(http.NotFoundHandler()), "VALUE", i); row.Status != "complete" {
		r.t.Errorf("%s: %s with %+v", name, row.Status, row.Error)
		return
	}
	report, err := i.Status(r.t.Context())
	check(r.t, err)
	var out T
	check(r.t, report.Output(&out))
	if len(saw) < 6 {
		r.t.Errorf("%s: %d values were seen", name, len(saw))
	}
	for _, v := range append(saw, out) {
		if !reflect.DeepEqual(v, value) {
			r.t.Errorf("%s: %.200v became %.200v", name, value, v)
		}
	}
}

// TestTimesKeepTheirMoment: a time zone does not survive JSON in full, but the moment and the offset do.
func TestTimesKeepTheirMoment(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	moment := time.Date(2026, 10, 25, 2, 30, 0, 5, time.FixedZone("CEST", 7200))
	var saw []time.Time
	flow := wf.Register(engine, "TIME", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (time.Time, error) {
		got, err := wf.Do(ctx, s, "time", func(context.Context) (time.Time, error) { return moment, nil })
		saw = append(saw, got)
		if err != nil {
			return got, err
		}
		return got, s.Sleep(ctx, "replay", time.Millisecond)
	})
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	r.finish(engine.Handler(http.NotFoundHandler()), "TIME", i)
	for _, got := range saw {
		if _, offset := got.Zone(); !got.Equal(moment) || offset != 7200 || got.Format(time.RFC3339Nano) != saw[0].Format(time.RFC3339Nano) {
			t.Errorf("%s became %s", moment, got)
		}
	}
	if len(saw) < 2 {
		t.Errorf("%d times were seen", len(saw))
	}
}

// TestChangedType: a stored result that does not fit the code any more is an error that says so.
func TestChangedType(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	old, changed := r.newEngine(wf.Config{}), r.newEngine(wf.Config{})
	flow := wf.Register(old, "TYPE", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		if _, err := wf.Do(ctx, s, "value", func(context.Context) (string, error) { return "text", nil }); err != nil {
			return 0, err
		}
		return 0, s.Sleep(ctx, "deploy", time.Millisecond)
	})
	wf.Register(changed, "TYPE", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		return wf.Do(ctx, s, "value", func(context.Context) (int, error) { return 1, nil })
	})
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	r.run(old.Handler(http.NotFoundHandler()), "TYPE", i.ID())
	row := r.finish(changed.Handler(http.NotFoundHandler()), "TYPE", i)
	if row.Status != "errored" || !strings.Contains(row.Error.Message, "does not fit") {
		t.Errorf("%s with %+v", row.Status, row.Error)
	}
}

// TestErrorsOfAnyText: whatever an error or a panic says, it is stored, bounded, and the same on replay.
func TestErrorsOfAnyText(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	texts := map[string]string{
		"broken": "a\xff\xfeb", "NUL": "a\x00b", "empty": "", "huge": strings.Repeat("é", 3<<20), "ends in the middle of a character": strings.Repeat("é", 1<<20)[:1<<20-1],
	}
	var saw []string
	flow := wf.Register(engine, "TEXT", func(ctx context.Context, ev wf.Event[[2]string], s *wf.Step) (int, error) {
		text := texts[ev.Payload[0]]
		_, err := wf.Do(ctx, s, "text", func(context.Context) (int, error) {
			if ev.Payload[1] == "panic" {
				panic(text)
			}
			return 0, errors.New(text)
		}, wf.Retry(2, 0, wf.Constant))
		saw = append(saw, err.Error())
		if errors.Is(err, wf.ErrSuspended) {
			return 0, err
		}
		if err := s.Sleep(ctx, "replay", time.Millisecond); err != nil {
			return 0, err
		}
		return 0, errors.New(text)
	})
	for name := range texts {
		for _, how := range []string{"error", "panic"} {
			saw = nil
			i, err := flow.Create(t.Context(), [2]string{name, how})
			check(t, err)
			row := r.finish(engine.Handler(http.NotFoundHandler()), "TEXT", i)
			step := r.Steps(i.ID())["do text #1"]
			if row.Status != "errored" || step.Status != "errored" || len(step.Attempts) != 3 {
				t.Errorf("%s, %s: %s; %d attempts, %s", name, how, row.Status, len(step.Attempts), step.Status)
				continue
			}
			size := len(durable.Must(surreal.ToJSON(durable.Must(surreal.First[any](t.Context(), r.DB, "SELECT * FROM _00_wf_step WHERE instance = $id", map[string]any{"id": instanceKey(i.ID())})))))
			if size > 1<<20 || len(row.Error.Message) > 1<<17 {
				t.Errorf("%s, %s: the step's row takes %d bytes, the instance's error %d", name, how, size, len(row.Error.Message))
			}
			if len(saw) != 2 || saw[0] != saw[1] || saw[0] != step.Error.Message {
				t.Errorf("%s, %s: seen as %.60q", name, how, saw)
			}
			if how == "panic" && !strings.Contains(step.Stack, "TestErrorsOfAnyText") {
				t.Errorf("%s: the stack is %.200q", name, step.Stack)
			}
		}
	}
}

// TestLargeResultsAtOnce: results of 1 MiB of many instances at once are stored, however they are grouped.
func TestLargeResultsAtOnce(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	handler := engine.Handler(http.NotFoundHandler())
	const n = 8
	all := make(chan struct{})
	var ready sync.WaitGroup
	ready.Add(n)
	flow := wf.Register(engine, "LARGE", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		got, err := wf.Do(ctx, s, "large", func(context.Context) (string, error) {
			ready.Done()
			<-all
			return strings.Repeat("x", mebibyte-2), nil
		})
		return len(got), err
	})
	var runs sync.WaitGroup
	for range n {
		i, err := flow.Create(t.Context(), 0)
		check(t, err)
		runs.Go(func() {
			if got := r.run(handler, "LARGE", i.ID()); got.State != "complete" {
				t.Errorf("a run ends as %+v", got)
			}
		})
	}
	ready.Wait()
	close(all)
	runs.Wait()
	if done := r.count("_00_wf_instance", "complete"); done != n {
		t.Errorf("%d instances are complete", done)
	}
}

// TestManySteps: 2,000 stored steps are replayed with one request, and what that costs in memory is
// gone afterwards. All but the first step are rows made by hand, in its image.
func TestManySteps(t *testing.T) {
	t.Parallel()
	const n = 2000
	r := newDatabase(t)
	db := &counting{Querier: r.DB.Retrying()}
	engine := r.newEngine(wf.Config{DB: db})
	var calls int
	flow := wf.Register(engine, "MANY", func(ctx context.Context, ev wf.Event[int], s *wf.Step) (int, error) {
		sum := 0
		for k := range n {
			v, err := wf.Do(ctx, s, "step", func(context.Context) (int, error) { calls++; return 1, nil })
			if err != nil {
				return 0, err
			}
			sum += v
			if k > 0 {
				continue
			}
			if err := s.Sleep(ctx, "while rows are made", time.Millisecond); err != nil {
				return 0, err
			}
		}
		return sum, nil
	})
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	handler := engine.Handler(http.NotFoundHandler())
	if got := r.run(handler, "MANY", i.ID()); got.State != "suspended" {
		t.Fatalf("the first run ends as %+v", got)
	}
	r.Exec(`BEGIN;
		LET $first = SELECT * OMIT id FROM ONLY type::record('_00_wf_step', [$id, 0, 'do', 'step', 1]);
		FOR $k IN 2..=$n {
			CREATE ONLY type::record('_00_wf_step', [$id, 0, 'do', 'step', $k]) CONTENT object::extend($first, { occurrence: $k, seq: $k + 1 }) RETURN NONE;
		};
		UPDATE ONLY type::record('_00_wf_instance', $id) SET steps_done = $n RETURN NONE;
		COMMIT;`, map[string]any{"id": i.ID(), "n": n})
	before, asked := heap(), db.n.Load()
	row := r.finish(handler, "MANY", i)
	if row.Status != "complete" || fmt.Sprint(row.Output) != fmt.Sprint(n) || row.StepsDone != n+1 || calls != 1 || row.Warning != nil {
		t.Errorf("%s with %v (%v) after %d steps and %d calls", row.Status, row.Output, row.Error, row.StepsDone, calls)
	}
	if asked = db.n.Load() - asked; asked > int64(3*(row.Runs-1)) { // acquire, commit of the sleep, finish
		t.Errorf("replaying %d steps took %d requests in %d runs", n, asked, row.Runs-1)
	}
	r.Consistent(i.ID())
	t.Logf("%d KiB of heap more than before", (heap()-before)/1024)
}
