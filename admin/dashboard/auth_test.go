package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
)

// stranger is a client who has not signed in.
func (r *rig) stranger() *client {
	return &client{rig: r, http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// everyPage are the addresses that a GET can have.
var everyPage = []string{
	"/admin/", "/admin/jobs", "/admin/jobs/job:one", "/admin/jobs/job:one/value?of=payload", "/admin/workflows", "/admin/workflows/INGEST", "/admin/instances",
	"/admin/instances/one", "/admin/instances/one/step?kind=do&name=a", "/admin/instances/one/value?of=params", "/admin/schedules", "/admin/schedules/s", "/admin/nodes", "/admin/audit",
	"/admin/nowhere",
}

// everyAction are the addresses that change something.
var everyAction = []string{
	"/admin/bulk/jobs/retry", "/admin/bulk/jobs/cancel", "/admin/bulk/instances/retry", "/admin/bulk/instances/pause", "/admin/bulk/instances/resume",
	"/admin/bulk/instances/terminate", "/admin/jobs/job:one/cancel", "/admin/jobs/job:one/retry", "/admin/instances/one/pause", "/admin/instances/one/resume",
	"/admin/instances/one/terminate", "/admin/instances/one/restart", "/admin/instances/one/retry", "/admin/instances/one/send-event",
	"/admin/workflows/INGEST/instances", "/admin/schedules/s/pause", "/admin/schedules/s/resume", "/admin/schedules/s/trigger", "/admin/schedules/s/release",
}

func TestNothingWithoutASession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.stranger()
	for _, path := range everyPage {
		answer := c.get(path)
		if to := answer.header.Get("Location"); answer.status != http.StatusSeeOther || !strings.HasPrefix(to, "/admin/login") || strings.Contains(answer.text, "<nav") {
			t.Errorf("GET %s: %d to %q %s", path, answer.status, to, answer.text)
		}
		scripted := c.ask(http.MethodGet, path, nil, "Hx-Request", "true")
		if scripted.status != http.StatusUnauthorized || !strings.HasPrefix(scripted.header.Get("Hx-Redirect"), "/admin/login") {
			t.Errorf("GET %s by a script: %d %v", path, scripted.status, scripted.header)
		}
	}
	for _, path := range append([]string{"/admin/logout"}, everyAction...) {
		if answer := c.ask(http.MethodPost, path, url.Values{"csrf": {"x"}}); answer.status != http.StatusSeeOther || !strings.HasPrefix(answer.header.Get("Location"), "/admin/login") {
			t.Errorf("POST %s: %d %v", path, answer.status, answer.header)
		}
	}
	if answer := c.get("/admin/live/instances"); answer.status != http.StatusUnauthorized {
		t.Errorf("the stream: %d", answer.status)
	}
	// A bearer token is for the API, and a cookie is for the pages.
	if answer := c.ask(http.MethodGet, "/admin/jobs", nil, "Authorization", "Bearer "+fullSecret); answer.status != http.StatusSeeOther {
		t.Errorf("with a bearer token: %d", answer.status)
	}
	if answer := r.client(fullSecret).get("/admin/api/jobs"); answer.status != http.StatusUnauthorized {
		t.Errorf("the API with a cookie: %d %s", answer.status, answer.text)
	}
}

func TestSigningIn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.stranger()
	for _, next := range []string{"https://evil.example.com/admin/", "//evil.example.com/admin/", `/admin/\evil`, "javascript:alert(1)", "/elsewhere", "/admin/../x", ""} {
		answer := c.ask(http.MethodPost, "/admin/login", url.Values{"token": {fullSecret}, "next": {next}})
		if to := answer.header.Get("Location"); answer.status != http.StatusSeeOther || to != "/admin/" {
			t.Errorf("next %q leads to %q (%d)", next, to, answer.status)
		}
	}
	answer := c.ask(http.MethodPost, "/admin/login", url.Values{"token": {" " + fullSecret + "\n"}, "next": {"/admin/jobs?status=failed"}})
	cookie := answer.header.Get("Set-Cookie")
	for _, part := range []string{"spky_session_" + must(url.Parse(r.url)).Port() + "=", "HttpOnly", "SameSite=Strict", "Path=/admin"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie has no %s: %s", part, cookie)
		}
	}
	if answer.header.Get("Location") != "/admin/jobs?status=failed" || strings.Contains(cookie, fullSecret) {
		t.Errorf("to %s with %s", answer.header.Get("Location"), cookie)
	}
	over := c.ask(http.MethodPost, "/admin/login", url.Values{"token": {fullSecret}}, "X-Forwarded-Proto", "https")
	if !strings.Contains(over.header.Get("Set-Cookie"), "Secure") {
		t.Errorf("over TLS the cookie is %s", over.header.Get("Set-Cookie"))
	}
}

func TestGuessersAreShutOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.stranger()
	for n := range 10 {
		if answer := c.ask(http.MethodPost, "/admin/login", url.Values{"token": {"guess"}}); answer.status != http.StatusUnauthorized || !strings.Contains(answer.text, "not valid") {
			t.Fatalf("guess %d: %d %s", n, answer.status, answer.text)
		}
	}
	answer := c.ask(http.MethodPost, "/admin/login", url.Values{"token": {fullSecret}})
	if answer.status != http.StatusTooManyRequests || answer.header.Get("Retry-After") == "" || answer.header.Get("Set-Cookie") != "" {
		t.Errorf("after ten guesses: %d %v", answer.status, answer.header)
	}
	if answer := c.ask(http.MethodGet, "/admin/api/jobs", nil, "Authorization", "Bearer "+fullSecret); answer.status != http.StatusTooManyRequests {
		t.Errorf("the API after ten guesses at the login: %d", answer.status)
	}
}

func TestASessionEndsWithItsToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	secret, token, err := r.tokens.Create(r.ctx, "for a while", admin.ScopeFull, time.Hour)
	r.check(err)
	c := r.client(secret)
	if answer := c.get("/admin/jobs"); answer.status != http.StatusOK || !strings.Contains(answer.text, "for a while") {
		t.Fatalf("signed in: %d", answer.status)
	}
	r.check(r.tokens.Revoke(r.ctx, token.ID))
	if answer := c.get("/admin/jobs"); answer.status != http.StatusSeeOther || !strings.Contains(answer.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("after it was revoked: %d %v", answer.status, answer.header)
	}
}

func TestSigningOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(fullSecret)
	csrf, kept := c.csrf(), c.http.Jar.Cookies(must(url.Parse(r.url+"/admin/")))
	if answer := c.ask(http.MethodPost, "/admin/logout", url.Values{"csrf": {csrf}}); answer.status != http.StatusSeeOther {
		t.Fatalf("sign out: %d %s", answer.status, answer.text)
	}
	c.http.Jar.SetCookies(must(url.Parse(r.url+"/admin/")), kept) // somebody kept it
	if answer := c.get("/admin/"); answer.status != http.StatusSeeOther {
		t.Errorf("with the cookie of before: %d", answer.status)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestFormsOfOthersAreRefused posts what a page of somebody else could.
func TestFormsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create("MAIL", "one", `{}`)
	c := r.client(fullSecret)
	csrf := c.csrf()
	other := r.client(fullSecret).csrf()
	if csrf == other {
		t.Error("two sessions have one CSRF token")
	}
	for name, ask := range map[string]func(string) answered{
		"no token":        func(path string) answered { return c.ask(http.MethodPost, path, url.Values{}) },
		"another's token": func(path string) answered { return c.ask(http.MethodPost, path, url.Values{"csrf": {other}}) },
		"in the address":  func(path string) answered { return c.ask(http.MethodPost, path+"?csrf="+csrf, url.Values{}) },
		"from elsewhere": func(path string) answered {
			return c.ask(http.MethodPost, path, url.Values{"csrf": {csrf}}, "Sec-Fetch-Site", "cross-site")
		},
		"of another origin": func(path string) answered {
			return c.ask(http.MethodPost, path, url.Values{"csrf": {csrf}}, "Origin", "https://evil.example.com")
		},
		"of another browser": func(path string) answered {
			return c.ask(http.MethodPost, path, url.Values{"csrf": {csrf}}, "Sec-Fetch-Site", "same-site")
		},
	} {
		for _, path := range append([]string{"/admin/logout"}, everyAction...) {
			if answer := ask(path); answer.status != http.StatusForbidden {
				t.Errorf("%s, POST %s: %d", name, path, answer.status)
			}
		}
	}
	if answer := c.ask(http.MethodPost, "/admin/login", url.Values{"token": {fullSecret}}, "Sec-Fetch-Site", "cross-site"); answer.status != http.StatusForbidden {
		t.Errorf("a login from elsewhere: %d", answer.status)
	}
	if i, err := r.durable.Get(r.ctx, "one"); err != nil || i.Status != "queued" {
		t.Errorf("the instance is %s, %v", i.Status, err)
	}
	for _, path := range everyAction { // nothing changes by a GET
		if answer := c.get(path); answer.status == http.StatusOK && strings.HasPrefix(path, "/admin/instances") {
			t.Errorf("GET %s: %d", path, answer.status)
		}
	}
}

// TestReadersSeeNoActions, and are refused them.
func TestReadersSeeNoActions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create("INGEST", "one", `{}`)
	r.job(admin.NewJob{ID: "one", Path: "/work"})
	c := r.client(readSecret)
	csrf := c.csrf()
	for _, path := range everyPage {
		text := c.get(path).text
		for _, sign := range []string{`hx-post`, `action="/admin/instances/one/`, `action="/admin/jobs/`, "formaction", `popovertarget="send-event"`, `type="checkbox" name="id"`, "Create instance"} {
			if strings.Contains(text, sign) {
				t.Errorf("%s shows %s to a reader", path, sign)
			}
		}
	}
	if full := r.client(fullSecret).get("/admin/instances/one").text; !strings.Contains(full, "hx-post") {
		t.Errorf("whoever may act sees no actions: %s", full)
	}
	for _, path := range everyAction {
		if answer := c.ask(http.MethodPost, path, url.Values{"csrf": {csrf}, "id": {"one"}, "count": {"1"}, "type": {"t"}}); answer.status != http.StatusForbidden || !strings.Contains(answer.text, "scope full") {
			t.Errorf("POST %s: %d", path, answer.status)
		}
	}
	audit, err := r.audit.List(r.ctx, admin.AuditOptions{Actor: "viewer"})
	if err != nil || len(audit.Entries) > 0 {
		t.Errorf("the audit has of the reader: %+v, %v", audit.Entries, err)
	}
}
