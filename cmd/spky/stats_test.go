package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
)

// TestFiguresOfBackendsAreUpperBounds has the figures of stats be written as what they are, and in one style.
func TestFiguresOfBackendsAreUpperBounds(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &program{out: &out, env: func(string) (string, bool) { return "", false }}
	now := time.Now()
	due := now.Add(-200 * time.Second)
	o := admin.Overview{Now: now, Tables: []admin.TableStats{{Table: "job", JobStats: admin.JobStats{OldestDue: &due}}}}
	err := p.printStats(o, []admin.Backend{
		{Name: "api", Attempts: 3, P50MS: .25, P99MS: 4757.8, Circuit: "closed"}, {Name: "idle", Circuit: "closed"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"≤1ms", "≤4.8s", "3m20s", "-     -      closed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("stats does not say %q:\n%s", want, &out)
		}
	}
	out.Reset()
	if err := p.printAnalytics(admin.Analytics{Totals: []admin.Work{{Name: "/x", Success: 2, WallMS: 400_000}}}); err != nil || !strings.Contains(out.String(), "3m20s") || !strings.Contains(out.String(), "6m40s") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// TestWhatIsPossibleBesideARunIsSaid has a DAG that may not start beside a run of its own.
func TestWhatIsPossibleBesideARunIsSaid(t *testing.T) {
	t.Parallel()
	err := remediedDAG(&admin.StateError{Run: true, ID: "nightly", Verb: "trigger", Status: "the run before is not over", Possible: []string{"cancel"}})
	if says := hint.Of(err); !strings.Contains(says, "wait until it is") || strings.Contains(says, "possible now") {
		t.Errorf("the hint is %q", says)
	}
}
