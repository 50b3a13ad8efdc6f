package api

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// hostile are texts that somebody may put where an id, a name or a filter belongs, escaped for a URL.
func hostile() []string {
	all := []string{"%00", "a%00b", "%ff%fe", "%2e%2e", "%2e%2e%2fmetrics", "job:%ff", "%F0%9F%92%A9", "%25s%25n"}
	for _, text := range []string{
		"' OR true; DELETE job; --", "job:", ":", "job:⟨", "job:`", "job:[1, 2]", "job:{a: 1}", "job:rand()", "job:1..2", "user:root", "_00_admin_token:x",
		"<script>", "\r\nX-Evil: 1", strings.Repeat("x", 20_000), strings.Repeat("[", 5000), "job:" + strings.Repeat("y", 9000), "type::record('job','a')", "$auth", "-1", "NaN",
	} {
		all = append(all, url.PathEscape(text))
	}
	return all
}

// TestHostileTexts puts them into every path and query: nothing is found, nothing done, nothing fails inside.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.job("kept")
	r.instance("kept")
	d := r.document()
	for path, operations := range d.Paths {
		for method, op := range operations {
			if _, streams := op.Responses["200"].Content["text/event-stream"]; streams && !strings.Contains(path, "{") {
				continue
			}
			for _, text := range hostile() {
				var asks []string
				if strings.Contains(path, "{") {
					asks = append(asks, variable.ReplaceAllLiteralString(path, text))
				}
				for _, p := range op.Parameters {
					if p.In == "query" && method == "get" && !strings.Contains(path, "{") {
						asks = append(asks, path+"?"+p.Name+"="+text)
					}
				}
				for _, address := range asks {
					got := r.ask(asked{method: strings.ToUpper(method), path: address, token: fullSecret})
					switch {
					case got.status >= 500, got.header.Get("X-Evil") != "":
						t.Errorf("%s %.150s: %d %s; the log: %s", method, address, got.status, got.text, r.log)
					case got.status >= 400:
						got.fault(t)
					case strings.Contains(path, "{"):
						t.Errorf("%s %.150s: %d %.300s", method, address, got.status, got.text)
					}
				}
			}
		}
	}
	if got := r.json("SELECT VALUE count() FROM job GROUP ALL", nil) + r.json("SELECT VALUE status FROM _00_wf_instance", nil); got != `[{"count":2}]["queued"]` {
		t.Errorf("afterwards there is %s", got)
	}
}

// TestHostileBodies sends bodies that fit, by their form or not at all.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.instance("kept")
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	bodies := []string{
		"null", "[]", "5", `"x"`, "{}", "{", "{}{}", "{} x", `{"path": 5}`, `{"path": "/a", "payload": ` + deep + `}`, deep, `{"path": "/a", "unknown": 1}`,
		`{"path": "/a", "delay": 1e400}`, `{"path": "/a", "delay": -1}`, `{"path": "/a", "max_retries": 99999999999999999999}`, "{\"path\": \"/a\xff\"}", "{\"path\": \"/\\ud800\"}",
		`{"path": "/a", "id": "user:1"}`, `{"path": "/a", "id": "job:⟨"}`, `{"path": "http://evil/"}`, `{"path": "//evil"}`, `{"path": "/a", "table": "_00_admin_token"}`,
		`{"path": "/a", "assigned_to": "x"}`, `{"params": ` + deep + `}`, `{"owner": "⟨"}`, `{"id": "` + strings.Repeat("x", 101) + `"}`, `{"label": "", "scope": "root"}`,
		`{"label": "` + strings.Repeat("x", 5000) + `", "scope": "full"}`, `{"label": "a\u0000b", "scope": "full"}`, `{"label": "a", "scope": "full", "ttl_days": 366}`,
		`{"label": "a", "scope": "full", "ttl_days": -1}`, `{"table": "_00_audit", "all": true}`, `{"table": "job; DELETE user"}`, "\xef\xbb\xbf{}",
	}
	for _, path := range []string{"/jobs", "/jobs/clear", "/tokens", "/durable/workflows/ALPHA/instances", "/durable/instances/kept/events/go"} {
		for _, body := range bodies {
			got := r.ask(asked{method: http.MethodPost, path: "/admin/api" + path, token: fullSecret, body: body})
			if got.status >= 500 {
				t.Errorf("%s %.120s: %d %s", path, body, got.status, got.text)
			}
			if strings.Contains(got.text, "Go ") {
				t.Errorf("%s %.120s is answered in words of the code: %s", path, body, got.text)
			}
			if got.status >= 400 {
				got.fault(t)
			}
		}
	}
}

// TestVerbsWithoutABodyTakeNone sends all verbs that take none one that says something, and one that does not.
func TestVerbsWithoutABodyTakeNone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tried := 0
	for path, operations := range r.document().Paths {
		for method, op := range operations {
			if method == "get" || op.Body != nil || strings.HasSuffix(path, "/mcp") {
				continue
			}
			tried++
			for body, want := range map[string]int{`{"step": "one"}`: http.StatusUnprocessableEntity, `["x"]`: http.StatusUnprocessableEntity, `{`: http.StatusBadRequest, `{}`: 0, "": 0} {
				got := r.ask(asked{method: strings.ToUpper(method), path: variable.ReplaceAllLiteralString(path, "nothing"), token: fullSecret, body: body})
				if want != 0 && got.status != want || want == 0 && (got.status == http.StatusUnprocessableEntity || got.status == http.StatusBadRequest) {
					t.Errorf("%s %s with %q: %d %s", method, path, body, got.status, got.text)
				}
			}
		}
	}
	if tried < 15 {
		t.Errorf("%d verbs take no body", tried)
	}
}
