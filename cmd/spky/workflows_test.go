package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// withWorkflow is a project whose backend has the workflow GREET; serve starts it.
func withWorkflow(t *testing.T) (p *project, serve func()) {
	t.Helper()
	var handler atomic.Pointer[http.Handler]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := handler.Load(); h != nil {
			(*h).ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	p = newProject(t, server.URL)
	p.write("sp00ky.yml", strings.Replace(p.read("sp00ky.yml"), "    type: backend\n", "    type: backend\n    workflows:\n      - {binding: GREET, class: Greet}\n", 1))
	p.must("migrate")
	var engine *wf.Engine
	t.Cleanup(func() {
		server.Close()
		if engine == nil {
			return
		}
		end, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := engine.Close(end); err != nil {
			t.Error(err)
		}
	})
	return p, func() {
		t.Helper()
		var err error
		engine, err = wf.New(t.Context(), wf.Config{DB: p.db().Retrying(), OutboxTable: "job", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		wf.Register(engine, "GREET", greet)
		h := engine.Handler(http.NotFoundHandler())
		handler.Store(&h)
	}
}

type greeting struct {
	Name string `json:"name"`
	Fail bool   `json:"fail"`
	Wait bool   `json:"wait"`
}

func greet(ctx context.Context, ev wf.Event[greeting], step *wf.Step) (string, error) {
	text, err := wf.Do(ctx, step, "make it up", func(ctx context.Context) (string, error) {
		if wf.Attempt(ctx) == 1 || ev.Payload.Fail { // a pause may come between two attempts
			return "", errors.New("nothing comes to mind")
		}
		return "hello " + ev.Payload.Name, nil
	}, wf.Retry(1, time.Millisecond, wf.Constant))
	if err != nil || !ev.Payload.Wait {
		return text, err
	}
	answer, err := wf.WaitForEvent[greeting](ctx, step, "be answered", "answered")
	return text + ", " + answer.Payload.Name, err
}

type instanceJSON struct {
	admin.Instance
	Steps  []admin.Step
	Events []admin.Event
}

func TestTriggerListDescribe(t *testing.T) {
	t.Parallel()
	p, _ := withWorkflow(t)
	p.write("params.json", `{"name": "file"}`)
	if out := p.must("workflows", "list"); !strings.Contains(out, "GREET") || !strings.Contains(out, "Greet") || !strings.Contains(out, "job") {
		t.Errorf("workflows:\n%s", out)
	}
	if out := p.must("workflows", "instances", "list"); out != "No instances.\n" {
		t.Errorf("no instances are %q", out)
	}
	code, out, stderr := p.run("workflows", "trigger", "GREET", `{"name": "you"}`, "--id", "first", "--owner", "user:ann")
	if code != exitOK || out != "queued first\n" || !strings.Contains(stderr, "spky workflows instances watch GREET first") {
		t.Errorf("trigger: %d %s%s", code, out, stderr)
	}
	second := decode[map[string]string](p, "durable", "trigger", "GREET", "@"+p.dir+"/params.json")["id"]
	listed := decode[[]admin.Summary](p, "workflows", "instances", "list", "GREET")
	if len(listed) != 2 || listed[0].ID != second || listed[1].ID != "first" || listed[1].Owner != "user:ann" {
		t.Errorf("listed %+v", listed)
	}
	if got := decode[[]admin.Summary](p, "workflows", "instances", "list", "--owner", "user:ann", "--status", "queued"); len(got) != 1 || got[0].ID != "first" {
		t.Errorf("of user:ann %+v", got)
	}
	if got := decode[[]admin.Summary](p, "workflows", "instances", "list", "--per-page", "1", "--page", "2"); len(got) != 1 || got[0].ID != "first" {
		t.Errorf("page 2 %+v", got)
	}
	for limit, want := range map[string]int{"1": 1, "2": 2, "10000": 2} {
		if got := decode[[]admin.Summary](p, "workflows", "instances", "list", "--limit", limit); len(got) != want || got[0].ID != second {
			t.Errorf("at most %s: %+v", limit, got)
		}
	}
	if out := p.must("workflows", "instances", "list", "--page", "3"); out != "No instances on page 3.\n" {
		t.Errorf("page 3 is %q", out)
	}
	if got := decode[[]admin.Summary](p, "workflows", "instances", "list", "--reverse"); len(got) != 2 || got[0].ID != "first" {
		t.Errorf("reversed %+v", got)
	}
	latest := decode[instanceJSON](p, "workflows", "instances", "describe", "GREET")
	if latest.ID != second || string(latest.Params) == "" || latest.Steps == nil || latest.Backend != "api" {
		t.Errorf("latest %+v", latest)
	}
	described := decode[map[string]any](p, "workflows", "describe", "GREET")
	if described["binding"] != "GREET" || described["class"] != "Greet" {
		t.Errorf("described %v", described)
	}
	if out := p.must("workflows", "describe", "GREET"); !strings.Contains(out, "queued        2\n") || !strings.Contains(out, "errored       0\n") {
		t.Errorf("described\n%s", out)
	}
}

// TestWatchAnInstance runs one to its end, with the events that the command line sends.
func TestWatchAnInstance(t *testing.T) {
	t.Parallel()
	p, serve := withWorkflow(t)
	serve()
	p.runner()
	id := decode[map[string]string](p, "workflows", "trigger", "GREET", `{"name": "you", "wait": true}`)["id"]
	seen, lines := newWatched(), newWatched()
	ended := make(chan int, 2)
	for out, args := range map[io.Writer][]string{seen: {"workflows", "instances", "watch", "GREET"}, lines: {"workflows", "instances", "watch", "GREET", id, "--json"}} {
		go func() { ended <- p.start(t.Context(), strings.NewReader(""), out, io.Discard, args...) }()
	}
	<-seen.saw("waiting  1 step done  event answered, until 20")
	if out := p.must("workflows", "instances", "list"); !strings.Contains(out, "waits for event answered: be answered, until in ") {
		t.Errorf("the list says\n%s", out)
	}
	p.must("workflows", "instances", "send-event", "GREET", "latest", "--type", "answered", "--payload", `{"name": "thanks"}`)
	for range 2 {
		if code := <-ended; code != exitOK {
			t.Errorf("watch ended with %d", code)
		}
	}
	for _, want := range []string{"✔ make it up", "after 1 failed attempt", "✔ be answered", "complete  2 steps done"} {
		if !strings.Contains(seen.String(), want) {
			t.Errorf("watch does not say %q:\n%s", want, seen)
		}
	}
	var statuses []string
	for line := range strings.Lines(lines.String()) {
		var told progressLine
		if err := json.Unmarshal([]byte(line), &told); err != nil || told.Instance.ID != id {
			t.Fatalf("line %q: %v", line, err)
		}
		statuses = append(statuses, string(told.Instance.Status))
	}
	if len(statuses) == 0 || statuses[len(statuses)-1] != "complete" {
		t.Errorf("statuses %v, want complete at the end", statuses)
	}
	p.describesWell(id)
}

// describesWell looks at a complete instance.
func (p *project) describesWell(id string) {
	p.t.Helper()
	got := decode[instanceJSON](p, "workflows", "instances", "describe", "GREET", id)
	if string(got.Output) != `"hello you, thanks"` || len(got.Steps) != 2 || string(got.Steps[0].Output) != `"hello you"` || len(got.Events) != 1 || !got.Events[0].Consumed {
		p.t.Errorf("described %+v", got)
	}
	out := p.must("workflows", "instances", "describe", "GREET", id)
	for _, want := range []string{"Last finished step   be answered", "hello you, thanks", "ATTEMPT", "1/2", "failed", "Error: nothing comes to mind", "2/2", "success", "waitForEvent"} {
		if !strings.Contains(out, want) {
			p.t.Errorf("describe does not say %q:\n%s", want, out)
		}
	}
	out = p.must("workflows", "instances", "describe", "GREET", id, "--truncate-output-limit", "5")
	if !strings.Contains(out, `"hell [… cut after 5 bytes]`) {
		p.t.Errorf("outputs are not cut:\n%s", out)
	}
	if out := p.must("workflows", "instances", "describe", "GREET", id, "--step-output=false"); strings.Contains(out, `"hello you"`+"\n") {
		p.t.Errorf("outputs of steps are shown:\n%s", out)
	}
}

func TestAFailedInstance(t *testing.T) {
	t.Parallel()
	p, serve := withWorkflow(t)
	serve()
	p.runner()
	code, out, stderr := p.run("workflows", "trigger", "GREET", `{"fail": true}`, "--id", "bad", "--wait")
	if code != exitFailed || !strings.Contains(out, "✖ make it up nothing comes to mind") || !strings.Contains(out, "errored") || stderr != "" {
		t.Errorf("trigger --wait of one that fails: %d\n%s%s", code, out, stderr)
	}
	if out := p.must("workflows", "instances", "list", "--status", "errored"); !strings.Contains(out, "bad") || !strings.Contains(out, "nothing comes to mind") {
		t.Errorf("errored instances:\n%s", out)
	}
	if out := p.must("workflows", "instances", "retry", "GREET", "bad"); out != "queued again bad (was errored)\n" {
		t.Errorf("retry says %s", out)
	}
	p.want(exitFailed, "", "workflows", "instances", "watch", "GREET", "bad")
}

func TestActOnInstances(t *testing.T) {
	t.Parallel()
	p, _ := withWorkflow(t)
	p.must("workflows", "trigger", "GREET", "--id", "a")
	for _, step := range []struct{ verb, says, status string }{
		{"pause", "paused a (was queued)\n", "paused"},
		{"resume", "resumed a (was paused)\n", "queued"},
		{"terminate", "terminated a (was queued)\n", "terminated"},
		{"restart", "restarted a (was terminated)\n", "queued"},
		{"cancel", "terminated a (was queued)\n", "terminated"},
	} {
		if out := p.must("workflows", "instances", step.verb, "GREET", "latest"); out != step.says {
			t.Errorf("%s says %q, want %q", step.verb, out, step.says)
		}
		if got := decode[instanceJSON](p, "workflows", "instances", "describe", "GREET", "a"); string(got.Status) != step.status {
			t.Errorf("after %s it is %s", step.verb, got.Status)
		}
	}
	p.want(exitState, "it is terminated\nhint: possible now: restart\n", "workflows", "instances", "pause", "GREET", "a")
	p.want(exitState, "hint: possible now: restart\n", "workflows", "instances", "send-event", "GREET", "a", "--type", "x")
	p.want(exitFailed, "hint: choose another --id, or begin that one again: `spky workflows instances restart GREET a`\n", "workflows", "trigger", "GREET", "--id", "a")
	p.want(exitUsage, `id "latest" stands for a workflow's newest instance; choose another`, "workflows", "trigger", "GREET", "--id", "latest")
}

func TestInstancesListUpToALimit(t *testing.T) {
	t.Parallel()
	p, _ := withWorkflow(t)
	if err := surreal.Exec(t.Context(), p.db(), `FOR $i IN 0..1100 { CREATE type::record('_00_wf_instance', 'i' + <string>$i) SET binding = 'GREET', backend = 'api',
		status = 'terminated', job_table = 'job', created_at = d'2026-01-01' - 1s * $i, newest = -time::micros(d'2026-01-01' - 1s * $i) }`, nil); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[string]int{"1": 1, "1000": 1000, "1001": 1001, "10000": 1100} {
		got := decode[[]admin.Summary](p, "workflows", "instances", "list", "GREET", "--limit", limit)
		if len(got) != want || got[0].ID != "i0" || got[want-1].ID != "i"+strconv.Itoa(want-1) {
			t.Errorf("--limit %s lists %d instances, want %d", limit, len(got), want)
		}
	}
}

func TestWorkflowsNotFound(t *testing.T) {
	t.Parallel()
	p, _ := withWorkflow(t)
	p.must("workflows", "trigger", "GREET", "--id", "a")
	for _, verb := range []string{"describe", "watch", "pause", "resume", "terminate", "restart", "retry"} {
		p.want(exitNotFound, "has the workflows GREET", "workflows", "instances", verb, "GREET", "nowhere")
		p.want(exitNotFound, "it has none", "workflows", "instances", verb, "OTHER", "latest")
		p.want(exitNotFound, "hint: an instance of GREET has that id", "workflows", "instances", verb, "OTHER", "a")
	}
	p.want(exitNotFound, "not found", "workflows", "describe", "OTHER")
	p.want(exitNotFound, "not found", "workflows", "instances", "list", "OTHER")
	p.want(exitNotFound, "no backend of the configuration has it", "workflows", "trigger", "OTHER")
	bare := migrated(t, "http://127.0.0.1:1")
	bare.want(exitNotFound, "declares no workflows", "workflows", "trigger", "GREET")
	if out := bare.must("workflows", "list"); !strings.Contains(out, "No workflows") {
		t.Errorf("no workflows are %q", out)
	}
}

func TestWrongUsageOfWorkflows(t *testing.T) {
	t.Parallel()
	p, _ := withWorkflow(t)
	p.must("workflows", "trigger", "GREET", "--id", "a")
	for says, line := range map[string]string{
		"workflows trigger: the name of a workflow is missing": "workflows trigger",
		"params: not JSON":                   "workflows trigger GREET {",
		"the params: open":                   "workflows trigger GREET @/nowhere.json",
		`id "-x"`:                            "workflows trigger GREET --id=-x",
		"owner":                              "workflows trigger GREET --owner nobody",
		`--status is "odd"; allowed: queued`: "workflows instances list --status odd",
		"--per-page is 0":                    "workflows instances list --per-page 0",
		"--page is 0":                        "workflows instances list --page 0",
		"--limit is 0":                       "workflows instances list --limit 0",
		"--limit is 10001":                   "workflows instances list --limit 10001",
		"leave out --page":                   "workflows instances list --limit 5 --page 2",
		"workflows instances pause: the id of an instance is missing": "workflows instances pause GREET",
		"--type is missing":             "workflows instances send-event GREET a",
		`event type "a.b"`:              "workflows instances send-event GREET a --type a.b",
		"payload: not JSON":             "workflows instances send-event GREET a --type a --payload {",
		"--truncate-output-limit is -1": "workflows instances describe GREET --truncate-output-limit -1",
		`workflows instances describe: "c" is one argument too many`:    "workflows instances describe GREET b c",
		`workflows instances: unknown command "lst"; did you mean list`: "workflows instances lst",
	} {
		p.want(exitUsage, says, strings.Fields(line)...)
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status         wf.Status
		done, expected int
		full           int
	}{
		{wf.Running, 0, 4, 0}, {wf.Running, 1, 4, 6}, {wf.Waiting, 3, 4, 18}, {wf.Running, 4, 4, 23}, {wf.Running, 9, 4, 23}, {wf.Complete, 2, 4, 24}, {wf.Complete, 2, 0, 24},
	} {
		got := bar(admin.Summary{Status: c.status, StepsDone: c.done}, c.expected)
		if n := strings.Count(got, "█"); n != c.full || len([]rune(got)) != barWidth {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if got := bar(admin.Summary{Status: wf.Running, StepsDone: 3}, 0); strings.Trim(got, "·") != "" {
		t.Errorf("a bar of unknown length is %s", got)
	}
}

// TestOnATerminal draws what a terminal would show.
func TestOnATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := &instanceWatcher{p: &program{out: &out}, live: true, expected: 2}
	now := time.Now()
	done := admin.Step{Seq: 1, Kind: "do", Name: "count\x1b[2J", Occurrence: 2, Status: "complete", StartedAt: now, FinishedAt: &now}
	for _, progress := range []admin.Progress{
		{Instance: admin.Summary{Status: wf.Queued}},
		{Instance: admin.Summary{Status: wf.Running, StepsDone: 1, CurrentStep: "count"}, Changed: []admin.Step{done, {Name: "next", Status: "running"}}},
	} {
		if err := w.tell(progress); err != nil {
			t.Fatal(err)
		}
	}
	rest, found := strings.CutPrefix(out.String(), "\r\x1b[K"+strings.Repeat("░", barWidth)+" queued  0 steps done\r\x1b[K")
	_, rest, _ = strings.Cut(rest, "  ")
	if want := "✔ count�[2J #2 0ms\n" + strings.Repeat("█", 12) + strings.Repeat("░", 12) + " running  1 step done  count"; !found || rest != want {
		t.Errorf("got %q, want %q", rest, want)
	}
}

func TestCompletionsOfWorkflows(t *testing.T) {
	t.Parallel()
	p, _ := withWorkflow(t)
	for line, want := range map[string]string{
		"workflows trigger ":                 "GREET",
		"workflows instances pause ":         "GREET",
		"workflows instances watch GREET ":   "latest",
		"workflows instances list --status ": "terminated",
		"durable instances ":                 "send-event",
	} {
		args := append([]string{"__complete", "--config", p.config}, strings.Split(line, " ")...)
		var out strings.Builder
		program := &program{in: strings.NewReader(""), out: &out, err: io.Discard, env: p.lookup}
		if code := program.run(t.Context(), args); code != exitOK || !slices.Contains(strings.Fields(out.String()), want) {
			t.Errorf("%s: %d, want %q in %s", line, code, want, out.String())
		}
	}
}
