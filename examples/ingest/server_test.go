package main

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
)

func TestIndex(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	var got indexAnswer
	b.must(request{path: "/documents/index", body: `{"document":"sonnet-18"}`}, &got)
	if got.Document != "sonnet-18" || got.Pages != 2 || got.Words != 114 || got.Distinct != 83 || len(got.Top) != 10 {
		t.Errorf("got %+v", got)
	}
	if want := "[[2,114,83]]"; b.rows("SELECT VALUE [pages, words, distinct] FROM document") != want {
		t.Errorf("the document's row does not say %s: %s", want, b.rows("SELECT * FROM document"))
	}
	if want := "[1,2]"; b.rows("SELECT VALUE number FROM page ORDER BY number") != want {
		t.Errorf("pages: %s", b.rows("SELECT * FROM page"))
	}
	if want := "[[2,[1,1]]]"; b.rows("SELECT VALUE [total, on_page] FROM word WHERE word = 'eternal'") != want {
		t.Errorf("word: %s, want %s", b.rows("SELECT * FROM word WHERE word = 'eternal'"), want)
	}
	if got, want := b.rows("SELECT VALUE math::sum(total) FROM word GROUP ALL"), "[114]"; got != want {
		t.Errorf("the words' rows add up to %s, want %s", got, want)
	}
}

// TestIndexAgain shows that a job which runs again gives the same rows, whatever ran before it.
func TestIndexAgain(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	b.exec("CREATE job:a, job:b SET path = '/documents/index'", nil)
	all := func() string {
		return b.rows("SELECT * OMIT job, indexed_at FROM document") + b.rows("SELECT * FROM page") + b.rows("SELECT * FROM word")
	}
	body := `{"title":"Note","text":"Buy milk.\nMilk is good.\nSo is bread, and so is the butter on it."}`
	short := request{path: "/documents/index", body: strings.Replace(body, `}`, `,"pageWords":10}`, 1), job: "job:a"}
	var first, second indexAnswer
	b.must(short, &first)
	want := all()
	if first.Document != "note" || first.Pages != 2 {
		t.Errorf("got %+v", first)
	}
	stamp := b.rows("SELECT VALUE indexed_at FROM document")
	b.must(short, &second)
	if got := b.rows("SELECT VALUE indexed_at FROM document"); got != stamp {
		t.Errorf("the same job wrote again: indexed at %s, then %s", stamp, got)
	}
	if all() != want || second.Words != first.Words {
		t.Error("the same job gave other rows")
	}
	other := request{path: "/documents/index", body: `{"title":"Note","text":"Nothing to buy."}`, job: "job:b"}
	b.must(other, &second)
	if got := b.rows("SELECT VALUE word FROM word ORDER BY word"); got != `["buy","nothing","to"]` {
		t.Errorf("words of the text before are left: %s", got)
	}
	b.must(short, &second)
	if all() != want {
		t.Error("indexing the first text once more gave other rows")
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	b.must(request{path: "/documents/index", body: `{"document":"gettysburg"}`}, &indexAnswer{})
	body := `{"document":"gettysburg","sentences":1,"failures":2}`
	for _, attempt := range []string{"", "1", "2"} {
		status, answer := b.post(request{path: "/documents/summary", body: body, attempt: attempt})
		if status != http.StatusServiceUnavailable || !strings.Contains(answer, "on_purpose") {
			t.Errorf("attempt %q: %d %s", attempt, status, answer)
		}
	}
	var got summaryAnswer
	b.must(request{path: "/documents/summary", body: body, attempt: "3"}, &got)
	if got.Attempt != 3 || len(got.Sentences) != 1 || !strings.Contains(got.Sentences[0], "nation") {
		t.Errorf("got %+v", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	for _, c := range []struct {
		name string
		request
		status int
		says   string
	}{
		{"wrong token", request{path: "/documents/index", body: `{}`, token: "other"}, 401, "token"},
		{"no JSON", request{path: "/documents/index", body: `document=x`}, 400, "body"},
		{"two values", request{path: "/documents/index", body: `{"document":"tyger"} {}`}, 400, "after"},
		{"unknown field", request{path: "/documents/index", body: `{"documnet":"tyger"}`}, 400, "documnet"},
		{"unknown text", request{path: "/documents/index", body: `{"document":"../main.go"}`}, 404, "sonnet-116"},
		{"both", request{path: "/documents/index", body: `{"document":"tyger","text":"x"}`}, 400, "either"},
		{"no title", request{path: "/documents/index", body: `{"text":"x"}`}, 400, "title"},
		{"no words", request{path: "/documents/index", body: `{"title":"x","text":"..."}`}, 400, "no words"},
		{"page too small", request{path: "/documents/index", body: `{"document":"tyger","pageWords":9}`}, 400, "pageWords"},
		{"text too long", request{path: "/documents/index", body: `{"title":"x","text":"` + strings.Repeat("a ", maxText) + `"}`}, 413, "longer"},
		{"body too large", request{path: "/documents/index", body: `{"title":"x","text":"` + strings.Repeat("a ", maxBody) + `"}`}, 413, "too large"},
		{"not a job", request{path: "/documents/index", body: `{"document":"tyger"}`, job: "user:x"}, 400, "no job"},
		{"bad attempt", request{path: "/documents/index", body: `{"document":"tyger"}`, attempt: "0"}, 400, "Spky-Attempt"},
		{"not indexed", request{path: "/documents/summary", body: `{"document":"tyger"}`}, 404, "not indexed"},
		{"too many sentences", request{path: "/documents/summary", body: `{"document":"tyger","sentences":21}`}, 400, "sentences"},
		{"negative failures", request{path: "/documents/summary", body: `{"document":"tyger","failures":-1}`}, 400, "failures"},
		{"no material", request{path: "/materials", body: `{}`}, 400, "title"},
		{"too long a pause", request{path: "/materials", body: `{"document":"tyger","settle":3601}`}, 400, "settle"},
		{"too many failures", request{path: "/materials", body: `{"document":"tyger","failures":11}`}, 400, "failures"},
		{"a run without token", request{path: "/__spky/workflow/INGEST", body: `{"instance":"x"}`, token: "other"}, 401, "token"},
		{"a run of nothing", request{path: "/__spky/workflow/INGEST", body: `{"instance":"x"}`}, 404, "no such instance"},
		{"no such route", request{path: "/documents", body: `{}`}, 404, ""},
	} {
		status, body := b.post(c.request)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %.300s, want %d and %q", c.name, status, body, c.status, c.says)
		}
	}
	if got := b.rows("SELECT * FROM document, _00_wf_instance"); got != "[]" {
		t.Errorf("a refused request wrote %s", got)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/healthz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("GET /healthz: %d", resp.StatusCode)
	}
}

// TestProject holds the project's sp00ky.yml, which runs this backend, against the rules.
func TestProject(t *testing.T) {
	t.Parallel()
	unset := func(string) (string, bool) { return "", false }
	for _, f := range config.Lint("../../sp00ky.yml", config.Options{Env: unset}).Findings() {
		t.Error(f)
	}
	cfg, err := config.Load(config.Options{Path: "../../sp00ky.yml", Env: unset, Stage: config.StageDev})
	if err != nil {
		t.Fatal(err)
	}
	backends := cfg.Runnable()
	if len(backends) != 1 || backends[0].Table != "job" {
		t.Fatalf("backends that take jobs: %+v", backends)
	}
	if w := backends[0].Workflows; len(w) != 1 || w[0].Binding != ingestBinding {
		t.Errorf("workflows: %+v", w)
	}
	if got := backends[0].Env["API_AUTH_TOKEN"].Reveal(); got != backends[0].AuthToken.Reveal() {
		t.Errorf("the backend is told the token %q and called with %q", got, backends[0].AuthToken.Reveal())
	}
}

// TestSpec holds the routes of openapi.yml against those that are served.
func TestSpec(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("openapi.yml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := config.ParseSpec("openapi.yml", content)
	if err != nil {
		t.Fatal(err)
	}
	b := newBackend(t)
	if len(spec.Routes()) != 3 {
		t.Errorf("routes: %v", spec.Routes())
	}
	for _, route := range spec.Routes() {
		if status, body := b.post(request{path: route, body: "{}"}); status != http.StatusBadRequest {
			t.Errorf("POST %s with an empty object: %d %s", route, status, body)
		}
	}
	all, err := texts()
	if err != nil {
		t.Fatal(err)
	}
	for name := range all {
		if !strings.Contains(string(content), name) {
			t.Errorf("openapi.yml does not name the text %s", name)
		}
	}
}
