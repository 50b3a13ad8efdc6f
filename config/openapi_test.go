package config_test

import (
	"slices"
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
)

func mustSpec(tb testing.TB, text string) *config.Spec {
	tb.Helper()
	s, err := config.ParseSpec("openapi.yml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

const routes = `
openapi: 3.1.0
info: {title: T, version: 2}
servers:
  - url: https://api.example.com/v1/
  - url: "https://{tenant}.example.com/{base}"
  - url: /
paths:
  /docs: {get: {}, post: {}}
  /docs/{id}: {post: {}}
  /docs/{id}/pages/{page}.{format}: {post: {}}
  /files/report-{year}-{month}.csv: {post: {}}
  /read: {get: {}}
  /nothing: {post: null}
  /linked: {$ref: "#/components/pathItems/a~1b"}
  /circle: {$ref: "#/paths/~1circle"}
  /elsewhere: {$ref: "other.yml#/x"}
  /: {post: {}}
  x-internal: {post: {}}
components: {pathItems: {a/b: {post: {}}}}
`

func TestAllowsPost(t *testing.T) {
	t.Parallel()
	s := mustSpec(t, routes)
	want := []string{"/docs", "/docs/{id}", "/docs/{id}/pages/{page}.{format}", "/files/report-{year}-{month}.csv", "/linked", "/"}
	if !slices.Equal(s.Routes(), want) || s.Title != "T" || s.Version != "2" {
		t.Errorf("got %v %q %q", s.Routes(), s.Title, s.Version)
	}
	for path, want := range map[string]bool{
		"/docs": true, "/docs?x=/../y": true, "/docs/1": true, "/docs/a%2Fb": true, "/docs/ä": true, "/": true, "/linked": true,
		"/docs/1/pages/2.html": true, "/docs/1/pages/a.b.c": true, "/files/report-2026-01.csv": true, "/files/report-2026-01-02.csv": true,
		"/v1/docs": true, "/v1/docs/7?q": true, "/v1/": true,

		"": false, "docs": false, "/docs/": false, "/Docs": false, "//docs": false, "/docs/1/2": false, "/docs//pages/1.x": false,
		"/docs/1/pages/html": false, "/docs/1/pages/.html": false, "/docs/1/pages/a.": false,
		"/files/report-2026.csv": false, "/files/report--01.csv": false, "/files/report-2026-01.csv.exe": false,
		"/docs/..": false, "/docs/%2e%2E": false, "/docs/.": false, "/docs/%zz": false, "/docs/1#x": false, "/docs#x": false,
		"/read": false, "/nothing": false, "/circle": false, "/elsewhere": false, "x-internal": false, "/x-internal": false,
		"/v1": false, "/v2/docs": false, "/v1docs": false, "http://host/docs": false, "/d%6Fcs": false,
	} {
		if got := s.AllowsPost(path); got != want {
			t.Errorf("%q: got %v, want %v", path, got, want)
		}
	}
}

func TestParseSpecRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "not a mapping",
		"- a":                            "not a mapping",
		"a: [":                           "parse openapi.yml",
		"paths: {/a: {post: {}}}":        "openapi is missing",
		"openapi: 2.0\npaths: {/a: {}}":  "openapi \"2.0\", not 3.x",
		"swagger: '2.0'\npaths: {/a: 1}": "swagger \"2.0\"",
		"openapi: 3.1.0":                 "no paths",
		"openapi: 3.1.0\npaths: {}":      "no paths",
		"openapi: 3.1.0\npaths: [/a]":    "no paths",
		"openapi: 3.1.0\npaths: {'/a{': {post: {}}}": "open or empty",
		"openapi: 3.1.0\npaths: {'/{}': {post: {}}}": "open or empty",
		"openapi: 3.1.0\n\xff":                       "not UTF-8",
	} {
		if s, err := config.ParseSpec("openapi.yml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v", text, s, err)
		}
	}
}

func FuzzAllowsPost(f *testing.F) {
	for _, path := range []string{"/docs", "/docs/1/pages/2.html", "/v1/docs/%2e%2e", "/files/report-1-2.csv?x#y", "//", "/%"} {
		f.Add("/docs/{id}", path)
	}
	f.Add("/{a}{b}/x{c}y", "/ab/xcy")
	f.Fuzz(func(t *testing.T, template, path string) {
		s, err := config.ParseSpec("x", []byte("openapi: 3.1.0\npaths:\n  ? "+quoteYAML(template)+"\n  : {post: {}}\n"))
		if err != nil {
			return
		}
		if !s.AllowsPost(path) {
			// A path without parameters allows itself.
			if plain := strings.HasPrefix(template, "/") && !strings.ContainsAny(template, "{}?#%.\\\"") && isPrintable(template); plain && !s.AllowsPost(template) {
				t.Errorf("%q does not allow itself", template)
			}
			return
		}
		path, _, _ = strings.Cut(path, "?")
		if !strings.HasPrefix(path, "/") || strings.Contains(path, "#") {
			t.Errorf("%q allows %q", template, path)
		}
		for part := range strings.SplitSeq(path, "/") {
			if lower := strings.ToLower(part); strings.ReplaceAll(lower, "%2e", ".") == ".." {
				t.Errorf("%q allows %q", template, path)
			}
		}
		if strings.Count(path, "/") != strings.Count(template, "/") && !strings.Contains(template, "{") {
			t.Errorf("%q allows %q", template, path)
		}
	})
}

func quoteYAML(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

func isPrintable(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}
