package admin

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := NewCluster(ClusterConfig{DB: r.db, Backends: []config.Backend{{Name: "api", Table: "job"}, {Name: "idle"}}})
	if nodes, err := c.Nodes(r.ctx); err != nil || len(nodes) != 0 {
		t.Errorf("nodes %v, %v", nodes, err)
	}
	for n, row := range map[string]string{
		"old":   "heartbeat_at = time::now() - 11s, backends = [{ name: 'api', table: 'job', slots: 99, circuit: 'open' }]",
		"going": "heartbeat_at = time::now(), draining = true, backends = [{ name: 'api', table: 'job', slots: 4, busy: 1, circuit: 'closed', p99_ms: 2 }]",
		"up":    "heartbeat_at = time::now(), backends = [{ name: 'api', table: 'job', slots: 16, busy: 3, queued: 5, circuit: 'open', circuit_reason: 'refused', p50_ms: 1.5, attempts: 7 }, { name: 'other', table: 'other', circuit: 'closed' }]",
	} {
		r.exec("CREATE _00_node SET node = $n, host = 'h', pid = 1, version = 'v', started_at = time::now() - 1h, "+row, map[string]any{"n": n})
	}
	nodes, err := c.Nodes(r.ctx)
	r.check(err)
	var said []string
	for _, n := range nodes {
		said = append(said, n.Node+" "+n.State)
	}
	if want := []string{"up alive", "going draining", "old dead"}; !slices.Equal(said, want) {
		t.Errorf("nodes %q, want %q", said, want)
	}
	if nodes[0].UpMS < 3_600_000 || nodes[2].SilentMS < 11_000 {
		t.Errorf("nodes %s", pretty(t, nodes))
	}
	backends, err := c.Backends(r.ctx)
	r.check(err)
	want := `[{"name":"api","table":"job","nodes":["up","going"],"slots":20,"busy":4,"queued":5,"attempts":7,"failures":0,"p50_ms":1.5,"p99_ms":2,"circuit":"mixed","circuit_reason":"refused"},` +
		`{"name":"idle","nodes":[],"slots":0,"busy":0,"queued":0,"attempts":0,"failures":0,"p50_ms":0,"p99_ms":0,"circuit":"unknown"},` +
		`{"name":"other","table":"other","nodes":["up"],"slots":0,"busy":0,"queued":0,"attempts":0,"failures":0,"p50_ms":0,"p99_ms":0,"circuit":"closed"}]`
	if got := pretty(t, backends); got != want {
		t.Errorf("backends\n%s\nwant\n%s", got, want)
	}
	if !Served(nodes, "job") || !Served(nodes, "other") || Served(nodes[1:], "job") {
		t.Error("who serves what")
	}
}

func TestOverview(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, status := range []string{"success", "success", "failed", "cancelled", "processing", "processing", "pending", "pending", "pending"} {
		r.exec("CREATE job SET path = '/x', status = $status, delay = $delay, lease_until = IF $n = 4 { time::now() - 1s } ELSE IF $n = 5 { time::now() + 1h } ELSE { NONE }",
			map[string]any{"status": status, "n": i, "delay": map[bool]int{true: 3_600_000}[i == 8]})
	}
	for _, s := range Statuses() {
		r.exec("CREATE _00_wf_instance SET binding = 'ALPHA', job_table = 'job', status = $s, stalled_at = time::now()", map[string]any{"s": string(s)})
	}
	c := NewCluster(ClusterConfig{DB: r.db, Tables: []string{"job", "missing"}})
	o, err := c.Overview(r.ctx)
	r.check(err)
	if o.Jobs.OldestDue == nil || o.Now.IsZero() {
		t.Fatalf("overview %s", pretty(t, o))
	}
	o.Jobs.OldestDue = nil
	if want := (JobStats{Pending: 3, Processing: 2, Success: 2, Failed: 1, Cancelled: 1, Due: 2, Stalled: 1}); o.Jobs != want {
		t.Errorf("jobs %+v, want %+v", o.Jobs, want)
	}
	if want := (InstanceStats{Queued: 1, Running: 1, Waiting: 1, Paused: 1, Complete: 1, Errored: 1, Terminated: 1, Stalled: 3}); o.Instances != want {
		t.Errorf("instances %+v, want %+v", o.Instances, want)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := WithActor(r.ctx, Actor{Name: "ann", Via: "cli"})
	tokens := NewTokens(r.db)
	secret, token, err := tokens.Create(ctx, "agent", ScopeRead, 0)
	r.check(err)
	if got := token.ExpiresAt.Sub(token.CreatedAt); token.State != "valid" || token.Scope != ScopeRead || token.CreatedBy != "ann" || got.Round(DefaultTokenTTL) != DefaultTokenTTL {
		t.Errorf("created %+v", token)
	}
	if all := r.json("SELECT * FROM _00_admin_token, _00_audit", nil); strings.Contains(all, strings.SplitN(secret, "_", 3)[2]) {
		t.Errorf("the database knows the secret: %s", all)
	}
	for range 2 { // the second time from memory
		if who, err := tokens.Verify(r.ctx, secret); err != nil || who != (Identity{Token: token.ID, Label: "agent", Scope: ScopeRead}) {
			t.Errorf("verified %+v, %v", who, err)
		}
	}
	for _, wrong := range []string{"", "x", secret + "x", secret[:len(secret)-1], "spky_" + token.ID + "_", "spky__" + secret, strings.Replace(secret, token.ID, "nobody", 1), secret + strings.Repeat("x", 1000), "spky_a:b_" + strings.Repeat("x", 43), secret + "\xff"} {
		if who, err := tokens.Verify(r.ctx, wrong); !errors.Is(err, ErrToken) || who != (Identity{}) {
			t.Errorf("%q: %+v, %v", wrong, who, err)
		}
	}
	r.check(tokens.Revoke(ctx, secret)) // by itself
	if _, err := tokens.Verify(r.ctx, secret); !errors.Is(err, ErrToken) {
		t.Errorf("a revoked one: %v", err)
	}
	r.check(tokens.Revoke(ctx, token.ID))
	if err := tokens.Revoke(ctx, "nobody"); !errors.Is(err, ErrNotFound) {
		t.Errorf("revoke nobody's: %v", err)
	}
	expired, old, err := tokens.Create(ctx, "old", ScopeFull, DefaultTokenTTL)
	r.check(err)
	r.exec("DEFINE FIELD OVERWRITE expires_at ON _00_admin_token TYPE datetime; UPDATE type::record('_00_admin_token', $id) SET expires_at = time::now()", map[string]any{"id": old.ID})
	if _, err := tokens.Verify(r.ctx, expired); !errors.Is(err, ErrToken) {
		t.Errorf("an expired one: %v", err)
	}
	list, err := tokens.List(r.ctx)
	r.check(err)
	if len(list) != 2 || list[0].State != "expired" || list[1].State != "revoked" || list[1].LastUsedAt == nil {
		t.Errorf("tokens %s", pretty(t, list))
	}
	for says, make := range map[string]func() error{
		"label": func() error { _, _, err := tokens.Create(ctx, "a\nb", ScopeRead, 0); return err },
		"scope": func() error { _, _, err := tokens.Create(ctx, "a", "root", 0); return err },
		"365":   func() error { _, _, err := tokens.Create(ctx, "a", ScopeRead, MaxTokenTTL+1); return err },
	} {
		wants(t, says, make(), new(*InputError), says)
	}
	audit, err := NewAudit(r.db).List(r.ctx, AuditOptions{Action: "token."})
	r.check(err)
	var said []string
	for _, e := range audit.Entries {
		said = append(said, e.Action+" "+e.Actor+" "+e.Via+" "+e.Outcome)
	}
	if want := []string{"token.create ann cli done", "token.revoke ann cli not found", "token.revoke ann cli refused: revoked", "token.revoke ann cli done", "token.create ann cli done"}; !slices.Equal(said, want) {
		t.Errorf("audit %q, want %q", said, want)
	}
}

func TestAuditPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := NewAudit(r.db)
	if page, err := a.List(r.ctx, AuditOptions{}); err != nil || pretty(t, page) != `{"entries":[]}` {
		t.Errorf("an empty audit: %s, %v", pretty(t, page), err)
	}
	var want []string
	for i := range 25 {
		name := string(rune('a' + i))
		r.check(a.Record(WithActor(r.ctx, Actor{Name: "ann", Via: "api"}), "login", name, "done", ""))
		want = append([]string{name}, want...)
	}
	var got []string
	o := AuditOptions{Limit: 7}
	for {
		page, err := a.List(r.ctx, o)
		r.check(err)
		for _, e := range page.Entries {
			got = append(got, e.Target)
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("walked %v, want %v", got, want)
	}
	if page, err := a.List(r.ctx, AuditOptions{Target: "c", Actor: "ann"}); err != nil || len(page.Entries) != 1 || page.Entries[0].At.IsZero() {
		t.Errorf("filtered %s, %v", pretty(t, page), err)
	}
	_, err := a.List(r.ctx, AuditOptions{Cursor: "x.!"})
	wants(t, "cursor", err, new(*InputError), "cursor")
}
