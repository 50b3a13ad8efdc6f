package workflow_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sp00ky.cloud/spky/integration/internal/durable"
	"sp00ky.cloud/spky/wf"
)

// TestConformance runs every case of the table through a real node and real engines: plainly, with
// the process killed between every two steps, and with a run for every step.
func TestConformance(t *testing.T) {
	t.Parallel()
	all := durable.Load(t)
	for _, mode := range []string{"plain", "kill", "replay"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newDatabase(t)
			r.StartNode(r.Serve(r.world))
			t.Run("cases", func(t *testing.T) { // ends when all of them have
				for _, c := range all.Cases {
					c, ok := c.In(mode)
					if !ok {
						continue
					}
					t.Run(c.ID, func(t *testing.T) {
						t.Parallel()
						perform(r.on(t), c, mode)
					})
				}
			})
		})
	}
}

func perform(r *rig, c conformance, mode string) {
	stage := newStage(c, "CASE_"+c.ID)
	process := r.newProcess(stage.binding, func(e *wf.Engine) { stage.register(e) })
	process.stepwise = mode == "replay"
	if mode == "kill" {
		process.killAfter = afterCommit
	}
	d := &director{rig: r, stage: stage, process: process, flow: stage.register(r.newEngine(wf.Config{}))}
	d.play(c.Script)
	d.judge(c.Expect)
	if mode == "kill" && d.Instance(d.current.ID()).StepsDone > 0 && process.deaths == 0 {
		r.t.Error("the process was never killed")
	}
}

// judge waits for the instance's end and holds it against what was expected.
func (d *director) judge(want expectation) {
	d.t.Helper()
	d.Judge(d.current.ID(), want, d.stage.saw)
}

// saw is what the functions noted.
func (s *stage) saw() durable.Seen {
	attempts := s.attempts()
	s.mu.Lock()
	defer s.mu.Unlock()
	return durable.Seen{Binding: s.binding, Attempts: attempts, Counts: maps.Clone(s.counts), Faults: slices.Clone(s.faults)}
}

// TestDurations reads every duration of the table.
func TestDurations(t *testing.T) {
	t.Parallel()
	for _, c := range durable.Load(t).Durations {
		got, err := wf.ParseDuration(c.Text)
		switch {
		case c.Refused && err == nil:
			t.Errorf("%q is read as %s", c.Text, got)
		case c.Refused && !strings.Contains(err.Error(), fmt.Sprintf("%q", c.Text)):
			t.Errorf("%q: the error does not quote it: %v", c.Text, err)
		case !c.Refused && (err != nil || got.Milliseconds() != c.MS):
			t.Errorf("%q is read as %s (%v), want %d ms", c.Text, got, err, c.MS)
		}
	}
}
