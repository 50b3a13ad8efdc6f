package api

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"sp00ky.cloud/spky/wf"
)

// TestMetricsAreWellFormed reads what /metrics answers with as Prometheus does, beside a node's, and has
// promtool's linter look at it.
func TestMetricsAreWellFormed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	node := r.running(func(e *wf.Engine) { wf.Register(e, "ALPHA", threeSteps) })
	cfg := r.api.cfg
	cfg.Node, cfg.Metrics = node.Handler(), node.Metrics()
	r.serve(cfg)
	r.instance("counted")
	r.get("/jobs")
	r.get("/nothing")
	got := r.ask(asked{method: http.MethodGet, path: "/metrics", token: readSecret})
	if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
		t.Fatalf("%d %s", got.status, got.header.Get("Content-Type"))
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(got.text))
	r.check(err)
	for _, name := range []string{"spky_admin_requests_total", "spky_admin_request_seconds", "spky_admin_sign_in_failures_total", "spky_admin_streams", "spky_slots", "spky_jobs_started_total", "go_goroutines"} {
		if families[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	problems, err := promlint.New(strings.NewReader(got.text)).Lint()
	r.check(err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if !strings.Contains(got.text, `spky_admin_requests_total{operation="none",status="404"} 1`) {
		t.Error("a path that does not exist is counted otherwise than as none")
	}
}

// TestWhatTheNodeAnswers is served here as on the node's own address, what tells more than that it lives with
// a token.
func TestWhatTheNodeAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	node := r.running(func(e *wf.Engine) { wf.Register(e, "ALPHA", threeSteps) })
	cfg := r.api.cfg
	cfg.Node, cfg.Metrics = node.Handler(), node.Metrics()
	r.serve(cfg)
	for path, want := range map[string]int{"/health": 200, "/ready": 200, "/version": 200, "/info": 401} {
		if got := r.ask(asked{method: http.MethodGet, path: path}); got.status != want {
			t.Errorf("%s: %d %s", path, got.status, got.text)
		}
	}
	if got := r.ask(asked{method: http.MethodGet, path: "/info", token: readSecret}); !strings.Contains(got.text, `"entity":"ssp"`) {
		t.Errorf("/info: %d %s", got.status, got.text)
	}
}

// TestAPanicIsAnErrorLikeOthers: it is logged, told nobody, and ends nothing but its request.
func TestAPanicIsAnErrorLikeOthers(t *testing.T) {
	t.Parallel()
	for _, begun := range []bool{false, true} {
		r := newRig(t, func(c *Config) {
			c.MCP = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if begun {
					_, _ = w.Write([]byte("{"))
				}
				panic("told nobody")
			})
		})
		request, err := http.NewRequestWithContext(r.ctx, http.MethodPost, r.url+"/admin/api/mcp", nil)
		r.check(err)
		request.Header.Set("Authorization", "Bearer "+readSecret)
		answer, err := http.DefaultClient.Do(request)
		switch {
		case begun && err == nil:
			if _, err := io.ReadAll(answer.Body); err == nil {
				t.Error("half an answer looks whole")
			}
			answer.Body.Close()
		case !begun:
			r.check(err)
			text, err := io.ReadAll(answer.Body)
			r.check(err)
			answer.Body.Close()
			if got := (answered{answer.StatusCode, answer.Header, string(text)}); got.status != http.StatusInternalServerError || strings.Contains(got.text, "told nobody") || got.fault(t).Code != "internal" {
				t.Errorf("%d %s", got.status, got.text)
			}
		}
		if !strings.Contains(r.log.String(), "told nobody") {
			t.Errorf("the log has no panic: %s", r.log)
		}
		if got := r.get("/me"); got.status != http.StatusOK {
			t.Errorf("afterwards: %d", got.status)
		}
	}
}

func TestWithoutANodeItIsHealthyAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for path, want := range map[string]string{"/health": `{"status":"ready"}`, "/version": `{"version":"1.2.3"}`} {
		if got := r.ask(asked{method: http.MethodGet, path: path}); got.status != http.StatusOK || strings.TrimSpace(got.text) != want {
			t.Errorf("%s: %d %s", path, got.status, got.text)
		}
	}
}
