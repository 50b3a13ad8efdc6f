package wf

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A heldGroup is a group whose calls are answered when the test says so.
type heldGroup struct {
	*group
	mu    sync.Mutex
	sizes []int
	wait  chan struct{}
}

func newHeldGroup() *heldGroup {
	h := &heldGroup{wait: make(chan struct{})}
	h.group = newGroup(func(_ context.Context, calls []call) ([]answer, error) {
		h.mu.Lock()
		h.sizes = append(h.sizes, len(calls))
		h.mu.Unlock()
		<-h.wait
		return make([]answer, len(calls)), nil
	})
	return h
}

// sent is how many calls each group had that has been sent.
func (h *heldGroup) sent() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.sizes)
}

// TestASecondGroupGoesBesideTheFirstWhereManyWait: one that comes alone goes at once, a few wait for it, many do not,
// and none is sent twice or forgotten.
func TestASecondGroupGoesBesideTheFirstWhereManyWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHeldGroup()
		var calls sync.WaitGroup
		call := func(n int) {
			for range n {
				calls.Go(func() {
					if _, err := h.do(t.Context(), call{}); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
		}
		for _, step := range []struct {
			calls int
			sent  []int
		}{{1, []int{1}}, {groupMany - 1, []int{1}}, {1, []int{1, groupMany}}, {groupMany, []int{1, groupMany}}} {
			if call(step.calls); !slices.Equal(h.sent(), step.sent) {
				t.Errorf("after %d more calls groups of %v are sent, want %v", step.calls, h.sent(), step.sent)
			}
		}
		close(h.wait)
		calls.Wait()
		h.close()
		if got := h.sent(); !slices.Equal(got, []int{1, groupMany, groupMany}) {
			t.Errorf("groups of %v were sent", got)
		}
	})
}

// TestASlowGroupHoldsTheOthersUpForAWhile: others pass it then, until four are under way.
func TestASlowGroupHoldsTheOthersUpForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHeldGroup()
		var calls sync.WaitGroup
		for i, step := range []struct {
			calls int
			wait  time.Duration
			sent  []int
		}{
			{1, slowGroup - 1, []int{1}},
			{2, 0, []int{1}},
			{0, 1, []int{1, 2}},
			{1, slowGroup, []int{1, 2, 1}},
			{0, slowGroup, []int{1, 2, 1}},
			{1, slowGroup, []int{1, 2, 1, 1}},
			{groupMany, slowGroup, []int{1, 2, 1, 1}},
		} {
			for range step.calls {
				calls.Go(func() {
					if _, err := h.do(t.Context(), call{}); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			time.Sleep(step.wait) // of the bubble's clock
			synctest.Wait()
			if !slices.Equal(h.sent(), step.sent) {
				t.Errorf("step %d: groups of %v are sent, want %v", i, h.sent(), step.sent)
			}
		}
		close(h.wait)
		calls.Wait()
		h.close()
		if h.slow != 0 {
			t.Errorf("%d groups are still slow", h.slow)
		}
	})
}
