package admin

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"sp00ky.cloud/spky/wf"
)

// stepsOf makes an instance that came to its end by the steps a, b, b #2 and a sleep called b.
func (r *rig) stepsOf(id string) {
	r.t.Helper()
	r.create(NewInstance{Binding: "ALPHA", ID: id})
	r.exec(`LET $key = type::record('_00_wf_instance', $id);
		UPDATE $key SET status = 'complete', runs = 1, steps_done = 4, finished_at = time::now();
		FOR $s IN [[1, 'do', 'a', 1], [2, 'do', 'b', 1], [3, 'do', 'b', 2], [4, 'sleep', 'b', 1]] {
			CREATE type::record('_00_wf_step', [$id, 0, $s[1], $s[2], $s[3]]) SET instance = $key, seq = $s[0], kind = $s[1], name = $s[2], occurrence = $s[3],
				status = 'complete', attempts = [], started_at = time::now(), finished_at = time::now()
		}`, map[string]any{"id": id})
}

// TestRestartFrom begins instances again from a step, and finds that in the audit.
func TestRestartFrom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stepsOf("i")
	for _, c := range []struct {
		from StepRef
		says string
	}{
		{StepRef{Name: "nope"}, `restart instance i: step "nope" not found in execution history`},
		{StepRef{Name: "b", Count: 3, Type: "do"}, `step do "b" #3 not found`},
	} {
		was, err := r.durable.RestartFrom(r.ctx, "i", c.from)
		if !errors.Is(err, ErrStepNotFound) || errors.Is(err, ErrNotFound) || was != "" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("from %s: %s, %v", c.from, was, err)
		}
	}
	for _, from := range []StepRef{{}, {Name: "b", Count: -1}, {Name: "b", Type: "step"}, {Name: "b\x00"}} {
		_, err := r.durable.RestartFrom(r.ctx, "i", from)
		wants(t, "from "+from.String(), err, new(*InputError), "restart from: illegal")
	}
	if i := r.get("i"); i.Status != wf.Complete || i.Incarnation != 0 || i.StepsDone != 4 {
		t.Errorf("what was refused made it %+v", i)
	}
	if was, err := r.durable.RestartFrom(r.ctx, "i", StepRef{Name: "b", Count: 2}); err != nil || was != wf.Complete {
		t.Fatalf("from b #2: %s, %v", was, err)
	}
	i := r.get("i")
	steps, err := r.durable.Steps(r.ctx, "i", i.Incarnation, true)
	r.check(err)
	if i.Status != wf.Queued || i.Incarnation != 1 || i.StepsDone != 2 || len(steps) != 2 || steps[1].Name != "b" || steps[1].Occurrence != 1 {
		t.Errorf("it is %+v with the steps %+v", i, steps)
	}
	if _, err := r.durable.RestartFrom(r.ctx, "nobody", StepRef{Name: "a"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("of nobody: %v", err)
	}
	page, err := NewAudit(r.db).List(r.ctx, AuditOptions{Action: "instance.restart"})
	r.check(err)
	var got []string
	for _, e := range page.Entries {
		got = append(got, strings.Join([]string{e.Target, e.Outcome, e.Detail}, ", "))
	}
	want := []string{
		`nobody, not found, from "a"`, `i, done, from "b" #2`, `i, refused: step_not_found, from do "b" #3`, `i, refused: step_not_found, from "nope"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the audit has %q, want %q", got, want)
	}
}
