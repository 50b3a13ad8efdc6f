package ssp

import (
	"net/http"
	"sync"
	"testing"

	"sp00ky.cloud/spky/outbox"
)

// TestClaimedAnewInFlight: a node that claims a job whose earlier attempt it still makes, as one can out of a
// partition's queue after it was cut off and lost it, writes nothing of the old attempt under the new epoch. The row is
// given back and runs again.
func TestClaimedAnewInFlight(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	reached, open := make(chan struct{}, 4), make(chan struct{})
	release := sync.OnceFunc(func() { close(open) })
	s := serve(t, func(_ http.ResponseWriter, q *http.Request) {
		reached <- struct{}{}
		select {
		case <-open:
		case <-q.Context().Done():
		}
	})
	t.Cleanup(release)
	n := r.start(s.backends())
	id := r.job("x", "/x", nil)
	<-reached
	r.exec("UPDATE $id SET lease_epoch = 3, retries = 1", map[string]any{"id": id}) // lost, and claimed anew
	n.lanes[0].took([]outbox.Job{{ID: id, Epoch: 3, Path: "/x", Retries: 1}}, nil)
	release()
	row := r.settled(id, "success")
	if got := len(s.requests()); got != 2 || row.Epoch <= 3 {
		t.Errorf("%d requests, and success under epoch %d: the first answer counted for the second claim", got, row.Epoch)
	}
}
