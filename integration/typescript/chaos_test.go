//go:build unix

package typescript_test

import "testing"

// TestKilledUnderLoad: many instances at the same time, in processes that are killed again and again. All of them come to
// what they should, no step is stored twice, no event lost.
func TestKilledUnderLoad(t *testing.T) {
	t.Parallel()
	build(t)
	const instances, kills = 60, 5
	r := newRig(t)
	s, env := r.watched("MIX")
	l := r.newLives(func() *backend { return r.spawn("build/features/main.js", env) })
	r.StartNode(r.Serve(l))
	control := r.spawn("build/features/main.js", env) // is not killed
	ids := make([]string, instances)
	for n := range ids {
		ids[n] = r.createIn(control, "MIX")
	}
	for n := range kills {
		r.Poll("steps go on", func() (bool, any) {
			calls := len(s.attempts())
			return calls >= (n+1)*instances*5/(kills+1), calls
		})
		l.kill()
	}
	d := &director{rig: r, control: control, stage: &stage{binding: "MIX"}}
	for n, id := range ids {
		refused, err := d.ask(map[string]any{"send": "more", "id": id, "payload": n}, nil)
		if err != nil || refused != "" {
			t.Fatalf("send: %s %v", refused, err)
		}
	}
	for n, id := range ids {
		row := r.untilStatus(id, "complete")
		if want := uint64(1 + 14 + 5 + n); row.Output != want || row.StepsDone != 7 {
			t.Errorf("instance %d comes to %v after %d steps, want %d", n, row.Output, row.StepsDone, want)
		}
		r.Consistent(id)
	}
}
