package dashboard

import (
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
)

// TestSumsOfTablesAreCountedToABound: of two tables one was counted to the bound, so nobody knows the sum.
func TestSumsOfTablesAreCountedToABound(t *testing.T) {
	t.Parallel()
	d := &Dashboard{}
	d.history.last = admin.Overview{Now: time.Now(), Jobs: admin.JobStats{Pending: 1141, Success: 1141, Failed: 999, More: true}, Tables: make([]admin.TableStats, 2)}
	d.history.taken = time.Now()
	d.history.points = []point{{at: time.Now(), pending: 1141}}
	want := map[string]string{"all": "", "pending": "1000+", "processing": "0", "success": "1000+", "failed": "999", "cancelled": "0"}
	for _, tab := range d.jobTabs(query{}) {
		if tab.Count != want[tab.Label] {
			t.Errorf("%s: %s, want %s", tab.Label, tab.Count, want[tab.Label])
		}
	}
	for _, chart := range d.history.charts() {
		if chart.Title == "Queue" && chart.Latest != "1000+ pending" {
			t.Errorf("the chart of the queue says %s", chart.Latest)
		}
	}
}
