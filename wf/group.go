package wf

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// groupMax is the most calls that travel as one.
	groupMax = 64
	// A group goes when the one before it has its answer: with more of them under way each is smaller,
	// and the database has more to do. Where groupMany calls wait, a second goes beside it: both are large,
	// and the database works on them at the same time. One that is slow holds the others up for slowGroup
	// only, until groupsUnderWay are.
	groupMany      = 20
	slowGroup      = 100 * time.Millisecond
	groupsUnderWay = 4
)

// A group makes the calls of all runs of a process, those that wait at the moment in one transaction, for
// a transaction costs as much as the work of several calls. One that comes alone goes alone and at once:
// nothing waits for company. Each has its own answer.
type group struct {
	send func(context.Context, []call) ([]answer, error)

	mu      sync.Mutex
	waiting []*pending
	flying  int
	slow    int        // of those under way, how many hold nobody up any more
	idle    *sync.Cond // told when flying becomes 0
}

type pending struct {
	ctx  context.Context //nolint:containedctx // of whoever waits for the answer
	req  call
	done chan struct{}
	ans  answer
	err  error
}

// gone says whether nobody waits for the answer any more.
func (p *pending) gone() bool { return p.ctx.Err() != nil }

func newGroup(send func(context.Context, []call) ([]answer, error)) *group {
	g := &group{send: send}
	g.idle = sync.NewCond(&g.mu)
	return g
}

// do sends req and gives its own answer. When ctx ends while it is under way, req may still be carried out.
func (g *group) do(ctx context.Context, req call) (answer, error) {
	one := &pending{ctx: ctx, req: req, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, one)
	g.mu.Unlock()
	g.lead(ctx)
	select {
	case <-one.done:
		return one.ans, one.err
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
}

// most is how many groups may be under way at the moment.
func (g *group) most() int {
	most := 1 + g.slow
	if len(g.waiting) >= groupMany {
		most++
	}
	return max(1, min(most, groupsUnderWay))
}

// lead sends what waits, unless as many groups as may be are under way.
func (g *group) lead(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flying >= g.most() || len(g.waiting) == 0 {
		return
	}
	g.flying++
	go g.drain(context.WithoutCancel(ctx)) // close waits for it
}

// close waits for the calls under way.
func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.flying > 0 {
		g.idle.Wait()
	}
}

// drain sends what waits until nothing does.
func (g *group) drain(ctx context.Context) {
	for {
		g.mu.Lock()
		n := min(len(g.waiting), groupMax)
		if n == 0 || g.flying > g.most() {
			if g.flying--; g.flying == 0 {
				g.idle.Broadcast()
			}
			g.mu.Unlock()
			return
		}
		batch := g.waiting[:n:n]
		g.waiting = g.waiting[n:]
		g.mu.Unlock()
		slow := time.AfterFunc(slowGroup, func() { g.slower(1); g.lead(ctx) })
		g.deliver(ctx, batch)
		if !slow.Stop() {
			g.slower(-1)
		}
	}
}

func (g *group) slower(by int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slow += by
}

// deliver makes the calls of a batch, but those whose callers have given up meanwhile: nobody would have what they take.
func (g *group) deliver(ctx context.Context, batch []*pending) {
	batch = slices.DeleteFunc(slices.Clone(batch), (*pending).gone)
	if len(batch) == 0 {
		return
	}
	calls := make([]call, len(batch))
	for i, one := range batch {
		calls[i] = one.req
	}
	answers, err := g.send(ctx, calls)
	if err != nil && len(batch) > 1 && !unreachable(err) {
		for i := range batch { // one that is refused must not take the others down
			g.deliver(ctx, batch[i:i+1])
		}
		return
	}
	for i, one := range batch {
		if one.err = err; err == nil {
			one.ans = answers[i]
		}
		close(one.done)
	}
}
