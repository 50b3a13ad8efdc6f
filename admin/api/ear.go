package api

import (
	"context"
	"slices"
	"time"
)

// An ear is what a page is told of, whatever that is.
type ear struct {
	// changed gets a value when there is something to be taken.
	changed <-chan struct{}
	// take says whether that is news, and whether nothing follows, because of err where that is not nil.
	take  func() (news, ended bool, err error)
	leave func()
}

// earOf hears what a reader gets, as far as it fits; nil is all of it.
func earOf[T any](r *reader[T], fits func(T) bool) ear {
	return ear{changed: r.changed, leave: r.leave, take: func() (bool, bool, error) {
		now := r.take()
		return now.lost || len(now.values) > 0 && (fits == nil || slices.ContainsFunc(now.values, fits)), now.ended, now.err
	}}
}

// hinting tells a page to look again.
type hinting struct {
	out   *stream
	topic Topic
	// gap is the least time between two hints.
	gap time.Duration
	// until says of what is heard whether it is the end, and nothing else that is heard is worth a look. Defaults to
	// never.
	until func() (bool, error)
}

// run hints at what two ears hear, until nothing of the first follows, which it leaves.
func (h *hinting) run(ctx context.Context, thing, signs ear) error {
	defer thing.leave()
	for {
		done, err := h.wait(ctx, thing, signs)
		if err != nil {
			return err
		}
		if h.topic.Before != nil {
			h.topic.Before(ctx)
		}
		if err := h.out.hint(true); err != nil || done {
			return err
		}
		if err := pause(ctx, h.gap); err != nil {
			return err
		}
	}
}

// wait returns once there is cause to look, with true where nothing follows.
func (h *hinting) wait(ctx context.Context, thing, signs ear) (bool, error) {
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	var more <-chan struct{}
	if h.topic.More != nil {
		more = h.topic.More()
	}
	for {
		select {
		case <-thing.changed:
			if look, ended, err := h.heard(thing); look || ended || err != nil {
				return ended, err
			}
		case <-signs.changed:
			if news, ended, err := signs.take(); news || ended {
				return ended, err
			}
		case <-more:
			return false, nil
		case <-alive.C:
			if err := h.out.hint(false); err != nil {
				return false, err
			}
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// heard takes what the first ear heard. A question that is not answered is for the page to ask, which says so.
func (h *hinting) heard(thing ear) (look, ended bool, err error) {
	look, ended, err = thing.take()
	if err != nil || !look || h.until == nil {
		return look, ended, err
	}
	ended, err = h.until()
	return ended || err != nil, ended, nil
}

// hint tells a page to look again, or that the other side lives.
func (s *stream) hint(changed bool) error {
	if changed {
		return s.event("changed", "", struct{}{})
	}
	return s.write(": still here\n\n")
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
