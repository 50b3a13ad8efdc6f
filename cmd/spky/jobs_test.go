package main

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"sp00ky.cloud/spky/surreal"
)

type jobJSON struct {
	ID       string           `json:"id"`
	Status   string           `json:"status"`
	Path     string           `json:"path"`
	Payload  any              `json:"payload"`
	Result   any              `json:"result"`
	Errors   []map[string]any `json:"errors"`
	Retries  int              `json:"retries"`
	Max      int              `json:"max_retries"`
	Strategy string           `json:"retry_strategy"`
	Delay    int              `json:"delay"`
	Assigned string           `json:"assigned_to"`
}

func (p *project) create(args ...string) string {
	p.t.Helper()
	return decode[struct{ ID string }](p, append([]string{"jobs", "create"}, args...)...).ID
}

func TestCreateListGet(t *testing.T) {
	t.Parallel()
	p := migrated(t, "http://127.0.0.1:1")
	p.write("payload.json", `{"from": "a file", "n": 12345678901234567, "x": 1.5, "list": [1, null, true]}`)
	first := p.create("--path", "/echo", "--payload", "@"+p.dir+"/payload.json")
	second := p.create("--path", "/fail", "--payload", `"text"`, "--max-retries", "7", "--retry-strategy", "exponential",
		"--delay", "1h", "--assigned-to", "user:ab", "--id", "second")
	if second != "job:second" {
		t.Errorf("created %s, want job:second", second)
	}
	listed := decode[[]jobJSON](p, "jobs", "list")
	if len(listed) != 2 || listed[0].ID != second || listed[1].ID != first {
		t.Errorf("listed %+v, want the newest first", listed)
	}
	if listed[1].Payload != nil {
		t.Errorf("the list shows the payload %v", listed[1].Payload)
	}
	got := decode[jobJSON](p, "jobs", "get", first)
	if payload, _ := json.Marshal(got.Payload); string(payload) != `{"from":"a file","list":[1,null,true],"n":12345678901234568,"x":1.5}` {
		t.Errorf("payload %s", payload) // decoded as a float here; the exact digits are checked below
	}
	if raw := p.must("jobs", "get", first, "--json"); !strings.Contains(raw, `"n": 12345678901234567`) {
		t.Errorf("the integer lost digits: %s", raw)
	}
	got = decode[jobJSON](p, "jobs", "get", "second") // the key alone
	if got.Max != 7 || got.Strategy != "exponential" || got.Delay != 3_600_000 || got.Assigned != "user:ab" || got.Payload != "text" {
		t.Errorf("second %+v", got)
	}
	for _, want := range []string{"ID", "job:second", "pending", "0/7", "/fail", "runs in 59m"} {
		if out := p.must("jobs", "list"); !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
	if out := p.must("jobs", "get", "second"); !strings.Contains(out, "max_retries     7") || !strings.Contains(out, `payload         text`) {
		t.Errorf("get shows\n%s", out)
	}
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	p := migrated(t, "http://127.0.0.1:1")
	kept := p.create("--path", "/echo")
	gone := p.create("--path", "/echo")
	p.must("jobs", "cancel", gone)
	if got := decode[[]jobJSON](p, "jobs", "list", "--status", "cancelled"); len(got) != 1 || got[0].ID != gone {
		t.Errorf("cancelled jobs %+v, want %s", got, gone)
	}
	if got := decode[[]jobJSON](p, "jobs", "list", "--status", "pending", "--table", "job"); len(got) != 1 || got[0].ID != kept {
		t.Errorf("pending jobs %+v, want %s", got, kept)
	}
	if got := decode[[]jobJSON](p, "jobs", "list", "--limit", "1"); len(got) != 1 || got[0].ID != gone {
		t.Errorf("newest job %+v, want %s", got, gone)
	}
	if out := p.must("jobs", "list", "--status", "failed", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("no jobs are %q, want []", out)
	}
	if out := p.must("jobs", "list", "--status", "failed"); out != "No jobs.\n" {
		t.Errorf("no jobs are %q", out)
	}
}

func TestPayloadFromStandardInput(t *testing.T) {
	t.Parallel()
	p := migrated(t, "http://127.0.0.1:1")
	code, out, stderr := p.runWith(t.Context(), `{"from": "stdin"}`, "jobs", "create", "--path", "/echo", "--payload", "-", "--id", "in")
	if code != exitOK || !strings.Contains(out, "created job:in") || !strings.Contains(stderr, "spky jobs get job:in") {
		t.Errorf("%d %s%s", code, out, stderr)
	}
	if got := decode[jobJSON](p, "jobs", "get", "in"); got.Payload.(map[string]any)["from"] != "stdin" {
		t.Errorf("payload %v", got.Payload)
	}
	p.create("--path", "/echo", "--id", "none")
	if value := p.query("SELECT VALUE payload = NONE FROM ONLY job:none", nil)[0]; value != true {
		t.Error("a job without payload has one")
	}
}

// TestIDs names jobs in every form their ids have.
func TestIDs(t *testing.T) {
	t.Parallel()
	p := migrated(t, "http://127.0.0.1:1")
	for text, id := range map[string]any{
		"job:plain":    surreal.RecordID{Table: "job", ID: "plain"},
		"plain2":       surreal.RecordID{Table: "job", ID: "plain2"},
		"job:7":        surreal.RecordID{Table: "job", ID: int64(7)},
		"8":            surreal.RecordID{Table: "job", ID: int64(8)},
		"job:`9`":      surreal.RecordID{Table: "job", ID: "9"},
		"job:a-b":      surreal.RecordID{Table: "job", ID: "a-b"}, // not quoted as SurrealDB would
		"c-d":          surreal.RecordID{Table: "job", ID: "c-d"},
		"job:⟨e f⟩":    surreal.RecordID{Table: "job", ID: "e f"},
		"job:größe":    surreal.RecordID{Table: "job", ID: "größe"},
		"job:['x', 1]": surreal.RecordID{Table: "job", ID: []any{"x", int64(1)}},
		"job:{ a: 1 }": surreal.RecordID{Table: "job", ID: map[string]any{"a": int64(1)}},
		"job:a:b":      surreal.RecordID{Table: "job", ID: "a:b"},
	} {
		p.query("CREATE $id SET path = '/echo'", map[string]any{"id": id})
		got := decode[jobJSON](p, "jobs", "get", text)
		if got.Path != "/echo" {
			t.Errorf("get %s: %+v", text, got)
		}
		p.must("jobs", "cancel", got.ID) // the form it is shown in
		p.must("jobs", "retry", text)
	}
}

func TestUUIDs(t *testing.T) {
	t.Parallel()
	p := migrated(t, "http://127.0.0.1:1")
	p.query("CREATE job:uuid() SET path = '/echo'", nil)
	listed := decode[[]jobJSON](p, "jobs", "list")
	if len(listed) != 1 || !strings.HasPrefix(listed[0].ID, "job:u'") {
		t.Fatalf("listed %+v, want one with a uuid", listed)
	}
	p.must("jobs", "get", listed[0].ID)
	p.must("jobs", "cancel", listed[0].ID)
}

func TestNotFoundAndWrongState(t *testing.T) {
	t.Parallel()
	p := migrated(t, "http://127.0.0.1:1")
	id := p.create("--path", "/echo")
	for _, verb := range []string{"get", "cancel", "retry", "watch"} {
		p.want(exitNotFound, "job not found", "jobs", verb, "job:nowhere")
		p.want(exitNotFound, "", "jobs", verb, "other:1")
	}
	p.want(exitState, "hint: possible now: cancel", "jobs", "retry", id)
	p.must("jobs", "cancel", id)
	p.want(exitState, "the job is cancelled", "jobs", "cancel", id)
	p.want(exitFailed, "already exists", "jobs", "create", "--path", "/echo", "--id", id)
	// Several at once: the others are done all the same.
	p.want(exitNotFound, "job not found", "jobs", "retry", "job:nowhere", id)
	if got := decode[jobJSON](p, "jobs", "get", id); got.Status != "pending" {
		t.Errorf("%s is %s after its retry, want pending", id, got.Status)
	}
}

func TestWithoutConfiguration(t *testing.T) {
	t.Parallel()
	p := migrated(t, "http://127.0.0.1:1")
	id := p.create("--path", "/echo")
	p.write("sp00ky.yml", "# no apps\n")
	p.want(exitFailed, "names no outbox table", "jobs", "list")
	p.must("jobs", "get", id) // the id names the table
	if got := decode[[]jobJSON](p, "jobs", "list", "--table", "job"); len(got) != 1 {
		t.Errorf("listed %+v, want the job", got)
	}
	p.want(exitNotFound, "", "jobs", "list", "--table", "other")
}

func TestSeveralTables(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	p.must("add", "api", "--spec", "openapi.yml", "--name", "mail", "--table", "mail_job", "--base-url", "http://127.0.0.1:2")
	p.must("migrate")
	p.want(exitUsage, "there are several outbox tables, job, mail_job", "jobs", "create", "--path", "/echo")
	p.want(exitUsage, "a key alone needs a single table", "jobs", "get", "a-b")
	first := p.create("--path", "/echo", "--table", "job")
	second := p.create("--path", "/echo", "--backend", "mail")
	listed := decode[[]jobJSON](p, "jobs", "list")
	if len(listed) != 2 || listed[0].ID != second || listed[1].ID != first || !strings.HasPrefix(second, "mail_job:") {
		t.Errorf("listed %+v, want both, the newest first", listed)
	}
	p.want(exitUsage, "has the table mail_job, and job was asked for", "jobs", "create", "--path", "/echo", "--backend", "mail", "--table", "job")
}

func TestRunDoesTheJob(t *testing.T) {
	t.Parallel()
	p := migrated(t, echoServer(t))
	stop := p.runner()
	code, out, stderr := p.run("jobs", "create", "--path", "/echo", "--payload", `{"n": 1}`, "--wait", "--json")
	var job jobJSON
	if err := json.Unmarshal([]byte(out), &job); err != nil || code != exitOK || job.Status != "success" {
		t.Fatalf("create --wait: %d %v %s%s", code, err, out, stderr)
	}
	if result, _ := json.Marshal(job.Result); string(result) != `{"echo":{"n":1}}` {
		t.Errorf("result %s", result)
	}
	code, out, stderr = p.run("jobs", "create", "--path", "/fail", "--max-retries", "2", "--wait")
	if code != exitFailed || !strings.Contains(out, " → failed  failed 2/2") || stderr != "" {
		t.Errorf("create --wait of a job that fails: %d\n%s%s", code, out, stderr)
	}
	failed := decode[[]jobJSON](p, "jobs", "list", "--status", "failed")
	if len(failed) != 1 || failed[0].Retries != 2 {
		t.Fatalf("failed jobs %+v", failed)
	}
	if got := decode[jobJSON](p, "jobs", "get", failed[0].ID); len(got.Errors) != 2 || got.Errors[0]["code"] != float64(500) {
		t.Errorf("errors %v", got.Errors)
	}
	nodes := decode[[]map[string]any](p, "nodes")
	if len(nodes) != 1 || nodes[0]["state"] != "alive" {
		t.Errorf("nodes %v", nodes)
	}
	if out := p.must("nodes"); !strings.Contains(out, "alive") || !strings.Contains(out, "0/16") || !strings.Contains(out, "closed") {
		t.Errorf("nodes:\n%s", out)
	}
	if code := stop(); code != exitOK {
		t.Errorf("spky run ended with %d after a signal, want 0", code)
	}
	if out := p.must("nodes"); !strings.Contains(out, "No node runs") {
		t.Errorf("nodes after the end:\n%s", out)
	}
}

func TestWatchOneJob(t *testing.T) {
	t.Parallel()
	p := migrated(t, echoServer(t))
	id := p.create("--path", "/echo")
	seen := newWatched()
	ended := make(chan int, 1)
	go func() {
		ended <- p.start(t.Context(), strings.NewReader(""), seen, io.Discard, "jobs", "watch", id, "--json")
	}()
	<-seen.saw(`"status":"pending"`)
	p.runner()
	if code := <-ended; code != exitOK {
		t.Errorf("watch ended with %d", code)
	}
	var statuses []string
	for line := range strings.Lines(seen.String()) {
		var change changeLine
		if err := json.Unmarshal([]byte(line), &change); err != nil || change.ID != id {
			t.Fatalf("line %q: %v", line, err)
		}
		statuses = append(statuses, change.Status)
	}
	if statuses[0] != "pending" || statuses[len(statuses)-1] != "success" {
		t.Errorf("statuses %v, want from pending to success", statuses)
	}
}

func TestWatchSeesADeletion(t *testing.T) {
	t.Parallel()
	p := migrated(t, "http://127.0.0.1:1")
	id := p.create("--path", "/echo", "--id", "x")
	seen := newWatched()
	ended := make(chan int, 1)
	go func() { ended <- p.start(t.Context(), strings.NewReader(""), seen, io.Discard, "jobs", "watch", id) }()
	<-seen.saw("pending")
	p.query("DELETE job:x", nil)
	if code := <-ended; code != exitOK || !strings.Contains(seen.String(), "deleted") {
		t.Errorf("watch ended with %d and said %s", code, seen)
	}
}

func TestWatchEverything(t *testing.T) {
	t.Parallel()
	p := migrated(t, "http://127.0.0.1:1")
	ctx, cancel := context.WithCancelCause(t.Context())
	out, notes := newWatched(), newWatched()
	ended := make(chan int, 1)
	go func() { ended <- p.start(ctx, strings.NewReader(""), out, notes, "jobs", "watch") }()
	<-notes.saw("Watching job.")
	// The subscription has no moment of its own to wait for, so jobs are written until one is seen.
	first := out.saw("pending")
	for seen := false; !seen; {
		p.create("--path", "/echo")
		select {
		case <-first:
			seen = true
		default:
		}
	}
	id := p.create("--path", "/echo", "--id", "last")
	<-out.saw(id)
	p.must("jobs", "cancel", id)
	<-out.saw("pending → cancelled")
	cancel(errInterrupted)
	if code := <-ended; code != exitInterrupted {
		t.Errorf("watch ended with %d after Ctrl-C, want %d", code, exitInterrupted)
	}
}

func TestCancelOfARunningJob(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	p := migrated(t, hangingServer(t, release))
	defer close(release)
	p.runner()
	id := p.create("--path", "/echo", "--id", "long")
	seen := newWatched()
	ended := make(chan int, 1)
	go func() { ended <- p.start(t.Context(), strings.NewReader(""), seen, io.Discard, "jobs", "watch", id) }()
	<-seen.saw("processing")
	if out := p.must("jobs", "cancel", id); !strings.Contains(out, "asked the node that runs it") {
		t.Errorf("cancel said %s", out)
	}
	if code := <-ended; code != exitOK || !strings.Contains(seen.String(), "cancelled") {
		t.Errorf("watch ended with %d and said %s", code, seen)
	}
}

func TestStatusesAreThoseOfTheOutbox(t *testing.T) {
	t.Parallel()
	if !slices.Equal(statusWords(), []string{"pending", "processing", "success", "failed", "cancelled"}) {
		t.Errorf("statuses %v", statusWords())
	}
}
