package mcp

import (
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
)

func TestStats(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`CREATE _00_run_rollup:[time::floor(time::now(), 1h), 'dag', '', 'nightly'] SET hour = time::floor(time::now(), 1h), scope = 'dag', of = '', name = 'nightly',
		success = 2, failed = 1, wall_ms = 4500`, nil)
	reader := r.connect(admin.ScopeRead)
	var out statsOut
	a := reader.ok("stats", map[string]any{"hours": 2}, &out)
	if len(out.Totals) != 1 || out.Totals[0].Success != 2 || out.Totals[0].Failed != 1 || !strings.Contains(a.text, "nightly") {
		t.Errorf("%+v\n%s", out, a.text)
	}
	reader.refused("stats", map[string]any{"hours": 745}, "input")
}
