package wftest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sp00ky.cloud/spky/wf"
	"sp00ky.cloud/spky/wf/wftest"
)

// Ship is the workflow under test in the examples.
func Ship(ctx context.Context, ev wf.Event[string], s *wf.Step) (string, error) {
	label, err := wf.Do(ctx, s, "print label", func(context.Context) (string, error) {
		return "label of " + ev.Payload, nil
	}, wf.Retry(3, time.Minute, wf.Constant))
	if err != nil {
		return "", err
	}
	if err := s.Sleep(ctx, "until the truck comes", 20*time.Hour); err != nil {
		return "", err
	}
	_, err = wf.WaitForEvent[string](ctx, s, "signature", "signed", wf.Timeout(14*24*time.Hour))
	switch {
	case errors.Is(err, wf.ErrTimeout):
		return "lost, with " + label, nil
	case err != nil:
		return "", err
	}
	return "delivered, with " + label, nil
}

func ExampleRun() {
	t := &fake{} // in a test, its *testing.T
	run := wftest.Run(t, Ship, "order 7",
		wftest.Fail("print label", 1, errors.New("out of paper")),
		wftest.Event("signed", "Ada", wftest.OnWait(3*24*time.Hour)))
	fmt.Print(run)
	// Output:
	// +0s              do "print label", Error: out of paper, 2 attempts = "label of order 7"
	// +1m              sleep "until the truck comes", slept 20h
	// +20h1m           waitForEvent "signature", waited 3d = "Ada"
	// +3d20h1m         event "signed" is sent
	// +3d20h1m         complete = "delivered, with label of order 7"
}

// Without the event, the clock jumps to the end of the wait.
func ExampleRun_timeout() {
	t := &fake{}
	run := wftest.Run(t, Ship, "order 7")
	var out string
	run.Output(&out)
	fmt.Println(out, "after", run.Elapsed())
	// Output: lost, with label of order 7 after 356h0m0s
}

func ExampleStub() {
	t := &fake{}
	report := func(ctx context.Context, _ wf.Event[string], s *wf.Step) (int, error) {
		return wf.Query[int](ctx, s, "count orders", "RETURN (SELECT count() FROM order GROUP ALL)[0].count", nil)
	}
	run := wftest.Run(t, report, "", wftest.Stub("count orders", 12))
	var n int
	run.Output(&n)
	fmt.Println(n)
	// Output: 12
}

func ExampleCrash() {
	t := &fake{}
	charged := 0
	charge := func(ctx context.Context, _ wf.Event[string], s *wf.Step) (string, error) {
		return wf.Do(ctx, s, "charge", func(context.Context) (string, error) {
			charged++ // not safe: it happens once more when the process dies before the result is stored
			return "receipt", nil
		})
	}
	run := wftest.Run(t, charge, "", wftest.Crash("charge", 1))
	fmt.Printf("%scharged %d times\n", run, charged)
	// Output:
	// +0s              do "charge", AttemptLostError: the process died, or lost the instance, during the attempt, 2 attempts = "receipt"
	// +0s              the process crashes in attempt 1 of do "charge"
	// +25s             complete = "receipt"
	// charged 2 times
}

func ExampleResult_Step() {
	t := &fake{}
	run := wftest.Run(t, Ship, "order 7", wftest.Fail("print label", 0, errors.New("broken")))
	fmt.Println(run.Status(), run.Err())
	fmt.Println(run.Step("print label").Attempts, "attempts in", run.Elapsed())
	// Output:
	// errored broken
	// 4 attempts in 3m0s
}
