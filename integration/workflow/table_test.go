package workflow_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/wf"
)

// TestConformance runs every case of the table through a real node and real engines: plainly, with
// the process killed between every two steps, and with a run for every step.
func TestConformance(t *testing.T) {
	t.Parallel()
	all := loadTable(t)
	for _, mode := range []string{"plain", "kill", "replay"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newDatabase(t)
			r.startNode(r.serve(r.world))
			t.Run("cases", func(t *testing.T) { // ends when all of them have
				for _, c := range all.Cases {
					if len(c.Modes) > 0 && !slices.Contains(c.Modes, mode) {
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
	if mode == "kill" && d.instance(d.current.ID()).StepsDone > 0 && process.deaths == 0 {
		r.t.Error("the process was never killed")
	}
}

// judge waits for the instance's end and holds it against what was expected.
func (d *director) judge(want expectation) {
	d.t.Helper()
	d.untilStatus(d.current, wf.Status(want.Status))
	id := d.current.ID()
	row, steps := d.instance(id), d.steps(id)
	if want.Output != nil {
		d.equal("the output", row.Output, *want.Output)
	}
	if want.Error != nil {
		d.error("the instance", row.Error, want.Error)
	}
	if want.Error == nil && want.Status == "complete" && row.Error != nil {
		d.t.Errorf("a complete instance has the error %+v", row.Error)
	}
	if lasted := row.FinishedAt.Sub(row.CreatedAt); lasted < time.Duration(want.AtLeastMS)*time.Millisecond {
		d.t.Errorf("it lasted %s, at least %d ms were due", lasted, want.AtLeastMS)
	}
	if want.StepsDone != nil && row.StepsDone != *want.StepsDone {
		d.t.Errorf("steps_done is %d, want %d", row.StepsDone, *want.StepsDone)
	}
	if saw := d.stage.attempts(); want.Seen != nil && !reflect.DeepEqual(saw, want.Seen) {
		d.t.Errorf("the functions saw the attempts %v, want %v", saw, want.Seen)
	}
	for label, least := range want.CountsAtLeast {
		d.stage.mu.Lock()
		if n := d.stage.counts[label]; n < least {
			d.t.Errorf("%q was passed %d times, want at least %d", label, n, least)
		}
		d.stage.mu.Unlock()
	}
	if want.Steps != nil {
		d.judgeSteps(steps, *want.Steps)
	}
	d.stage.mu.Lock()
	if len(d.stage.faults) > 0 && row.Incarnation == 0 {
		d.t.Errorf("not the same in every run: %v", d.stage.faults)
	}
	d.stage.mu.Unlock()
	if row.Warning != nil {
		d.t.Errorf("a false warning: %v", row.Warning)
	}
	d.consistent(id)
}

func (d *director) judgeSteps(steps map[string]stepRow, want map[string]expectedStep) {
	d.t.Helper()
	for key := range steps {
		if _, ok := want[key]; !ok {
			d.t.Errorf("there is a step %q", key)
		}
	}
	for key, w := range want {
		s, ok := steps[key]
		if !ok {
			d.t.Errorf("there is no step %q", key)
			continue
		}
		d.judgeStep(key, s, w)
	}
}

func (d *director) judgeStep(key string, s stepRow, w expectedStep) {
	d.t.Helper()
	if s.Status != w.Status {
		d.t.Errorf("%s is %s, want %s", key, s.Status, w.Status)
	}
	if w.Output != nil {
		d.equal("the output of "+key, s.Output, *w.Output)
	}
	if w.Error != nil {
		d.error(key, s.Error, w.Error)
	}
	if w.Config != nil {
		d.equal("the config of "+key, s.Config, must(json.Marshal(w.Config)))
	}
	if w.WaitMS > 0 && (s.WakeAt == nil || s.WakeAt.Sub(s.StartedAt).Milliseconds() != w.WaitMS) {
		d.t.Errorf("%s waits from %s to %v, want %d ms", key, s.StartedAt, s.WakeAt, w.WaitMS)
	}
	if w.Attempts != nil && len(s.Attempts) != len(w.Attempts) {
		d.t.Errorf("%s has the attempts %+v, want %d", key, s.Attempts, len(w.Attempts))
		return
	}
	for i, attempt := range w.Attempts {
		d.error(fmt.Sprintf("attempt %d of %s", i+1, key), s.Attempts[i].Error, attempt)
		if s.Attempts[i].EndedAt == nil {
			d.t.Errorf("attempt %d of %s has no end", i+1, key)
		}
	}
	for i, least := range w.GapsAtLeastMS {
		if gap := s.Attempts[i+1].StartedAt.Sub(*s.Attempts[i].EndedAt); gap < time.Duration(least)*time.Millisecond {
			d.t.Errorf("%s between the attempts %d and %d of %s, want at least %d ms", gap, i+1, i+2, key, least)
		}
	}
}

func (d *director) error(what string, got *errorRow, want *expectedError) {
	d.t.Helper()
	switch {
	case want == nil && got != nil:
		d.t.Errorf("%s has the error %+v", what, *got)
	case want == nil:
	case got == nil:
		d.t.Errorf("%s has no error", what)
	case want.Name != "" && got.Name != want.Name,
		want.Message != nil && got.Message != *want.Message,
		want.Has != "" && !regexp.MustCompile(want.Has).MatchString(got.Message):
		d.t.Errorf("%s has the error %+v, want %+v", what, *got, *want)
	}
}

// equal compares a stored value with JSON, in which {"$has": …} stands for any text that matches.
func (d *director) equal(what string, got any, want json.RawMessage) {
	d.t.Helper()
	var g, w any
	check(d.t, json.Unmarshal(must(toJSON(got)), &g))
	check(d.t, json.Unmarshal(want, &w))
	if !d.fits(g, w) {
		d.t.Errorf("%s is %.300v, want %.300s", what, g, want)
	}
}

func (d *director) fits(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		if pattern, ok := w["$has"].(string); ok {
			text, isText := got.(string)
			return isText && regexp.MustCompile(pattern).MatchString(text)
		}
		if w["$binding"] == true {
			return got == d.stage.binding
		}
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for key := range w {
			if _, there := g[key]; !there || !d.fits(g[key], w[key]) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(g, w, d.fits)
	}
	return reflect.DeepEqual(got, want)
}

// TestDurations reads every duration of the table.
func TestDurations(t *testing.T) {
	t.Parallel()
	for _, c := range loadTable(t).Durations {
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
