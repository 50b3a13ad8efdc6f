package wf

import (
	"context"
	"sync"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// groupMax is the most commits that travel in one call.
const groupMax = 64

// A committer sends the commits of all runs of a process, those that wait at the moment as one call.
// A commit that comes alone goes alone and at once: nothing waits for company. At most two calls are
// under way, so that one is on the wire while the database works on the other.
type committer struct {
	send func(context.Context, []protocol.StepWrite) ([]protocol.Ack, error)

	mu      sync.Mutex
	waiting []*pending
	calls   int
	running sync.WaitGroup
}

type pending struct {
	write protocol.StepWrite
	done  chan struct{}
	ack   protocol.Ack
	err   error
}

func newCommitter(send func(context.Context, []protocol.StepWrite) ([]protocol.Ack, error)) *committer {
	return &committer{send: send}
}

// commit writes w and answers with its own fate. When ctx ends first, the commit may still happen.
func (c *committer) commit(ctx context.Context, w protocol.StepWrite) (protocol.Ack, error) {
	one := &pending{write: w, done: make(chan struct{})}
	c.mu.Lock()
	c.waiting = append(c.waiting, one)
	lead := c.calls < 2
	if lead {
		c.calls++
	}
	c.mu.Unlock()
	if lead {
		c.running.Go(func() { c.drain(context.WithoutCancel(ctx)) })
	}
	select {
	case <-one.done:
		return one.ack, one.err
	case <-ctx.Done():
		return protocol.Ack{}, context.Cause(ctx)
	}
}

// close waits for the calls under way.
func (c *committer) close() { c.running.Wait() }

// drain sends what waits until nothing does.
func (c *committer) drain(ctx context.Context) {
	for {
		c.mu.Lock()
		n := min(len(c.waiting), groupMax)
		if n == 0 {
			c.calls--
			c.mu.Unlock()
			return
		}
		batch := c.waiting[:n:n]
		c.waiting = c.waiting[n:]
		c.mu.Unlock()
		c.deliver(ctx, batch)
	}
}

func (c *committer) deliver(ctx context.Context, batch []*pending) {
	writes := make([]protocol.StepWrite, len(batch))
	for i, one := range batch {
		writes[i] = one.write
	}
	acks, err := c.send(ctx, writes)
	if err != nil && len(batch) > 1 && !unreachable(err) {
		for i := range batch { // one that can't be written must not take the others down
			c.deliver(ctx, batch[i:i+1])
		}
		return
	}
	for i, one := range batch {
		if one.err = err; err == nil {
			one.ack = acks[i]
		}
		close(one.done)
	}
}
