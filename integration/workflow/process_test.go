package workflow_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// errDead is what the database is to a killed process.
var errDead = errors.New("this process was killed")

// A process stands for a backend process that can be killed, and is then followed by a new one with
// the same code.
//
// What is left after a SIGKILL of a process is what it wrote to the database, and requests that never
// get their answer. Both hold here: from the moment of the kill no call of the old engine reaches the
// database any more, not even what its orderly end would write, and every request that it was
// answering ends with a 502, as behind a proxy. What its code does besides, in memory, nobody sees;
// a test that counts calls of functions sees at most what a process killed a little later had done.
// The lease of a run that died is made to end at once, and the job to be due at once: time passes.
// TestKilledProcesses shows the same with processes and SIGKILL.
type process struct {
	rig      *rig
	binding  string
	register func(*wf.Engine)
	// killBefore and killAfter say around which calls to the database the process dies; nil for none.
	killBefore, killAfter func(surql string) bool
	// stepwise gives every run a budget that lets it take one step.
	stepwise bool

	mu     sync.Mutex
	life   *life
	deaths int
}

// A life is one process from its start to its kill.
type life struct {
	process *process
	db      surreal.Querier
	engine  *wf.Engine
	handler http.Handler

	mu   sync.Mutex
	dead bool
}

// newProcess starts a process that serves a binding.
func (r *rig) newProcess(binding string, register func(*wf.Engine)) *process {
	r.t.Helper()
	p := &process{rig: r, binding: binding, register: register}
	p.begin()
	r.mu.Lock()
	r.processes[binding] = append(r.processes[binding], p)
	r.mu.Unlock()
	r.t.Cleanup(func() { closeEngine(r.t, p.current().engine) })
	return p
}

// begin starts the next life.
func (p *process) begin() {
	t := p.rig.t
	l := &life{process: p, db: p.rig.DB.Retrying()}
	engine, err := wf.New(context.Background(), wf.Config{DB: l, OutboxTable: p.rig.Table, Logger: logger(t)})
	if err != nil {
		t.Errorf("start process: %v", err)
		return
	}
	p.register(engine)
	l.engine, l.handler = engine, engine.Handler(http.NotFoundHandler())
	p.mu.Lock()
	p.life = l
	p.mu.Unlock()
}

func (p *process) current() *life {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life
}

// kill ends the process and starts the next.
func (p *process) kill() { p.current().kill() }

func (l *life) kill() {
	l.mu.Lock()
	was := l.dead
	l.dead = true
	l.mu.Unlock()
	if was {
		return
	}
	p := l.process
	p.mu.Lock()
	p.deaths++
	p.mu.Unlock()
	p.begin()
	p.rig.Afterlife.Go(func() { closeEngine(p.rig.t, l.engine) })
}

func (l *life) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// Query is the dead process's way to the database, and ends it where the test wants that.
func (l *life) Query(ctx context.Context, surql string, vars map[string]any) (surreal.Results, error) {
	if kill := l.process.killBefore; kill != nil && kill(surql) {
		l.kill()
	}
	if l.isDead() {
		return nil, errDead
	}
	results, err := l.db.Query(ctx, surql, vars)
	if kill := l.process.killAfter; err == nil && kill != nil && kill(surql) {
		l.kill()
	}
	if l.isDead() {
		return nil, errDead
	}
	return results, err
}

// afterCommit is the moment between two steps.
func afterCommit(surql string) bool {
	for _, function := range []string{"commit_step(", "commit_steps(", "commit_query(", "wf::all("} {
		if strings.Contains(surql, function) {
			return true
		}
	}
	return false
}

// ServeHTTP hands a request to one of the processes of its binding, as a load balancer does.
func (r *world) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	all := r.processes[req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]]
	r.requests++
	turn := r.requests
	r.mu.Unlock()
	if len(all) == 0 {
		http.NotFound(w, req)
		return
	}
	p := all[turn%len(all)]
	l := p.current()
	if p.stepwise {
		req.Header.Set("Spky-Timeout-Ms", "1")
	}
	answer := httptest.NewRecorder()
	l.handler.ServeHTTP(answer, req)
	if l.isDead() {
		p.rig.Pass(req.Header.Get("Spky-Job-Id"))
		http.Error(w, "bad gateway", http.StatusBadGateway)
		return
	}
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // whoever asked may be gone
}
