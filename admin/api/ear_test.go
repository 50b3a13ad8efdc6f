package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A spoken is an ear that a test speaks into.
type spoken struct {
	reader *reader[string]
	left   atomic.Bool
}

func newSpoken() *spoken {
	s := &spoken{reader: newReader[string]()}
	s.reader.leave = func() { s.left.Store(true) }
	return s
}

func (s *spoken) say(v string) { s.reader.offer(v, v) }

// A counter counts the hints that are written to it.
type counter struct {
	header http.Header
	hints  atomic.Int64
}

func (c *counter) Header() http.Header { return c.header }
func (c *counter) WriteHeader(int)     {}
func (c *counter) FlushError() error   { return nil }
func (c *counter) Write(p []byte) (int, error) {
	c.hints.Add(int64(strings.Count(string(p), "event: changed")))
	return len(p), nil
}

// hints runs hinting beside, and answers with how many hints there were, and with what ended it.
func hints(ctx context.Context, h hinting, thing, signs *spoken) (count func() int, ended <-chan error) {
	answer := &counter{header: http.Header{}}
	h.out = newStream(answer)
	done := make(chan error, 1)
	go func() {
		done <- h.run(ctx, earOf(thing.reader, func(v string) bool { return v != "other" }), earOf(signs.reader, nil))
	}()
	return func() int {
		synctest.Wait()
		return int(answer.hints.Load())
	}, done
}

// TestHintsAreFewAndNoneIsMissing counts hints at what happens.
func TestHintsAreFewAndNoneIsMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		thing, signs := newSpoken(), newSpoken()
		var made atomic.Int64
		more := make(chan struct{})
		count, ended := hints(ctx, hinting{gap: time.Second, topic: Topic{Before: func(context.Context) { made.Add(1) }, More: func() <-chan struct{} { return more }}}, thing, signs)
		counts := func(what string, want int) {
			t.Helper()
			if got := count(); got != want || int(made.Load()) != want {
				t.Errorf("%s: %d hints, made %d times, want %d", what, got, made.Load(), want)
			}
		}
		time.Sleep(time.Hour)
		counts("nothing happens", 0)
		thing.say("other")
		counts("something else happens", 0)
		thing.say("a")
		counts("something happens", 1)
		for range 500 {
			thing.say("a")
			thing.say("b")
			time.Sleep(time.Millisecond)
		}
		counts("much happens at once", 1)
		time.Sleep(501 * time.Millisecond)
		counts("which is told", 2)
		time.Sleep(time.Hour)
		counts("once", 2)
		signs.say("a token")
		counts("a token changes", 3)
		time.Sleep(time.Minute)
		synctest.Wait()
		was := more
		more = make(chan struct{})
		close(was)
		counts("what no table tells", 4)
		time.Sleep(time.Hour)
		counts("once", 4)
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) || !thing.left.Load() || signs.left.Load() {
			t.Errorf("it ended with %v; left %v, %v", err, thing.left.Load(), signs.left.Load())
		}
	})
}

// TestHintsAtWhatHasEnded looks until it begins anew.
func TestHintsAtWhatHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		thing, signs := newSpoken(), newSpoken()
		anew, trouble := false, error(nil) // each is set before somebody speaks
		count, ended := hints(t.Context(), hinting{gap: time.Second, until: func() (bool, error) { return anew, trouble }}, thing, signs)
		for _, c := range []struct {
			what string
			say  *spoken
			want int
		}{{"its row is written", thing, 0}, {"a token changes", signs, 1}} {
			c.say.say("a")
			if got := count(); got != c.want {
				t.Errorf("%s: %d hints, want %d", c.what, got, c.want)
			}
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		trouble = errors.New("away")
		thing.say("a")
		if got := count(); got != 2 {
			t.Errorf("nobody knows: %d hints", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		anew, trouble = true, nil
		thing.say("a")
		if err := <-ended; err != nil || count() != 3 {
			t.Errorf("it begins anew: %v, %d hints", err, count())
		}
	})
}
