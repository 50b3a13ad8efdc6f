package ssp

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// TestReportJ27RedirectsAreNeverFollowed has a backend that sends every kind of redirect to another
// host: nobody else must see the job or the token.
func TestReportJ27RedirectsAreNeverFollowed(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	elsewhere := serve(t, nil)
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		var status int
		_, _ = fmt.Sscanf(q.URL.Path, "/%d", &status)
		w.Header().Set("Location", elsewhere.URL+"/stolen")
		if strings.HasSuffix(q.URL.Path, "/loop") {
			w.Header().Set("Location", q.URL.Path)
		}
		w.WriteHeader(status)
	})
	r.start(s.backends(func(b *config.Backend) { b.AuthToken = config.NewSecret("secret-token") }))
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, path := range []string{fmt.Sprintf("/%d", status), fmt.Sprintf("/%d/loop", status)} {
			row := r.settled(r.job(path, path, map[string]any{"max_retries": 2}), "failed")
			if want := fmt.Sprintf("%d %d", status, status); row.codes() != want || !strings.Contains(row.Errors[0].Reason, "redirect") {
				t.Errorf("%s: errors %+v, want %s", path, row.Errors, want)
			}
			if got := len(s.requests(path)); got != 2 {
				t.Errorf("%s: %d requests, want 2", path, got)
			}
		}
	}
	if got := elsewhere.requests(); len(got) > 0 {
		t.Errorf("another host received %+v", got)
	}
}

// TestPathsThatLeadElsewhereAreRefused writes paths as an end user could. None may reach any server.
func TestPathsThatLeadElsewhereAreRefused(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	elsewhere, s := serve(t, nil), serve(t, nil)
	host := strings.TrimPrefix(elsewhere.URL, "http://")
	n := r.start(s.backends(func(b *config.Backend) { b.BaseURL.Path = "/base" }))
	paths := []string{
		"", "relative", "x/y", "http://" + host + "/x", "//" + host + "/x", "///" + host, `/\` + host, `\\` + host,
		"/..", "/../x", "/a/../../x", "/a/..", "/%2e%2e/x", "/%2E./x", "/.%2e/x", "/..%2fx", "/..\\x", "/%5c..%5cx", "/./x", "/a/.",
		"/__spky", "/__spky/", "/__spky/workflow/x", "/__SPKY/x", "/%5f%5fspky/x", "/__spky%2fx", "/%2f__spky/x", "//__spky/x", "/./__spky/x",
		"/x/../__spky/x", "/__spky?x", "/__spky/x?y", "/__spky\\x", "/__spky;a=1/x", "/..;/x", "/a/..;x=1/y",
		"@" + host, "/@" + host, "/x@" + host, "/?u=@" + host, "/x#y", "/http://" + host, "/x%0d%0aHost:%20" + host, "/x\r\nHost: " + host,
		"/x\x00y", "/%00", "/%", "/%zz", "/%ff", "/\u0085", "/" + strings.Repeat("x", 2048), "?x", "*",
	}
	ids := make([]surreal.RecordID, len(paths))
	for i, path := range paths {
		ids[i] = r.job(i, path, nil)
	}
	good := r.job("good", "/good", nil)
	for i, path := range paths {
		row := r.settled(ids[i], "failed")
		if row.codes() != "refused" || row.Retries != 1 || row.Errors[0].Reason == "" {
			t.Errorf("%.100q: job is %+v, want refused at once", path, row)
		}
	}
	r.settled(good, "success")
	if got := s.requests(); len(got) != 1 || got[0].Path != "/base/good" {
		t.Errorf("the backend received %+v", got)
	}
	if got := elsewhere.requests(); len(got) > 0 {
		t.Errorf("another server received %+v", got)
	}
	if open := n.metric("spky_circuit_open"); open != 0 {
		t.Error("refused paths opened the backend's circuit")
	}
}

func TestWithASpecOnlyItsRoutesAreReached(t *testing.T) {
	t.Parallel()
	const yml = `apps:
  api:
    type: backend
    baseUrl: http://127.0.0.1:1
    spec: openapi.yml
    method: {type: outbox, schema: outbox.surql, table: job}
`
	const spec = `openapi: 3.0.0
info: {title: t, version: "1"}
paths:
  /pages/{id}/index: {post: {responses: {"200": {description: ok}}}}
  /read: {get: {responses: {"200": {description: ok}}}}
`
	dir := t.TempDir()
	ddl, err := config.OutboxSchema("job", config.OutboxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"sp00ky.yml": yml, "openapi.yml": spec, "outbox.surql": ddl} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(config.Options{Path: filepath.Join(dir, "sp00ky.yml")})
	if err != nil {
		t.Fatal(err)
	}
	loaded := cfg.Runnable()[0]
	for _, any := range []bool{false, true} {
		t.Run(fmt.Sprintf("allowAnyPath %t", any), func(t *testing.T) {
			t.Parallel()
			r := newJobs(t)
			s := serve(t, nil)
			r.start(s.backends(func(b *config.Backend) { b.Spec, b.AllowAnyPath = loaded.Spec, any }))
			for path, inside := range map[string]bool{"/pages/7/index": true, "/pages/7/index?x=1": true, "/pages//index": false, "/pages/7/8/index": false, "/read": false, "/other": false} {
				row := r.ended(r.job(path, path, nil))
				if want := map[bool]string{true: "success", false: "failed"}[inside || any]; row.Status != want {
					t.Errorf("%s: job is %+v, want %s", path, row, want)
				}
				if !inside && !any && (row.codes() != "refused" || !strings.Contains(row.Errors[0].Reason, "OpenAPI")) {
					t.Errorf("%s: errors are %+v", path, row.Errors)
				}
			}
		})
	}
}
