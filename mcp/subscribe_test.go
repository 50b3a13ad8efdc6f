package mcp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sp00ky.cloud/spky/admin"
)

func TestSubscribe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, c := range map[string]*client{"streams": r.connect(admin.ScopeRead), "older streams": r.speaking(admin.ScopeRead, legacy), "HTTP": r.overHTTP(admin.ScopeRead, newest)} {
		t.Run(name, func(t *testing.T) {
			id := r.create("")
			uri := "spky://instances/" + id
			c.check(c.session.Subscribe(c.ctx, &sdk.SubscribeParams{URI: uri}))
			r.server.watches(t, 1)
			if _, err := r.durable.Pause(r.ctx, id); err != nil {
				t.Fatal(err)
			}
			c.moved(uri)
			if got := c.read(uri).Instance.Status; got != "paused" {
				t.Errorf("read %s after the news, want paused", got)
			}
			if _, err := r.durable.Terminate(r.ctx, id); err != nil {
				t.Fatal(err)
			}
			c.moved(uri)
			c.check(c.session.Unsubscribe(c.ctx, &sdk.UnsubscribeParams{URI: uri}))
			r.server.watches(t, 0)
		})
	}
}

// TestSubscriptionsEnd shows that nothing is watched for a client that has gone.
func TestSubscriptionsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	one, other := r.speaking(admin.ScopeRead, legacy), r.connect(admin.ScopeRead)
	for _, id := range []string{"a", "b"} {
		r.create(id)
		one.check(one.session.Subscribe(r.ctx, &sdk.SubscribeParams{URI: "spky://instances/" + id}))
	}
	other.check(other.session.Subscribe(r.ctx, &sdk.SubscribeParams{URI: "spky://instances/a"}))
	other.check(other.session.Subscribe(r.ctx, &sdk.SubscribeParams{URI: "spky://instances/a"}))
	r.server.watches(t, 2)
	one.hangUp()
	r.server.watches(t, 1)
	if _, err := r.durable.Pause(r.ctx, "a"); err != nil {
		t.Fatal(err)
	}
	other.moved("spky://instances/a")
	other.hangUp()
	r.server.watches(t, 0)
	third := r.overHTTP(admin.ScopeRead, newest)
	third.check(third.session.Subscribe(r.ctx, &sdk.SubscribeParams{URI: "spky://instances/b"}))
	r.server.watches(t, 1)
	third.hangUp()
	r.server.watches(t, 0)
}

// TestClose shows that nothing is left once Close has returned.
func TestClose(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create("a")
	for _, c := range []*client{r.speaking(admin.ScopeRead, legacy), r.overHTTP(admin.ScopeRead, newest)} {
		c.check(c.session.Subscribe(r.ctx, &sdk.SubscribeParams{URI: "spky://instances/a"}))
		r.server.watches(t, 1)
	}
	r.server.Close()
	if n := len(r.server.subs.sessions) + len(r.server.subs.watched); n > 0 {
		t.Errorf("%d sessions and watched resources are left", n)
	}
}

func TestSubscriptionsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.speaking(admin.ScopeRead, legacy) // whose subscriptions have answers
	wants := func(c *client, uri, says string) {
		t.Helper()
		if err := c.session.Subscribe(r.ctx, &sdk.SubscribeParams{URI: uri}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("subscribe to %s: %v, want %q", uri, err, says)
		}
	}
	wants(c, "spky://instances/nobody", "not found")
	wants(c, "spky://instances/", "no id")
	wants(c, "file:///etc/passwd", "no resource")
	r.create("a")
	older := r.overHTTP(admin.ScopeRead, legacy)
	wants(older, "spky://instances/a", "2026-07-28")
	if older.session.InitializeResult().Capabilities.Resources.Subscribe || !c.session.InitializeResult().Capabilities.Resources.Subscribe {
		t.Error("who may subscribe is told that he may not, or the other way round")
	}
	for n := range maxPerSession {
		id := r.create("n" + strings.Repeat("x", n))
		c.check(c.session.Subscribe(r.ctx, &sdk.SubscribeParams{URI: "spky://instances/" + id}))
	}
	wants(c, "spky://instances/a", "unsubscribe from others")
}

// TestRestartedInstance shows that an instance that had ended is followed again by whoever asks again.
func TestRestartedInstance(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.speaking(admin.ScopeRead, legacy)
	r.create("a")
	uri := "spky://instances/a"
	c.check(c.session.Subscribe(r.ctx, &sdk.SubscribeParams{URI: uri}))
	_, err := r.durable.Terminate(r.ctx, "a")
	r.check(err)
	c.moved(uri)
	r.server.eventually(t, "the watch to end", func(all *subscriptions) bool { return all.watched[uri].ended })
	_, err = r.durable.Restart(r.ctx, "a")
	r.check(err)
	c.check(c.session.Subscribe(r.ctx, &sdk.SubscribeParams{URI: uri}))
	_, err = r.durable.Pause(r.ctx, "a")
	r.check(err)
	c.moved(uri)
}

// watches waits until the server watches so many resources.
func (s *Server) watches(t *testing.T, n int) {
	t.Helper()
	s.eventually(t, "watches", func(all *subscriptions) bool { return len(all.watched) == n })
}

func (s *Server) eventually(t *testing.T, what string, is func(*subscriptions) bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(testPatience); ; {
		s.subs.mu.Lock()
		done := is(s.subs)
		s.subs.mu.Unlock()
		if done {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited for %s", what)
		}
	}
}

// read reads a resource.
func (c *client) read(uri string) instanceOut {
	c.t.Helper()
	result, err := c.session.ReadResource(c.ctx, &sdk.ReadResourceParams{URI: uri})
	c.check(err)
	var out instanceOut
	c.check(json.Unmarshal([]byte(result.Contents[0].Text), &out))
	return out
}
