package api

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/surreal"
)

// TestOnlyValidTokens tries every kind of token on a path that reads and one that changes something.
func TestOnlyValidTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.job("a")
	mint := func(label string, scope admin.Scope) (string, admin.Token) {
		t.Helper()
		secret, token, err := r.tokens.Create(r.ctx, label, scope, 0)
		r.check(err)
		return secret, token
	}
	full, _ := mint("full", admin.ScopeFull)
	read, _ := mint("read", admin.ScopeRead)
	revoked, row := mint("revoked", admin.ScopeFull)
	status := func(token, header, method, path string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(r.ctx, method, r.url+path, nil)
		r.check(err)
		if header == "" {
			header = "Bearer " + token
		}
		request.Header.Set("Authorization", header)
		answer, err := http.DefaultClient.Do(request)
		r.check(err)
		defer answer.Body.Close()
		return answer.StatusCode
	}
	const cancel = "/admin/api/jobs/nobody/cancel"
	if got := status(revoked, "", http.MethodGet, "/admin/api/jobs"); got != http.StatusOK {
		t.Fatalf("before it is revoked: %d", got)
	}
	r.check(r.tokens.Revoke(r.ctx, row.ID))
	expired, _, err := r.tokens.Create(r.ctx, "expired", admin.ScopeFull, time.Second)
	r.check(err)
	for status(expired, "", http.MethodGet, "/admin/api/me") == http.StatusOK {
		r.api.attempts = newAttempts()
		r.check(r.ctx.Err())
	}
	for name, c := range map[string]struct {
		token, header string
		read, write   int
	}{
		"the break-glass secret": {token: fullSecret, read: 200, write: 404},
		"a secret that may read": {token: readSecret, read: 200, write: 403},
		"a full token":           {token: full, read: 200, write: 404},
		"a read token":           {token: read, read: 200, write: 403},
		"lower case":             {header: "bearer " + full, read: 200, write: 404},
		"revoked":                {token: revoked, read: 401, write: 401},
		"expired":                {token: expired, read: 401, write: 401},
		"another secret":         {token: full[:len(full)-1] + "~", read: 401, write: 401},
		"basic":                  {header: "Basic " + full, read: 401, write: 401},
		"too long":               {token: strings.Repeat("x", 5000), read: 401, write: 401},
	} {
		if got := status(c.token, c.header, http.MethodGet, "/admin/api/jobs"); got != c.read {
			t.Errorf("%s: reading: %d, want %d", name, got, c.read)
		}
		if got := status(c.token, c.header, http.MethodPost, cancel); got != c.write {
			t.Errorf("%s: cancelling: %d, want %d", name, got, c.write)
		}
		r.api.attempts = newAttempts() // which is another test's
	}
}

func TestFailuresShutAnAddressOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ask := func(token string) answered {
		return r.ask(asked{method: http.MethodGet, path: "/admin/api/me", token: token})
	}
	for n := range maxFailures {
		if got := ask(fmt.Sprint("guess-", n)); got.status != http.StatusUnauthorized {
			t.Fatalf("guess %d: %d", n, got.status)
		}
		ask("") // no token is no guess
	}
	got := ask(fullSecret)
	if f := got.fault(t); got.status != http.StatusTooManyRequests || f.Code != "rate_limited" || got.header.Get("Retry-After") == "" {
		t.Fatalf("after %d failures: %d %+v", maxFailures, got.status, f)
	}
	entries, err := r.api.cfg.Audit.List(r.ctx, admin.AuditOptions{Action: "sign-in"})
	r.check(err)
	if len(entries.Entries) != 1 || !strings.HasPrefix(entries.Entries[0].Outcome, "refused") || entries.Entries[0].Actor == "unknown" || entries.Entries[0].Via != "api" {
		t.Errorf("the audit has %+v, want one row of the address", entries.Entries)
	}
	r.api.attempts.now = func() time.Time { return time.Now().Add(failureWindow) }
	if got := ask(fullSecret); got.status != http.StatusOK {
		t.Errorf("after the time is over: %d %s", got.status, got.text)
	}
}

func TestAttemptsAreBoundedAndApart(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a := newAttempts()
	a.now, a.most = func() time.Time { return now }, 100
	address := func(n int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 32)
	}
	for n := range 1000 {
		now = now.Add(time.Millisecond)
		a.failed(address(n))
	}
	if len(a.of) > 100 {
		t.Errorf("%d addresses are remembered", len(a.of))
	}
	for range maxFailures {
		a.failed(address(2000))
	}
	if a.shut(address(2000)) <= 0 || a.shut(address(999)) > 0 {
		t.Error("the wrong address is shut out")
	}
	now = now.Add(failureWindow)
	if a.shut(address(2000)) > 0 {
		t.Error("it is shut out for ever")
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"10.1.2.3:4":               "10.1.2.3/32",
		"[::ffff:10.1.2.3]:4":      "10.1.2.3/32",
		"[2001:db8:1:2:3:4:5:6]:7": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:7":         "fe80::/64",
		"@":                        "invalid Prefix",
	} {
		r := &http.Request{RemoteAddr: from, Header: http.Header{"X-Forwarded-For": {"1.1.1.1"}}}
		if got := addressOf(r).String(); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}

func TestOffLoopbackItWantsASecret(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:9668"} {
		if _, err := New(Config{Listen: listen}); err == nil || !strings.Contains(err.Error(), "SPKY_AUTH_SECRET") {
			t.Errorf("%s: %v", listen, err)
		}
	}
}

func TestShortSecretsAreTold(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]bool{"sesame": true, "a-long-and-random-one": false} {
		r := newRig(t, func(c *Config) { c.Listen, c.Secrets = "0.0.0.0:0", []Secret{{"root", scopeFull, token}} })
		if text := r.log.String(); strings.Contains(text, "is short") != want || strings.Contains(text, token) {
			t.Errorf("of %s the log says %s", token, text)
		}
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, q := range []asked{
		{method: http.MethodGet, path: "/"},
		{method: http.MethodGet, path: "/admin/api/nothing", token: fullSecret},
		{method: http.MethodGet, path: "/admin/api/me", token: readSecret},
		{method: http.MethodGet, path: "/admin/api/openapi.json"},
		{method: http.MethodOptions, path: "/admin/api/jobs", token: fullSecret},
		{method: http.MethodGet, path: "/metrics", token: readSecret},
	} {
		got := r.ask(q)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Cross-Origin-Resource-Policy": "same-origin",
			"Access-Control-Allow-Origin": "", "Set-Cookie": "",
		} {
			if have := got.header.Get(name); have != want {
				t.Errorf("%s %s: %s is %q", q.method, q.path, name, have)
			}
		}
	}
}

// TestNothingWithoutAToken asks for what is not the API's table without a token: it is not told whether a
// path exists.
func TestNothingWithoutAToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for path, want := range map[string]int{
		"/admin/api/nothing": 401, "/admin/api/jobs/../../metrics": 307, "/metrics": 401, "/admin/api/jobs": 401, "/nothing": 404, "/admin/api/mcp": 401,
		"/admin/api/config": 200,
	} {
		if got := r.ask(asked{method: http.MethodGet, path: path}); got.status != want {
			t.Errorf("%s: %d, want %d", path, got.status, want)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodTrace} {
		if got := r.ask(asked{method: method, path: "/admin/api/jobs"}); got.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", method, got.status)
		}
	}
}

// TestTheDatabaseIsAway: who comes with a secret of the configuration is let in, and told.
func TestTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cfg := r.cfg
	cfg.Endpoint = "ws://127.0.0.1:1"
	away, err := surreal.New(cfg)
	r.check(err)
	r.serve(Config{
		Durable: admin.NewDurable(admin.DurableConfig{DB: away}), Jobs: admin.NewJobs(admin.JobsConfig{DB: away, Tables: []string{"job"}}),
		Explainer: admin.NewExplainer(admin.ExplainConfig{DB: away}), Cluster: admin.NewCluster(admin.ClusterConfig{DB: away}),
		Tokens: admin.NewTokens(away), Audit: admin.NewAudit(away), Timeout: 100 * time.Millisecond, Secrets: []Secret{{"root", scopeFull, fullSecret}},
	})
	for _, c := range []struct {
		token, path string
		status      int
	}{
		{fullSecret, "/me", 200},
		{fullSecret, "/jobs", 503},
		{fullSecret, "/overview", 503},
		{"spky_aaaaaaaaaaaaaaaa_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "/me", 503},
	} {
		got := r.ask(asked{method: http.MethodGet, path: "/admin/api" + c.path, token: c.token})
		if got.status != c.status {
			t.Errorf("%s: %d, want %d: %s", c.path, got.status, c.status, got.text)
		}
		if c.status == 503 {
			if f := got.fault(t); f.Code != "database_unavailable" || got.header.Get("Retry-After") == "" {
				t.Errorf("%s: %+v", c.path, f)
			}
		}
	}
}

// TestTheAuditKnowsWhoAndHow acts with several tokens and through several surfaces.
func TestTheAuditKnowsWhoAndHow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	secret, _, err := r.tokens.Create(r.ctx, "the agent", admin.ScopeFull, 0)
	r.check(err)
	id := r.job("audited")
	if got := r.post("/jobs/audited/cancel", ""); got.status != http.StatusOK {
		t.Fatal(got.text)
	}
	refused := r.ask(asked{method: http.MethodPost, path: "/admin/api/jobs/audited/cancel", token: secret})
	if f := refused.fault(t); refused.status != http.StatusConflict || f.Code != "state" || f.State != "cancelled" || f.Kind != "job" || len(f.Possible) == 0 {
		t.Errorf("%d %+v", refused.status, f)
	}
	entries := r.get("/audit?action=job.cancel").text
	for _, want := range []string{
		`"actor":"root","via":"api","action":"job.cancel","target":"` + id + `","outcome":"done"`,
		`"actor":"the agent","via":"api","action":"job.cancel","target":"` + id + `","outcome":"refused: cancelled"`,
	} {
		if !strings.Contains(entries, want) {
			t.Errorf("the audit has no %s: %s", want, entries)
		}
	}
}
