package admin

import (
	"testing"
)

// TestClear deletes more than one call may, and never what runs.
func TestClear(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for part := range 6 {
		r.exec(`INSERT INTO job (<array> 0..2000).map(|$n| { RETURN { id: $n + $from, path: '/x', delay: IF $n % 2 = 0 { 1000 } ELSE { NONE },
			status: ['pending', 'success', 'failed', 'cancelled', 'success', 'success', 'failed', 'success', 'success', IF $n % 100 = 9 { 'processing' } ELSE { 'success' }][$n % 10] } }) RETURN NONE`,
			map[string]any{"from": part * 2000})
	}
	j := r.jobs()
	c, err := j.Clear(r.ctx, "job", false)
	if err != nil || c != (Cleared{Cleared: 10_000, Total: 10_680, More: true}) {
		t.Errorf("cleared %+v, %v", c, err)
	}
	c, err = j.Clear(r.ctx, "", false)
	if err != nil || c != (Cleared{Cleared: 680, Total: 680}) {
		t.Errorf("cleared %+v, %v", c, err)
	}
	c, err = j.Clear(r.ctx, "", true)
	if err != nil || c != (Cleared{Cleared: 1200, Total: 1200}) {
		t.Errorf("cleared %+v, %v", c, err)
	}
	if left := r.json("RETURN array::group((SELECT VALUE status FROM job))", nil); left != `["processing"]` {
		t.Errorf("left are %s", left)
	}
	page, err := NewAudit(r.db).List(r.ctx, AuditOptions{Action: "job.clear"})
	r.check(err)
	if len(page.Entries) != 3 || page.Entries[2].Detail != "10000 jobs deleted" || page.Entries[0].Outcome != "done" || page.Entries[0].Target != "job" {
		t.Errorf("the audit has %s", pretty(t, page))
	}
}
