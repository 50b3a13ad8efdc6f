package api

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// A told is a hub whose source the test speaks for.
type told struct {
	t     *testing.T
	hub   *hub[string]
	tasks tasks
	// begun gets the source's tell, each time that it is started; say ends it with an error.
	begun chan func(string) error
	say   chan error
	ended chan string
}

func newTold(t *testing.T, remembers bool) *told {
	t.Helper()
	d := &told{t: t, begun: make(chan func(string) error, 10), say: make(chan error), ended: make(chan string, 10)}
	ctx, cancel := context.WithCancel(context.Background())
	d.hub = newHub(ctx, &d.tasks, remembers, func(v string) string { return v[:1] }, func(ctx context.Context, key string, tell func(string) error) error {
		d.begun <- tell
		defer func() { d.ended <- key }()
		select {
		case err := <-d.say:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	t.Cleanup(func() { cancel(); d.tasks.end() })
	return d
}

func values(r *reader[string]) string { return fmt.Sprint(r.take().values) }

func TestAHubWatchesOnceForAll(t *testing.T) {
	t.Parallel()
	d := newTold(t, true)
	first := d.hub.join("k")
	tell := <-d.begun
	_ = tell("a1")
	second := d.hub.join("k")
	if got := values(second); got != "[a1]" {
		t.Errorf("who comes later is told %s", got)
	}
	_ = tell("a2")
	_ = tell("b1")
	_ = tell("a3")
	if got := values(first); got != "[a3 b1]" {
		t.Errorf("who was busy is told %s", got)
	}
	first.leave()
	_ = tell("a4")
	if got := values(first); got != "[]" {
		t.Errorf("who has left is told %s", got)
	}
	if got := values(second); got != "[a3 b1 a4]" && got != "[a4 b1]" {
		t.Errorf("who stays is told %s", got)
	}
	second.leave()
	if key := <-d.ended; key != "k" {
		t.Errorf("%s ended", key)
	}
	d.hub.join("k").leave() // begins anew
	<-d.begun
	if len(d.hub.of) != 0 {
		t.Errorf("%d are watched for nobody", len(d.hub.of))
	}
}

func TestTheEndOfWhatIsWatched(t *testing.T) {
	t.Parallel()
	d := newTold(t, true)
	reader := d.hub.join("k")
	tell := <-d.begun
	_ = tell("a1")
	broken := errors.New("broken")
	d.say <- broken
	for {
		<-reader.changed
		got := reader.take()
		if !got.ended {
			continue
		}
		if !errors.Is(got.err, broken) {
			t.Errorf("%+v", got)
		}
		break
	}
	again := d.hub.join("k")
	defer again.leave()
	reader.leave() // ends nobody else's
	if tell := <-d.begun; tell("a2") != nil || values(again) != "[a2]" {
		t.Error("whoever comes after the end gets nothing")
	}
}

func TestASlowReaderIsBounded(t *testing.T) {
	t.Parallel()
	d := newTold(t, false)
	d.hub.id = func(v string) string { return v }
	slow := d.hub.join("k")
	defer slow.leave()
	tell := <-d.begun
	for n := range 10 * maxWaiting {
		_ = tell(fmt.Sprint(n))
	}
	if got := slow.take(); len(got.values) != maxWaiting || !got.lost {
		t.Errorf("%d wait, lost: %v", len(got.values), got.lost)
	}
	_ = tell("next")
	if got := slow.take(); len(got.values) != 1 || got.lost {
		t.Errorf("afterwards %+v", got)
	}
}

func TestAHubOfAServerThatEnds(t *testing.T) {
	t.Parallel()
	d := newTold(t, true)
	before := d.hub.join("k")
	tell := <-d.begun
	_ = tell("a1")
	go func() { d.say <- nil }()
	d.tasks.end()
	if got := before.take(); !got.ended || got.err != nil || len(got.values) != 1 {
		t.Errorf("who looked before is told %+v", got)
	}
	after := d.hub.join("k")
	after.leave()
	if got := after.take(); !got.ended || got.err == nil {
		t.Errorf("who comes after is told %+v", got)
	}
	before.leave()
}
