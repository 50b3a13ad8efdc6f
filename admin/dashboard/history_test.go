package dashboard

import (
	"sync"
	"testing"

	"sp00ky.cloud/spky/admin"
)

// TestSamplesAreNews counts anew after a change, however fresh the last count is, and tells when it is another.
func TestSamplesAreNews(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := &r.pages.history
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	r.pages.resample(r.ctx)
	before, news := h.newestTaken(), h.news()
	r.job(admin.NewJob{ID: "one", Path: "/work"})
	r.pages.resample(r.ctx)
	if o, _ := h.overview(); o.Jobs.Pending != 1 || !h.newestTaken().After(before) || !closed(news) {
		t.Errorf("after a job was written there are %+v; told %v", o.Jobs, closed(news))
	}
	before, news = h.newestTaken(), h.news()
	var all sync.WaitGroup
	for range 5 { // who comes while one counts has its count
		all.Go(func() { r.pages.resample(r.ctx) })
	}
	all.Wait()
	if !h.newestTaken().After(before) || closed(news) {
		t.Errorf("nothing has changed; counted %v, told %v", h.newestTaken().After(before), closed(news))
	}
	r.pages.finished(r.ctx)
	news = h.news()
	r.pages.finished(r.ctx)
	if closed(news) {
		t.Error("the same hours are told twice")
	}
}
