package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/faultproxy"
)

// A platform plays runner and backend, with the calls that they would make.
type platform struct {
	t      *testing.T
	ctx    context.Context
	target devdbtest.Target
	root   *surreal.Client
}

func newPlatform(t *testing.T) *platform {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p := &platform{t: t, ctx: ctx, target: devdbtest.Fresh(t)}
	root, stop, err := surreal.Connect(ctx, surreal.Config{
		Endpoint: p.target.Endpoint, Namespace: p.target.Namespace, Database: p.target.Database, Username: p.target.User, Password: p.target.Password,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	p.root = root
	if _, err := schema.Apply(ctx, root); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"../schema/schema.surql", "../schema/job.surql"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p.do(string(content), nil)
	}
	if _, err := schema.PrepareOutbox(ctx, root, "job"); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *platform) do(surql string, vars map[string]any) {
	p.t.Helper()
	if err := surreal.Exec(p.ctx, p.root.Retrying(), surql, vars); err != nil {
		p.t.Fatalf("%s: %v", surql, err)
	}
}

// create makes an instance for the user whose job it is.
func (p *platform) create(id string) {
	p.t.Helper()
	p.do(`RETURN fn::spky::wf::create({ id: $id, binding: 'INGEST', params: {}, backend: NONE, version: NONE, job_table: 'job',
		owner: (SELECT VALUE assigned_to FROM job WHERE path = '/materials')[0] })`, map[string]any{"id": id})
}

func (p *platform) acquire(id string) {
	p.t.Helper()
	p.do("RETURN fn::spky::wf::acquire($id, 'INGEST', NONE, 'run', 15s)", map[string]any{"id": id})
}

func (p *platform) commit(id, step string, output any) {
	p.t.Helper()
	p.do(`RETURN fn::spky::wf::commit_step({ instance: type::record('_00_wf_instance', $id), fence: 1, ttl: 15s, name: $step }, {
		id: _00_wf_step:[$id, 0, 'do', $step, 1], instance: type::record('_00_wf_instance', $id),
		owner: type::record('_00_wf_instance', $id).owner, seq: 1, kind: 'do', name: $step, occurrence: 1,
		status: 'complete', attempts: [], output: $output, started_at: time::now(), finished_at: time::now() }, NONE)`, map[string]any{"id": id, "step": step, "output": output})
}

// A transcript is output that can be waited for.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newTranscript() *transcript { return &transcript{more: make(chan struct{})} }

func (s *transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(b)
	close(s.more)
	s.more = make(chan struct{})
	return len(b), nil
}

func (s *transcript) now() (string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String(), s.more
}

// await waits until a text has been written.
func (s *transcript) await(p *platform, text string) {
	p.t.Helper()
	for {
		all, more := s.now()
		if strings.Contains(all, text) {
			return
		}
		select {
		case <-more:
		case <-p.ctx.Done():
			p.t.Fatalf("%q was not written, but\n%s", text, all)
		}
	}
}

// start runs the program against the platform, behind a proxy that can cut its connection.
func (p *platform) start(args ...string) (out *transcript, proxy *faultproxy.Proxy, ended <-chan error) {
	p.t.Helper()
	proxy, err := faultproxy.Listen(p.target.Endpoint)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = proxy.Close() })
	args = append([]string{"-db", "ws://" + proxy.Addr(), "-ns", p.target.Namespace, "-name", p.target.Database}, args...)
	o, err := parse(args, func(string) string { return "" }, io.Discard)
	if err != nil {
		p.t.Fatal(err)
	}
	out = newTranscript()
	result := make(chan error, 1)
	go func() { result <- run(p.ctx, o, out) }()
	return out, proxy, result
}

// TestProgress shows an instance from its creation to its end, and through a lost connection.
func TestProgress(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	p.create("nobodys")
	out, proxy, ended := p.start("-document", "gettysburg")
	out.await(p, "asked for a material of gettysburg with job:")
	p.create("mine")
	p.do(`RETURN fn::spky::wf::create({ id: 'others', binding: 'INGEST', params: {}, backend: NONE, version: NONE, job_table: 'job', owner: user:other })`, nil)
	out.await(p, "0 steps done  queued")
	p.acquire("mine")
	p.commit("mine", "count pages", map[string]any{"pages": 20, "steps": 6})
	out.await(p, "1 of 6 steps  running: count pages")
	proxy.Reset()
	p.commit("mine", "convert pages 1 to 10", 10)
	out.await(p, "██████████░░░░░░░░░░░░░░░░░░░░ 2 of 6 steps  running: convert pages 1 to 10")
	p.do("RETURN fn::spky::wf::suspend({ id: 'mine', fence: 1, waiting_for: { kind: 'event', name: 'review', types: ['reviewed'] }, wake_at: time::now() + 1d, events: ['reviewed'] })", nil)
	out.await(p, "waiting for event reviewed (review), until ")
	out.await(p, "send-event INGEST mine --type reviewed")
	p.acquire("mine")
	p.do("RETURN fn::spky::wf::finish({ id: 'mine', fence: 2, status: 'complete', output: { edition: 1 } })", nil)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	all, _ := out.now()
	if !strings.Contains(all, strings.Repeat("█", width)) || !strings.HasSuffix(all, "the workflow came to {\"edition\":1}\n") {
		t.Errorf("it wrote\n%s", all)
	}
}

// TestNewestOfAUser comes later, signs in again, and finds one that has failed.
func TestNewestOfAUser(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	who := []string{"-email", "ann@example.com", "-password", "battery staple"}
	first, _, _ := p.start(append(who, "-document", "tyger")...)
	first.await(p, "asked for")
	p.create("old")
	p.create("new")
	p.acquire("new")
	p.commit("new", "count pages", map[string]any{"pages": 20, "steps": 6})
	p.do("RETURN fn::spky::wf::finish({ id: 'new', fence: 1, status: 'errored', output: NONE, error: { name: 'Error', message: 'the review rejected it' } })", nil)
	out, _, ended := p.start(who...)
	if err := <-ended; !errors.Is(err, errUnfinished) {
		t.Errorf("it ended with %v", err)
	}
	all, _ := out.now()
	if !strings.Contains(all, "1 of 6 steps  errored") || !strings.Contains(all, "it failed: the review rejected it") {
		t.Errorf("it wrote\n%s", all)
	}
	_, _, ended = p.start("-email", "ann@example.com", "-password", "wrong")
	err := <-ended
	if err == nil || !strings.Contains(err.Error(), `refuses to sign in by access "account"`) {
		t.Errorf("with a wrong password it ended with %v", err)
	}
}

func TestScreen(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &screen{out: &out, redraw: true}
	s.draw(instance{Status: "running", StepsDone: 3, CurrentStep: "c"}, 6)
	s.draw(instance{Status: "running", StepsDone: 9, CurrentStep: "d"}, 6)
	s.say("done")
	want := "\r\x1b[K" + strings.Repeat("█", 15) + strings.Repeat("░", 15) + " 3 of 6 steps  running: c" +
		"\r\x1b[K" + strings.Repeat("█", 29) + "░ 9 of 6 steps  running: d\ndone\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	if _, err := parse([]string{"x"}, func(string) string { return "" }, &said); err == nil || !strings.Contains(said.String(), `"x"`) {
		t.Errorf("an argument too many: %v, %s", err, said.String())
	}
	o, err := parse(nil, func(name string) string { return map[string]string{"SPKY_DB_URL": "ws://db:8000"}[name] }, &said)
	if err != nil || o.db.Endpoint != "ws://db:8000" || o.db.Namespace != "main" || !o.db.Record.SignUp {
		t.Errorf("from the environment: %+v, %v", o, err)
	}
}
