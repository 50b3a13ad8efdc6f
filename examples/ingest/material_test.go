package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// drive plays the runner: it asks for a run of the instance with its job, as long as one is due, and
// answers with the state of the last.
func (b *backend) drive(instance string) string {
	b.tb.Helper()
	for range 100 {
		job := b.rows("RETURN <string>(SELECT VALUE job FROM ONLY _00_wf_instance:`" + instance + "`)")
		var answer struct{ State string }
		b.must(request{path: "/__spky/workflow/INGEST", body: `{"instance":"` + instance + `"}`, job: strings.Trim(job, `"`)}, &answer)
		status := b.rows("RETURN (SELECT VALUE status FROM ONLY _00_wf_instance:`" + instance + "`)")
		if status != `"queued"` {
			return strings.Trim(status, `"`)
		}
	}
	b.tb.Fatalf("instance %s comes to no end", instance)
	return ""
}

// start posts to /materials for a job of the user, and answers with the instance.
func (u user) start(job, body string) materialAnswer {
	u.backend.tb.Helper()
	u.query("CREATE job:" + job + " SET path = '/materials', payload = " + body + ", assigned_to = $auth RETURN NONE")
	var answer materialAnswer
	u.backend.must(request{path: "/materials", body: body, job: "job:" + job}, &answer)
	return answer
}

// TestMaterial makes one of a shipped text, from the job to the published rows, seen by its owner.
func TestMaterial(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	ann, bob := b.mustSign("signup", "ann@example.com"), b.mustSign("signup", "bob@example.com")
	const body = `{"document":"gettysburg","settle":0,"failures":1}`
	started := ann.start("a", body)
	if started.Workflow != "INGEST" || started.Material != "gettysburg" || started.Instance == "" {
		t.Fatalf("started %+v", started)
	}
	var again materialAnswer
	if b.must(request{path: "/materials", body: body, job: "job:a", attempt: "2"}, &again); again != started {
		t.Errorf("the second attempt started %+v, want the same instance", again)
	}
	if status := b.drive(started.Instance); status != "waiting" {
		t.Fatalf("it is %s: %s", status, b.rows("SELECT error FROM _00_wf_instance"))
	}
	const progress = "SELECT VALUE [status, steps_done, waiting_for.types] FROM _00_wf_instance"
	if got := ann.query(progress); got != `[["waiting",5,["reviewed"]]]` {
		t.Errorf("the owner sees %s", got)
	}
	for _, table := range []string{"_00_wf_instance", "_00_wf_step", "sheet", "material"} {
		if got := bob.query("SELECT * FROM " + table); got != "[]" {
			t.Errorf("another user sees of %s: %s", table, got)
		}
	}
	b.exec("RETURN fn::spky::wf::send_event($id, 'reviewed', { ok: true, note: 'fine' })", map[string]any{"id": started.Instance})
	if status := b.drive(started.Instance); status != "complete" {
		t.Fatalf("it is %s: %s", status, b.rows("SELECT error FROM _00_wf_instance"))
	}
	b.isWell(ann)
}

// isWell looks at what ann sees of the published gettysburg.
func (b *backend) isWell(ann user) {
	b.tb.Helper()
	m := newIndex(mustText(b.tb, "gettysburg"), defaultSheetWords)
	want := fmt.Sprintf(`[[%d,%d,1,"fine"]]`, len(m.pages), m.words)
	if got := ann.query("SELECT VALUE [pages, words, editions, note] FROM material"); got != want {
		b.tb.Errorf("the material is %s, want %s", got, want)
	}
	var rows []struct{ HTML string }
	if err := json.Unmarshal([]byte(ann.query("SELECT number, html FROM sheet ORDER BY number")), &rows); err != nil {
		b.tb.Fatal(err)
	}
	if len(rows) != len(m.pages) || !strings.HasPrefix(rows[0].HTML, "<p>Four score") {
		b.tb.Errorf("%d sheets of %d pages, the first %q", len(rows), len(m.pages), rows[0].HTML)
	}
	if got := ann.query("SELECT VALUE [steps_done, output.edition] FROM _00_wf_instance"); got != "[[7,1]]" {
		b.tb.Errorf("the instance came to %s", got)
	}
	attempts := b.rows("RETURN (SELECT VALUE array::len(attempts) FROM _00_wf_step WHERE kind = 'do' AND string::starts_with(name, 'convert'))")
	if attempts != "[2,2,2,2]" {
		b.tb.Errorf("the conversions took %s attempts", attempts)
	}
}

func mustText(tb testing.TB, name string) text {
	tb.Helper()
	t, err := textNamed(name)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// TestEditions publishes two materials of one name, the second shorter.
func TestEditions(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	ann := b.mustSign("signup", "ann@example.com")
	for n, body := range []string{
		`{"title":"Note","text":"` + strings.Repeat(`one two three four five six seven eight nine ten\n`, 12) + `","settle":0}`,
		`{"title":"Note","text":"one two three","settle":0}`,
	} {
		started := ann.start(fmt.Sprintf("j%d", n), body)
		b.exec("RETURN fn::spky::wf::send_event($id, 'reviewed', { ok: true })", map[string]any{"id": started.Instance})
		if status := b.drive(started.Instance); status != "complete" {
			t.Fatalf("it is %s: %s", status, b.rows("SELECT error FROM _00_wf_instance"))
		}
	}
	if got := ann.query("SELECT VALUE [pages, editions] FROM material"); got != "[[1,2]]" {
		t.Errorf("the material is %s", got)
	}
	if got := ann.query("RETURN array::len(SELECT id FROM sheet)"); got != "1" {
		t.Errorf("%s sheets are left", got)
	}
}

func TestRejectedMaterial(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	var started materialAnswer
	b.must(request{path: "/materials", body: `{"document":"tyger","settle":0}`}, &started)
	b.exec("RETURN fn::spky::wf::send_event($id, 'reviewed', { ok: false, note: 'too wild' })", map[string]any{"id": started.Instance})
	if status := b.drive(started.Instance); status != "errored" {
		t.Errorf("it is %s", status)
	}
	if got := b.rows("SELECT VALUE error.message FROM _00_wf_instance"); got != `["the review rejected it: too wild"]` {
		t.Errorf("its error is %s", got)
	}
	if status, body := b.post(request{path: "/materials", body: `{"document":"nothing"}`}); status != http.StatusNotFound {
		t.Errorf("an unknown text: %d %s", status, body)
	}
	if got := b.rows("SELECT * FROM material"); got != "[]" {
		t.Errorf("it was published: %s", got)
	}
}
