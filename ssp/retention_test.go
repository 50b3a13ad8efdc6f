package ssp

import (
	"net/http"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// TestNodesPruneWhatIsOld has two nodes; the one that prunes goes, and the other takes over.
func TestNodesPruneWhatIsOld(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	keep := func(c *Config) {
		c.Retention, c.PruneInterval = config.Retention{Success: time.Hour}, 50*time.Millisecond
	}
	nodes := []*running{r.start(s.backends(), keep), r.start(s.backends(), keep)}
	young := r.job("young", "/x", nil)
	r.settled(young, "success")
	for i := range nodes {
		r.exec("FOR $n IN 0..10 { CREATE job SET path = '/old', status = 'success', created_at = time::now() - 3h, updated_at = time::now() - 2h }", nil)
		r.eventually("the old jobs are gone", func() bool { return r.count("job", "success") == 1 })
		holder, err := surreal.First[string](r.ctx, r.db, "RETURN _00_lease:retention.holder", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			if n.ID() != holder {
				continue
			}
			r.eventually("what went is counted", func() bool { return n.metric("spky_pruned_total", "job") >= 10 })
			if i == 0 {
				n.stop()
			}
		}
	}
	if _, there := r.row(young); !there {
		t.Error("a young job was pruned")
	}
}
