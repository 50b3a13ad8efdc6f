package wftest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/wf"
	"sp00ky.cloud/spky/wf/wftest"
)

func TestWhatIsNotThereFailsTheTest(t *testing.T) {
	t.Parallel()
	fail := wftest.Fail("before", 0, wf.NonRetryable(errors.New("boom")))
	for name, c := range map[string]struct {
		body func(*fake)
		want []string
	}{
		"output of an errored workflow": {func(f *fake) { wftest.Run(f, napping, 0, fail).Output(new(int)) }, []string{"the workflow is errored", "boom"}},
		"output of another type":        {func(f *fake) { wftest.Run(f, napping, 0).Output(new(string)) }, []string{"the output 1 does not fit"}},
		"unknown step":                  {func(f *fake) { wftest.Run(f, napping, 0).Step("during") }, []string{`no step "during"`, `do "before", sleep "nap", do "after"`}},
		"output of a step that failed":  {func(f *fake) { wftest.Run(f, napping, 0, fail).Step("before").Output(new(int)) }, []string{"it is errored", "boom"}},
		"step's output of another type": {func(f *fake) { wftest.Run(f, napping, 0).Step("before").Output(new(string)) }, []string{`the result 1 of step "before" does not fit`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustContain(t, fails(t, c.body), c.want...)
		})
	}
}

func TestStepsTellTheirStory(t *testing.T) {
	t.Parallel()
	start := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	run := wftest.Run(t, napping, 0, wftest.Start(start), wftest.Fail("before", 1, errors.New("busy")))
	steps := run.Steps()
	if len(steps) != 3 {
		t.Fatal(run)
	}
	before, nap, after := steps[0], steps[1], steps[2]
	if before.Name != "before" || before.Kind != "do" || before.Occurrence != 1 || before.Status != "complete" || before.Err != nil ||
		len(before.Failed) != 1 || before.Failed[0].Message != "busy" || before.Failed[0].Step != "before" {
		t.Errorf("%+v", before)
	}
	if !before.Started.Equal(start) || !before.Finished.Equal(start.Add(10*time.Second)) || !nap.Finished.Equal(after.Started) || nap.Kind != "sleep" {
		t.Errorf("%+v", steps)
	}
	var n int
	if after.Output(&n); n != 1 {
		t.Error(n)
	}
}

func TestLogsAreCut(t *testing.T) {
	t.Parallel()
	run := wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (string, error) {
		return wf.Do(ctx, s, "long", func(context.Context) (string, error) { return strings.Repeat("ä", 500), nil })
	}, 0)
	for line := range strings.Lines(run.String()) {
		if len(line) > 300 || !strings.Contains(line, "… (1002 bytes)") {
			t.Error(line)
		}
	}
}

func TestARefusedActIsNoted(t *testing.T) {
	t.Parallel()
	run := wftest.Run(t, napping, 0, wftest.Pause(wftest.At(time.Minute), time.Hour), wftest.Pause(wftest.At(2*time.Minute), 0))
	mustContain(t, run.String(), "+2m              a pause is asked for, and refused: it is paused")
	if run.Status() != wf.Complete || run.Elapsed() != 2*time.Hour {
		t.Error(run)
	}
}
