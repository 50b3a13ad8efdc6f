package admin

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRunsArePaged walks through runs of all states, some of which have started in the same microsecond, by pages of every
// size: each comes once, the newest first.
func TestRunsArePaged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.flows()
	r.exec(`FOR $i IN 0..40 {
		LET $at = d'2026-01-01T00:00:00.123456789Z' + duration::from_micros($i / 4);
		CREATE type::record('_00_workflow_run', 'nightly-' + <string>$i) SET workflow = 'nightly', key = '', manual = false, on_failure = 'halt', concurrency = 'allow',
			status = ['running', 'success', 'failed', 'killed'][$i * 7 % 4], tick = type::record('_00_schedule_run', $i), steps = 1, deadline_ms = 0, started_at = $at, newest = -time::micros($at) };
		CREATE _00_workflow_run:other SET workflow = 'sites', key = '', manual = false, on_failure = 'halt', concurrency = 'allow', status = 'running',
			tick = _00_schedule_run:x, steps = 1, deadline_ms = 0, started_at = time::now(), newest = -time::micros(time::now())`, nil)
	for _, status := range append(RunStatuses(), "") {
		all, err := d.Runs(r.ctx, "nightly", status, 200)
		r.check(err)
		if want := map[bool]int{true: 40, false: 10}[status == ""]; len(all) != want {
			t.Fatalf("%q: %d runs, want %d", status, len(all), want)
		}
		if !slices.IsSortedFunc(all, func(a, b DAGRun) int { return b.StartedAt.Compare(a.StartedAt) }) {
			t.Errorf("%q: not the newest first", status)
		}
		for _, limit := range []int{1, 3, 7, 10, 39, 40, 41} {
			var walked []DAGRun
			pages := 0
			for o := (RunListOptions{DAG: "nightly", Status: status, Limit: limit}); ; pages++ {
				page, err := d.ListRuns(r.ctx, o)
				r.check(err)
				walked = append(walked, page.Runs...)
				if o.Cursor = page.Next; o.Cursor == "" || pages > 50 {
					break
				}
			}
			if fmt.Sprint(idsOf(walked)) != fmt.Sprint(idsOf(all)) || pages != (len(all)-1)/limit {
				t.Errorf("%q by %d, %d pages more:\n%v\n%v", status, limit, pages, idsOf(walked), idsOf(all))
			}
		}
	}
	for _, cursor := range []string{"x", ".", "1.", "-1.a", "zzzzzzzzzzzzzzzzzzzz.a", strings.Repeat("9", 300)} {
		_, err := d.ListRuns(r.ctx, RunListOptions{DAG: "nightly", Cursor: cursor})
		wants(t, cursor, err, new(*InputError), "cursor")
	}
}

func idsOf(runs []DAGRun) []string {
	var all []string
	for _, run := range runs {
		all = append(all, run.ID)
	}
	return all
}
