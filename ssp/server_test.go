package ssp

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"sp00ky.cloud/spky/surreal"
)

// ask sends a request to the node's own server and decodes the answer where it is JSON.
func (r *rig) ask(method, url, token, body string) (status int, decoded any, text string) {
	r.tb.Helper()
	req, err := http.NewRequestWithContext(r.ctx, method, url, strings.NewReader(body))
	if err != nil {
		r.tb.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		r.tb.Fatal(err)
	}
	_ = json.Unmarshal(all, &decoded)
	return resp.StatusCode, decoded, string(all)
}

// TestMetricsWhereTheConfigurationSays: beside the rest, at an address of their own, or nowhere.
func TestMetricsWhereTheConfigurationSays(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s, _ := held(t)
	for name, c := range map[string]struct {
		own, none        bool
		onMain, onTheirs int
	}{
		"beside the rest":    {onMain: 200},
		"their own address":  {own: true, onMain: 404, onTheirs: 200},
		"nowhere":            {none: true, onMain: 404},
		"nowhere, with both": {own: true, none: true, onMain: 404},
	} {
		address, own := freeAddress(t), freeAddress(t)
		n := r.start(s.backends(), func(cfg *Config) {
			if cfg.Listen, cfg.NoMetrics = address, c.none; c.own {
				cfg.MetricsListen = own
			}
		})
		if status, _, _ := r.ask("GET", "http://"+address+"/metrics", "", ""); status != c.onMain {
			t.Errorf("%s: /metrics beside /health answers %d, want %d", name, status, c.onMain)
		}
		if c.onTheirs == 0 {
			if conn, err := net.Dial("tcp", own); err == nil {
				_ = conn.Close()
				t.Errorf("%s: something listens at the address of the metrics", name)
			}
			n.stop()
			continue
		}
		if status, _, text := r.ask("GET", "http://"+own+"/metrics", "", ""); status != c.onTheirs || !strings.Contains(text, "spky_slots") {
			t.Errorf("%s: their own address answers %d: %.200s", name, status, text)
		}
		if status, _, _ := r.ask("GET", "http://"+own+"/info", "", ""); status != 404 {
			t.Errorf("%s: their own address answers %d to /info", name, status)
		}
		n.stop()
	}
}

func TestTheServerTellsTheTruth(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s, g := held(t)
	address := freeAddress(t)
	n := r.start(s.backends(), func(c *Config) { c.Listen, c.Version, c.AuthSecret = address, "1.2.3", "secret" })
	base := "http://" + address
	field := func(path, name string) any {
		_, decoded, _ := r.ask("GET", base+path, "", "")
		object, _ := decoded.(map[string]any)
		return object[name]
	}
	if status, _, text := r.ask("GET", base+"/health", "", ""); status != 200 || field("/health", "status") != "ready" {
		t.Errorf("health is %d %s", status, text)
	}
	if status, _, text := r.ask("GET", base+"/ready", "", ""); status != 200 || field("/ready", "ready") != true {
		t.Errorf("ready is %d %s", status, text)
	}
	if field("/version", "version") != "1.2.3" || field("/version", "mode") != "streaming" {
		t.Errorf("version is %v", field("/version", "version"))
	}
	_, info, text := r.ask("GET", base+"/info", "", "")
	if list, ok := info.([]any); !ok || len(list) != 1 || list[0].(map[string]any)["entity"] != "ssp" || list[0].(map[string]any)["id"] != n.ID() {
		t.Errorf("info is %s", text)
	}
	if strings.Contains(text, "secret") {
		t.Error("info tells the secret")
	}
	r.job("x", "/x", nil)
	r.eventually("it runs", func() bool { return g.inside.Load() == 1 })
	_, _, metrics := r.ask("GET", base+"/metrics", "", "")
	for _, line := range []string{
		`spky_jobs_started_total{backend="api"} 1`, `spky_slots_busy{backend="api"} 1`, `spky_slots{backend="api"} 16`, `spky_live_up{backend="api"} 1`,
		`spky_database_connected{connection="live"} 1`, `spky_circuit_open{backend="api"} 0`, `spky_jobs_failed_total{backend="api"} 0`, "spky_job_lateness_seconds_count{backend=\"api\"} 1",
		"spky_database_clock_offset_seconds", "go_goroutines", "process_open_fds",
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("metrics lack %s", line)
		}
	}
	n.cancel()
	r.eventually("it tells that it drains", func() bool {
		status, _, _ := r.ask("GET", base+"/ready", "", "")
		return status == 503 && field("/health", "status") == "draining"
	})
	if status, _, _ := r.ask("GET", base+"/health", "", ""); status != 200 {
		t.Errorf("health is %d while the node drains", status)
	}
	g.release()
	n.stop()
}

func TestWithoutADatabaseANodeLivesAndIsNotReady(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.cfg.Endpoint = "ws://" + freeAddress(t)
	address := freeAddress(t)
	r.launch(serve(t, nil).backends(), func(c *Config) { c.Listen = address })
	base := "http://" + address
	r.eventually("the server is up", func() bool {
		resp, err := http.Get(base + "/version")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	})
	status, decoded, text := r.ask("GET", base+"/health", "", "")
	if status != 200 || decoded.(map[string]any)["status"] != "bootstrapping" {
		t.Errorf("health is %d %s", status, text)
	}
	status, _, text = r.ask("GET", base+"/ready", "", "")
	if status != 503 || !strings.Contains(text, "down") {
		t.Errorf("ready is %d %s", status, text)
	}
}

// TestIngestIsOnlyAHint sends hints, true ones, false ones and broken ones.
func TestIngestIsOnlyAHint(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	address := freeAddress(t)
	n := r.start(s.backends(), func(c *Config) { c.Listen, c.AuthSecret = address, "secret" })
	url := "http://" + address + "/ingest"
	for token, want := range map[string]int{"": 401, "secret": 401, "Bearer ": 401, "Bearer wrong": 401, "bearer secret": 401, "Basic secret": 401, "Bearer secretx": 401, "Bearer secret": 200} {
		if status, _, text := r.ask("POST", url, token, `{"table":"job","op":"UPDATE","id":"job:none"}`); status != want || want == 401 && text != "" {
			t.Errorf("%q: %d %q, want %d", token, status, text, want)
		}
	}
	const good = "Bearer secret"
	for body, want := range map[string]int{
		"": 400, "x": 400, "[]": 400, "null": 400, `{"table":"job","op":"DROP","id":"job:1"}`: 400, `{}`: 400, `{"table":"job","op":"create","id":"job:1"}`: 400,
		`{"table":"job","op":"DELETE","id":"job:1"}`: 200, `{"table":"other","op":"CREATE","id":"other:1"}`: 200, `{"table":"job","op":"CREATE","id":"user:1"}`: 200,
		`{"table":"job","op":"CREATE","id":"` + "`" + `"}`: 200, `{"table":"job","op":"CREATE","id":"job:1; DELETE job"}`: 200,
		`{"table":"job","op":"CREATE","id":"job:none","record":{"path":"/never","status":"pending"},"hash":""}`: 200,
		`{"table":"job","op":"CREATE","id":"` + strings.Repeat("x", maxIngest) + `"}`:                           413,
	} {
		status, decoded, text := r.ask("POST", url, good, body)
		if status != want {
			t.Errorf("%.80s: %d %s, want %d", body, status, text, want)
		}
		if fault, ok := decoded.(map[string]any); status >= 400 && (!ok || fault["code"] == nil || fault["message"] == nil || fault["hint"] == nil) {
			t.Errorf("%.80s: %s is no code, message and hint", body, text)
		}
	}
	if status, _, _ := r.ask("GET", url, good, ""); status != 405 {
		t.Errorf("GET is %d", status)
	}
	// A hint makes a job start that nothing else announces: the feed is off, and the sweep far away.
	n.lanes[0].feed.pause(true)
	r.exec("LET $x = 1; CREATE job:hinted SET path = '/x'", nil)
	r.ask("POST", url, good, `{"table":"job","op":"CREATE","id":"job:hinted"}`)
	r.settled(surreal.NewRecordID("job", "hinted"), "success")
	if got := s.requests(); len(got) != 1 || got[0].Path != "/x" {
		t.Errorf("requests are %+v, want only that of the job", got)
	}
}
