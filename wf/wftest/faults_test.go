package wftest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sp00ky.cloud/spky/wf"
	"sp00ky.cloud/spky/wf/wftest"
)

func one(context.Context) (int, error) { return 1, nil }

func TestADecisionByChanceIsFound(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	text := fails(t, func(f *fake) {
		wftest.Run(f, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			name := "left"
			if calls.Add(1) > 1 {
				name = "right"
			}
			if _, err := wf.Do(ctx, s, name, one); err != nil {
				return 0, err
			}
			return wf.Do(ctx, s, "end", one)
		}, 0)
	})
	mustContain(t, text, "nondeterminism in run 2", `step "right" ran although`, `do "left" #1`)
}

func TestAnEndThatLeavesStoredStepsOutIsFound(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	text := fails(t, func(f *fake) {
		wftest.Run(f, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			if calls.Add(1) > 1 {
				return 0, nil
			}
			return wf.Do(ctx, s, "once", one)
		}, 0)
	})
	mustContain(t, text, "nondeterminism", `the workflow ended although`, `do "once" #1`)
}

func TestAResultThatDependsOnChanceIsFound(t *testing.T) {
	t.Parallel()
	text := fails(t, func(f *fake) {
		wftest.Run(f, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (uint64, error) {
			_, err := wf.Do(ctx, s, "step", one)
			return rand.Uint64(), err
		}, 0)
	})
	mustContain(t, text, "nondeterminism", "came to", "when it was replayed")
}

func TestAVariableSetInAStepIsFound(t *testing.T) {
	t.Parallel()
	run := wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		n := 0
		if _, err := wf.Do(ctx, s, "sets", func(context.Context) (int, error) { n = 5; return 1, nil }); err != nil {
			return 0, err
		}
		return n, nil // 5 in the run that executes the step, 0 in every other
	}, 0)
	var n int
	if run.Output(&n); n != 0 {
		t.Errorf("the workflow saw what a step did outside its result: %d", n)
	}
}

func TestAStepThatOnlyAReplayComesToIsNamed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	text := fails(t, func(f *fake) {
		wftest.Run(f, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			if _, err := wf.Do(ctx, s, "first", one); err != nil {
				return 0, err
			}
			if calls.Add(1) < 2 {
				return 7, nil
			}
			return wf.Do(ctx, s, "more", one)
		}, 0)
	})
	mustContain(t, text, "nondeterminism", `when it wanted to execute do "more"`)
}

func TestALoopWithoutEndIsFound(t *testing.T) {
	t.Parallel()
	text := fails(t, func(f *fake) {
		wftest.Run(f, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			for {
				if err := s.Sleep(ctx, "poll", time.Hour); err != nil {
					return 0, err
				}
			}
		}, 0, wftest.MaxRuns(20))
	})
	mustContain(t, text, "has not ended after 20 runs", "wftest.MaxRuns", `sleep "poll" #9, slept 1h`)
}

// In a bubble, patience ends at once and never too early.
func TestCodeThatHangsIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan int)
		text := fails(t, func(f *fake) {
			defer close(release)
			wftest.Run(f, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
				if _, err := wf.Do(ctx, s, "first", one); err != nil {
					return 0, err
				}
				return <-release, nil
			}, 0)
		})
		mustContain(t, text, "run 2 goes no further", `do "first" = 1`)
	})
}

func TestAStepThatTakesItsTimeIsNoHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			return wf.Do(ctx, s, "slow", func(context.Context) (int, error) {
				<-time.After(time.Minute)
				return 3, nil
			})
		}, 0, wftest.Patience(time.Second))
		if run.Status() != wf.Complete {
			t.Error(run)
		}
	})
}

func TestAStepThatIgnoresItsContextIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan int)
		defer close(release)
		text := fails(t, func(f *fake) {
			wftest.Run(f, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
				return wf.Do(ctx, s, "deaf", func(context.Context) (int, error) { return <-release, nil }, wf.Timeout(time.Minute), wf.Retry(0, 0, wf.Constant))
			}, 0)
		})
		mustContain(t, text, "does not end although its context has", `do "deaf"`)
	})
}

func TestFatalInsideAWorkflowEndsTheTest(t *testing.T) {
	t.Parallel()
	text := fails(t, func(f *fake) {
		wftest.Run(f, func(context.Context, wf.Event[int], *wf.Step) (int, error) {
			f.Fatalf("an assertion in the workflow")
			return 0, nil
		}, 0)
	})
	mustContain(t, text, "an assertion in the workflow", "ended its goroutine")
	text = fails(t, func(f *fake) {
		wftest.Run(f, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			return wf.Do(ctx, s, "asserts", func(context.Context) (int, error) { f.Fatalf("an assertion in a step"); return 0, nil })
		}, 0)
	})
	mustContain(t, text, "an assertion in a step")
}

func TestOptionsForStepsThatNeverRanAreFaults(t *testing.T) {
	t.Parallel()
	flow := func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		return wf.Do(ctx, s, "right", one)
	}
	for name, c := range map[string]struct {
		option wftest.Option
		want   string
	}{
		"stub":       {wftest.Stub("rihgt", 1), `Stub("rihgt")`},
		"fail":       {wftest.Fail("rihgt", 1, errors.New("x")), `Fail("rihgt", 1)`},
		"attempt":    {wftest.Fail("right", 2, errors.New("x")), `Fail("right", 2)`},
		"timeout":    {wftest.TimeOut("rihgt", 1), `TimeOut("rihgt", 1)`},
		"crash":      {wftest.Crash("rihgt", 1), `Crash("rihgt", 1)`},
		"occurrence": {wftest.Stub("right", 2, wftest.Occurrence(2)), `Stub("right")`},
		"during":     {wftest.Terminate(wftest.During("rihgt")), `Terminate(During("rihgt"))`},
		"restart":    {wftest.Restart(wftest.During("right"), wf.StepRef{Name: "rihgt"}), `Restart(During("right"), "rihgt")`},
	} {
		text := fails(t, func(f *fake) { wftest.Run(f, flow, 0, c.option) })
		if !strings.Contains(text, c.want) || !strings.Contains(text, `do "right"`) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestIllegalOptionsAndParams(t *testing.T) {
	t.Parallel()
	flow := func(ctx context.Context, _ wf.Event[any], s *wf.Step) (int, error) { return 1, nil }
	for name, c := range map[string]struct {
		params any
		option wftest.Option
		want   string
	}{
		"restart":      {1, wftest.Restart(wftest.At(0), wf.StepRef{Name: "a", Type: "step"}), `Restart(At(0s), step "a")`},
		"no error":     {1, wftest.Fail("a", 1, nil), "the error is nil"},
		"negative":     {1, wftest.Fail("a", -1, errors.New("x")), "count from 1"},
		"event":        {1, wftest.Event("a", make(chan int)), `Event("a")`},
		"large event":  {1, wftest.Event("a", strings.Repeat("a", 1<<20)), "larger than 1 MiB"},
		"params":       {make(chan int), wftest.ID("x"), "params"},
		"large params": {strings.Repeat("a", 1<<20), wftest.ID("x"), "larger than 1 MiB"},
	} {
		text := fails(t, func(f *fake) { wftest.Run[any, int](f, flow, c.params, c.option) })
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestAQueryWithoutAStubSaysWhatToDo(t *testing.T) {
	t.Parallel()
	run := wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		return wf.Query[int](ctx, s, "save", "RETURN 1", nil)
	}, 0)
	if run.Status() != wf.Errored || run.Attempts("save") != 1 {
		t.Error(run)
	}
	mustContain(t, run.Err().Error(), "wftest.Stub")
}

func TestTheTestsContextEndsARun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	text := fails(t, func(f *fake) {
		wftest.Run(f, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
			return wf.Do(ctx, s, "long", func(ctx context.Context) (int, error) {
				cancel()
				<-ctx.Done()
				return 0, context.Cause(ctx)
			})
		}, 0, wftest.Context(ctx), wftest.Patience(100*time.Millisecond))
	})
	mustContain(t, text, "context ended in run 1")
}

func TestParallelSubtestsDoNotMeet(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			run := wftest.Run(t, process, order{make([]string, n)}, wftest.Event("reviewed", review{OK: n%2 == 0}))
			if got := run.Attempts("pack"); got != n || (run.Err() == nil) != (n%2 == 0) {
				t.Errorf("%d: %s", n, run)
			}
		})
	}
	group.Wait()
}
