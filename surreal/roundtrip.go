package surreal

import (
	"context"
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// beginRequest starts a request with n parameters, which the caller appends.
func beginRequest(e *encoder, id uint64, method string, params int) {
	e.head(majorMap, 3)
	e.literal("id")
	e.head(majorUint, id)
	e.literal("method")
	e.literal(method)
	e.literal("params")
	e.head(majorArray, uint64(params))
}

// call sends one RPC request and waits for its answer: for as long as ctx allows, or for the configured timeout when
// ctx has no deadline. It is safe to call from many goroutines; requests overtake each other only in the server.
func (t *transport) call(ctx context.Context, method string, params ...any) (cbor.RawMessage, error) {
	return t.roundTrip(ctx, method, func(e *encoder, id uint64) error {
		beginRequest(e, id, method, len(params))
		for i, param := range params {
			if err := e.value(param, requestDepth); err != nil {
				return at(fmt.Sprintf("[%d]", i), err)
			}
		}
		return nil
	})
}

// query is the call "query", spelled out because it is nearly all of the traffic.
func (t *transport) query(ctx context.Context, surql string, vars map[string]any) (cbor.RawMessage, error) {
	return t.roundTrip(ctx, "query", func(e *encoder, id uint64) error {
		params := 2
		if len(vars) == 0 {
			params = 1
		}
		beginRequest(e, id, "query", params)
		if err := e.text(surql); err != nil {
			return err
		}
		if params == 2 {
			return e.object(vars, requestDepth)
		}
		return nil
	})
}

func (t *transport) roundTrip(ctx context.Context, what string, encode func(*encoder, uint64) error) (cbor.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	c := t.pools.call()
	c.id, c.frame = t.ids.Add(1), t.pools.encoder()
	if err := t.encode(c, encode); err != nil {
		t.pools.release(c.frame)
		t.pools.releaseCall(c)
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var timeout <-chan time.Time
	if _, limited := ctx.Deadline(); !limited {
		timer := t.pools.timer(t.cfg.CallTimeout)
		defer t.pools.releaseTimer(timer)
		timeout = timer.C
	}
	if err := t.calls.add(c); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", what, errUnsent, err)
	}
	answer, err := t.await(ctx, c, timeout)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return answer, nil
}

func (t *transport) encode(c *call, encode func(*encoder, uint64) error) error {
	if err := encode(c.frame, c.id); err != nil {
		return err
	}
	if size := int64(len(c.frame.out)); size > t.cfg.MaxMessage {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, size, t.cfg.MaxMessage)
	}
	return nil
}

// await queues the call and waits for its end. A frame that was not written when the caller gives up never is.
func (t *transport) await(ctx context.Context, c *call, timeout <-chan time.Time) (cbor.RawMessage, error) {
	select {
	case t.queue <- c:
	default:
		select {
		case t.queue <- c:
		case <-c.done:
			return nil, fmt.Errorf("%w: %w", errUnsent, c.err)
		case <-ctx.Done():
			return nil, t.abandon(c, ctx.Err())
		case <-timeout:
			return nil, t.abandon(c, t.timedOut())
		}
	}
	select {
	case <-c.done:
		answer, err := c.answer, c.err
		if c.state.CompareAndSwap(frameQueued, frameCancelled) {
			return nil, fmt.Errorf("%w: %w", errUnsent, err)
		}
		t.pools.releaseCall(c)
		return answer, err
	case <-ctx.Done():
		return nil, t.abandon(c, ctx.Err())
	case <-timeout:
		return nil, t.abandon(c, t.timedOut())
	}
}

func (t *transport) timedOut() error {
	return fmt.Errorf("no answer within %s: %w", t.cfg.CallTimeout, context.DeadlineExceeded)
}

// abandon gives up a call; its answer, if one comes, is dropped.
func (t *transport) abandon(c *call, reason error) error {
	t.calls.take(c.id)
	c.state.CompareAndSwap(frameQueued, frameCancelled)
	return reason
}
