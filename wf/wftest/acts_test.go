package wftest_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sp00ky.cloud/spky/wf"
	"sp00ky.cloud/spky/wf/wftest"
)

// waits waits n times for events of a type and returns their payloads.
func waits(ctx context.Context, ev wf.Event[int], s *wf.Step) ([]int, error) {
	var got []int
	for range ev.Payload {
		e, err := wf.WaitForEvent[int](ctx, s, "wait", "e", wf.Timeout(time.Hour))
		switch {
		case errors.Is(err, wf.ErrTimeout):
			got = append(got, -1)
		case err != nil:
			return nil, err
		default:
			got = append(got, e.Payload)
		}
	}
	return got, nil
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		n       int
		options []wftest.Option
		want    []int
		elapsed time.Duration
	}{
		"up front":                     {1, []wftest.Option{wftest.Event("e", 1, wftest.At(0))}, []int{1}, 0},
		"in order":                     {3, []wftest.Option{wftest.Event("e", 1, wftest.At(0)), wftest.Event("e", 2, wftest.At(0)), wftest.Event("e", 3, wftest.At(0))}, []int{1, 2, 3}, 0},
		"one for each wait":            {2, []wftest.Option{wftest.Event("e", 1), wftest.Event("e", 2)}, []int{1, 2}, 0},
		"a delay of each wait's own":   {2, []wftest.Option{wftest.Event("e", 1, wftest.OnWait(time.Minute)), wftest.Event("e", 2, wftest.OnWait(time.Minute))}, []int{1, 2}, 2 * time.Minute},
		"at a time":                    {1, []wftest.Option{wftest.Event("e", 1, wftest.At(59*time.Minute))}, []int{1}, 59 * time.Minute},
		"with the deadline":            {1, []wftest.Option{wftest.Event("e", 1, wftest.At(time.Hour))}, []int{1}, time.Hour},
		"too late":                     {1, []wftest.Option{wftest.Event("e", 1, wftest.At(61*time.Minute))}, []int{-1}, time.Hour},
		"too late, for the next":       {2, []wftest.Option{wftest.Event("e", 1, wftest.At(61*time.Minute))}, []int{-1, 1}, 61 * time.Minute},
		"one satisfies no second wait": {2, []wftest.Option{wftest.Event("e", 1)}, []int{1, -1}, time.Hour},
		"of another type":              {1, []wftest.Option{wftest.Event("f", 1, wftest.At(0))}, []int{-1}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, extra := range [][]wftest.Option{nil, {wftest.WithoutReplays()}} {
				run := wftest.Run(t, waits, c.n, append(slices.Clone(c.options), extra...)...)
				var got []int
				run.Output(&got)
				if !reflect.DeepEqual(got, c.want) || run.Elapsed() != c.elapsed {
					t.Errorf("%v after %s, want %v after %s\n%s", got, run.Elapsed(), c.want, c.elapsed, run)
				}
			}
		})
	}
}

func TestTwoBranchesWaitForTheSameType(t *testing.T) {
	t.Parallel()
	run := wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		wait := func(name string) *wf.Future[int] {
			return wf.Branch(ctx, s, func(ctx context.Context, s *wf.Step) (int, error) {
				e, err := wf.WaitForEvent[int](ctx, s, name, "e")
				return e.Payload, err
			})
		}
		a, b := wait("a"), wait("b")
		x, err := a.Wait()
		if err != nil {
			return 0, err
		}
		y, err := b.Wait()
		return x + y, err
	}, 0, wftest.Event("e", 10), wftest.Event("e", 20))
	var sum int
	if run.Output(&sum); sum != 30 || run.Elapsed() != 0 {
		t.Errorf("%d\n%s", sum, run)
	}
}

// napping executes a step, sleeps for an hour, and executes another.
func napping(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
	if _, err := wf.Do(ctx, s, "before", one); err != nil {
		return 0, err
	}
	if err := s.Sleep(ctx, "nap", time.Hour); err != nil {
		return 0, err
	}
	return wf.Do(ctx, s, "after", one)
}

func TestPauseMovesTimers(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]wftest.When{
		"in the sleep": wftest.At(20 * time.Minute), "in the step before": wftest.During("before"), "as soon as it waits": wftest.OnWait(0),
	} {
		run := wftest.Run(t, napping, 0, wftest.Pause(when, 48*time.Hour))
		if run.Status() != wf.Complete || run.Elapsed() != 49*time.Hour || run.Attempts("before") != 1 {
			t.Errorf("%s: after %s\n%s", name, run.Elapsed(), run)
		}
	}
}

func TestPauseForGood(t *testing.T) {
	t.Parallel()
	run := wftest.Run(t, napping, 0, wftest.Pause(wftest.At(20*time.Minute), 0))
	if run.Status() != wf.Paused || len(run.Steps()) != 2 || run.Steps()[1].Status != "waiting" {
		t.Error(run)
	}
	mustContain(t, run.String(), "+20m             a pause is asked for\n+20m             paused\n")
}

func TestTerminateEndsAStepsContext(t *testing.T) {
	t.Parallel()
	var ended atomic.Bool
	run := wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		return wf.Do(ctx, s, "long", func(ctx context.Context) (int, error) {
			<-ctx.Done()
			ended.Store(true)
			return 0, context.Cause(ctx)
		})
	}, 0, wftest.Terminate(wftest.During("long")))
	if run.Status() != wf.Terminated || run.Err() != nil || run.Step("long").Status != "running" {
		t.Error(run)
	}
	if !ended.Load() {
		t.Error("the step's context did not end")
	}
}

func TestTerminateAtATime(t *testing.T) {
	t.Parallel()
	run := wftest.Run(t, napping, 0, wftest.Terminate(wftest.At(time.Minute)))
	if run.Status() != wf.Terminated || run.Attempts("after") != 0 || run.Elapsed() != time.Minute || run.Slept() != 0 {
		t.Error(run)
	}
}

// TestRestarts begins a workflow again while it sleeps, and in the middle of a step: from its beginning, and from a step.
func TestRestarts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opt           wftest.Option
		before, after int32
		elapsed       time.Duration
	}{
		"from the start, in the sleep": {wftest.Restart(wftest.At(20 * time.Minute)), 2, 1, 80 * time.Minute},
		"from the sleep":               {wftest.Restart(wftest.At(20*time.Minute), wf.StepRef{Name: "nap"}), 1, 1, 80 * time.Minute},
		"from a step that is held":     {wftest.Restart(wftest.During("after"), wf.StepRef{Name: "nap", Count: 1, Type: "sleep"}), 1, 2, 2 * time.Hour},
	} {
		var before, after atomic.Int32
		run := wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			if _, err := wf.Do(ctx, s, "before", func(context.Context) (int, error) { return int(before.Add(1)), nil }); err != nil {
				return 0, err
			}
			if err := s.Sleep(ctx, "nap", time.Hour); err != nil {
				return 0, err
			}
			return wf.Do(ctx, s, "after", func(ctx context.Context) (int, error) { return int(after.Add(1)), ctx.Err() })
		}, 0, c.opt)
		if run.Status() != wf.Complete || before.Load() != c.before || after.Load() != c.after || run.Elapsed() != c.elapsed {
			t.Errorf("%s: %d and %d calls, after %s\n%s", name, before.Load(), after.Load(), run.Elapsed(), run)
		}
	}
}

func TestCrashes(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	flow := func(options ...wf.Option) func(context.Context, wf.Event[int], *wf.Step) (int32, error) {
		return func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int32, error) {
			return wf.Do(ctx, s, "work", func(context.Context) (int32, error) { return calls.Add(1), nil }, options...)
		}
	}
	run := wftest.Run(t, flow(), 0, wftest.Crash("work", 1), wftest.Crash("work", 2))
	var n int
	// Two leases of 15 s, and the waits of 10 s and 20 s.
	if run.Output(&n); n != 3 || run.Attempts("work") != 3 || run.Elapsed() != time.Minute || len(run.Step("work").Failed) != 2 {
		t.Errorf("%d\n%s", n, run)
	}
	run = wftest.Run(t, flow(wf.Retry(0, 0, wf.Constant)), 0, wftest.Crash("work", 1))
	var failed *wf.StepError
	if !errors.As(run.Err(), &failed) || failed.Name != "AttemptLostError" || calls.Load() != 4 {
		t.Error(run)
	}
}

func TestAttemptsAndTheirWaits(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	flow := func(options ...wf.Option) func(context.Context, wf.Event[int], *wf.Step) (int, error) {
		return func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			return wf.Do(ctx, s, "work", one, options...)
		}
	}
	for name, c := range map[string]struct {
		options  []wf.Option
		mocks    []wftest.Option
		attempts int
		elapsed  time.Duration
		err      string
	}{
		"defaults":      {nil, []wftest.Option{wftest.Fail("work", 0, boom)}, 6, 310 * time.Second, "boom"},
		"constant":      {[]wf.Option{wf.Retry(2, time.Second, wf.Constant)}, []wftest.Option{wftest.Fail("work", 0, boom)}, 3, 2 * time.Second, "boom"},
		"linear":        {[]wf.Option{wf.Retry(3, time.Hour, wf.Linear)}, []wftest.Option{wftest.Fail("work", 0, boom)}, 4, 6 * time.Hour, "boom"},
		"no delay":      {[]wf.Option{wf.Retry(3, 0, wf.Linear)}, []wftest.Option{wftest.Fail("work", 0, boom)}, 4, 0, "boom"},
		"one only":      {[]wf.Option{wf.Retry(0, 0, wf.Linear)}, []wftest.Option{wftest.Fail("work", 1, boom)}, 1, 0, "boom"},
		"second":        {nil, []wftest.Option{wftest.Fail("work", 1, boom)}, 2, 10 * time.Second, ""},
		"non-retryable": {nil, []wftest.Option{wftest.Fail("work", 0, wf.NonRetryable(boom))}, 1, 0, "boom"},
		"timeouts": {
			[]wf.Option{wf.Retry(1, time.Minute, wf.Constant), wf.Timeout(time.Second)},
			[]wftest.Option{wftest.TimeOut("work", 0)},
			2, time.Minute,
			"wf: timed out: execution timed out after 1000ms",
		},
		"a crash and a failure": {nil, []wftest.Option{wftest.Crash("work", 1), wftest.Fail("work", 2, boom)}, 3, 45 * time.Second, ""},
		"a stub that fails first": {nil, []wftest.Option{wftest.StubFunc("work", func(c wftest.Call) (any, error) {
			if c.Attempt == 1 {
				return nil, boom
			}
			return c.Attempt, nil
		})}, 2, 10 * time.Second, ""},
	} {
		run := wftest.Run(t, flow(c.options...), 0, c.mocks...)
		text := ""
		if run.Err() != nil {
			text = run.Err().Error()
		}
		if text != c.err || run.Attempts("work") != c.attempts || run.Elapsed() != c.elapsed {
			t.Errorf("%s: error %q, %d attempts in %s\n%s", name, text, run.Attempts("work"), run.Elapsed(), run)
		}
	}
}

func TestStubsForOccurrences(t *testing.T) {
	t.Parallel()
	run := wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (string, error) {
		var all string
		for i := range 3 {
			text, err := wf.Do(ctx, s, "page", func(context.Context) (string, error) { return strconv.Itoa(i), nil })
			if err != nil {
				return "", err
			}
			all += text
		}
		return all, nil
	}, 0, wftest.Stub("page", "x", wftest.Occurrence(2)))
	var all string
	if run.Output(&all); all != "0x2" {
		t.Error(all)
	}
}

func TestStubsKeepToTheRulesOfResults(t *testing.T) {
	t.Parallel()
	flow := func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) { return wf.Do(ctx, s, "work", one) }
	for name, c := range map[string]struct {
		stub any
		want string
	}{
		"no JSON":   {make(chan int), "not serialisable"},
		"too large": {string(make([]byte, 1<<20)), "larger than 1 MiB"},
		"no int":    {"text", "does not fit"},
	} {
		run := wftest.Run(t, flow, 0, wftest.Stub("work", c.stub))
		if run.Err() == nil {
			t.Errorf("%s: %s", name, run)
			continue
		}
		mustContain(t, run.Err().Error(), c.want)
	}
}

func TestQueriesAreStubbed(t *testing.T) {
	t.Parallel()
	var seen wftest.Call
	run := wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		return wf.Query[int](ctx, s, "save", "CREATE thing SET n = $n; RETURN 1", map[string]any{"n": 4})
	}, 0, wftest.StubFunc("save", func(c wftest.Call) (any, error) { seen = c; return 9, nil }))
	var n int
	if run.Output(&n); n != 9 || seen.Statements != "CREATE thing SET n = $n; RETURN 1" || seen.Vars["n"] != 4 || seen.Attempt != 1 {
		t.Errorf("%d %+v", n, seen)
	}
	run = wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		return wf.Query[int](ctx, s, "save", "COMMIT", nil)
	}, 0)
	mustContain(t, run.Err().Error(), "illegal statement block")
}

func TestTheClock(t *testing.T) {
	t.Parallel()
	var now func() time.Time
	start := time.Date(2031, 5, 1, 0, 0, 0, 0, time.UTC)
	run := wftest.Run(t, func(ctx context.Context, ev wf.Event[int], s *wf.Step) ([]time.Time, error) {
		times := []time.Time{ev.Timestamp}
		if err := s.SleepUntil(ctx, "until", ev.Timestamp.Add(30*24*time.Hour)); err != nil {
			return nil, err
		}
		at, err := wf.Do(ctx, s, "look", func(context.Context) (time.Time, error) { return now(), nil })
		if err != nil {
			return nil, err
		}
		e, err := wf.WaitForEvent[any](ctx, s, "wait", "e")
		return append(times, at, e.Timestamp), err
	}, 0, wftest.Start(start), wftest.Clock(&now), wftest.Event("e", nil, wftest.OnWait(time.Minute)))
	var got []time.Time
	run.Output(&got)
	month := start.Add(30 * 24 * time.Hour)
	if want := []time.Time{start, month, month.Add(time.Minute)}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestNamesOfTheInstance(t *testing.T) {
	t.Parallel()
	type key struct{}
	run := wftest.Run(t, func(ctx context.Context, ev wf.Event[int], s *wf.Step) (string, error) {
		value, _ := ctx.Value(key{}).(string)
		return ev.WorkflowName + " " + ev.InstanceID + " " + s.InstanceID() + " " + value, nil
	}, 0, wftest.Binding("INGEST"), wftest.ID("abc"), wftest.Context(context.WithValue(t.Context(), key{}, "v")))
	var text string
	if run.Output(&text); text != "INGEST abc abc v" {
		t.Error(text)
	}
}

func TestPanicsAreErrors(t *testing.T) {
	t.Parallel()
	run := wftest.Run(t, func(context.Context, wf.Event[int], *wf.Step) (int, error) { panic("ouch") }, 0)
	var failed *wf.StepError
	if !errors.As(run.Err(), &failed) || failed.Name != "PanicError" || failed.Message != "panic: ouch" {
		t.Errorf("%#v", run.Err())
	}
	run = wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		return wf.Do(ctx, s, "work", func(context.Context) (int, error) { panic("ouch") }, wf.Retry(1, 0, wf.Constant))
	}, 0)
	if !errors.As(run.Err(), &failed) || failed.Name != "PanicError" || run.Attempts("work") != 2 {
		t.Errorf("%#v", run.Err())
	}
}

// Steps that are nowhere waited for don't keep a workflow, nor do they disturb its replays.
func TestAStepThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	run := wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		wf.Go(ctx, s, "aside", func(ctx context.Context) (int, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return 0, nil
		})
		return 4, nil
	}, 0)
	var n int
	if run.Output(&n); n != 4 {
		t.Error(run)
	}
}

func TestWithoutReplaysTheCodeRunsOnce(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	flow := func(ctx context.Context, ev wf.Event[int], s *wf.Step) (int, error) {
		runs.Add(1)
		return process2(ctx, ev, s)
	}
	run := wftest.Run(t, flow, 5, wftest.WithoutReplays())
	if run.Runs() != 1 || runs.Load() != 4 { // three are the replays at the end
		t.Errorf("%d runs, %d calls", run.Runs(), runs.Load())
	}
	if forced := wftest.Run(t, flow, 5); forced.Runs() != 6 {
		t.Errorf("%d runs", forced.Runs())
	}
}

func process2(ctx context.Context, ev wf.Event[int], s *wf.Step) (int, error) {
	sum := 0
	for range ev.Payload {
		n, err := wf.Do(ctx, s, "add", one)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func TestTimeWithinStepsIsFakeInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		run := wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			_, err := wf.Do(ctx, s, "hangs", func(ctx context.Context) (int, error) {
				<-ctx.Done()
				return 0, context.Cause(ctx)
			}, wf.Timeout(5*time.Minute), wf.Retry(1, time.Hour, wf.Constant))
			var failed *wf.StepError
			if !errors.As(err, &failed) || !errors.Is(err, wf.ErrTimeout) {
				return 0, err
			}
			return wf.Do(ctx, s, "slow", func(context.Context) (int, error) {
				<-time.After(9 * time.Minute)
				return 1, nil
			})
		}, 0)
		if run.Status() != wf.Complete || run.Attempts("hangs") != 2 {
			t.Error(run)
		}
		if took := time.Since(began); took < 19*time.Minute {
			t.Errorf("the bubble's clock moved by %s", took)
		}
	})
}

func TestGoldenLogIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	first := ""
	for range 20 {
		run := wftest.Run(t, process, order{[]string{"a", "b", "c", "d"}}, wftest.Event("reviewed", review{OK: true}),
			wftest.Fail("pack", 1, errors.New("x"), wftest.Occurrence(3)), wftest.Crash("count", 1), wftest.Pause(wftest.At(time.Hour), time.Hour))
		if first == "" {
			first = run.String()
		}
		if run.String() != first {
			t.Fatalf("first\n%s\nthen\n%s", first, run)
		}
	}
}
