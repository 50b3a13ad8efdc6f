//go:build unix

package typescript_test

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"sp00ky.cloud/spky/integration/internal/durable"
)

// TestConformance runs every case of the table through a real node and real Node.js processes: plainly, with the process
// killed by SIGKILL after each step that it has stored, and with a run for every step.
func TestConformance(t *testing.T) {
	t.Parallel()
	build(t)
	all := durable.Load(t)
	for _, mode := range []string{"plain", "kill", "replay"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newTheatre(t, all, mode)
			t.Run("cases", func(t *testing.T) { // ends when all of them have
				for _, c := range all.Cases {
					c, ok := c.In(mode)
					if !ok {
						continue
					}
					t.Run(c.ID, func(t *testing.T) {
						t.Parallel()
						p.perform(t, c)
					})
				}
			})
		})
	}
}

// A theatre has the processes of one mode.
type theatre struct {
	*rig
	mode    string
	env     map[string]string
	reports *reports
	// shared are the processes of cases in which nothing is killed.
	shared *lives
	routes *routes
}

func newTheatre(t *testing.T, all table, mode string) *theatre {
	r := &reports{stages: map[string]*stage{}, path: filepath.Join(t.TempDir(), "reports")}
	for _, c := range all.Cases {
		r.stages[c.ID] = newStage(c, r)
	}
	check(t, os.WriteFile(r.path, nil, 0o600))
	p := &theatre{rig: newRig(t), mode: mode, reports: r, routes: &routes{}}
	absolute, err := filepath.Abs(durable.TablePath)
	check(t, err)
	p.env = map[string]string{"TABLE": absolute, "STAGE_URL": p.Serve(r), "STAGE_LOG": r.path}
	p.shared = p.company(t, false)
	p.routes.others = p.shared
	p.StartNode(p.Serve(p.routes))
	return p
}

// company starts the processes that follow each other.
func (p *theatre) company(t *testing.T, die bool) *lives {
	r := p.on(t)
	env := maps.Clone(p.env)
	if die {
		env["DIE"] = "1"
	}
	l := r.newLives(func() *backend { return r.spawn("build/stage/main.js", env) })
	l.stepwise = p.mode == "replay"
	return l
}

func (p *theatre) perform(t *testing.T, c conformance) {
	d := &director{rig: p.on(t), stage: p.reports.stages[c.ID], control: p.shared.current()}
	if p.mode == "kill" || slices.ContainsFunc(c.Script, func(a action) bool { return a.Kill }) {
		d.lives = p.company(t, p.mode == "kill")
		p.routes.set(d.stage.binding, d.lives)
	}
	d.play(c.Script)
	d.Judge(d.current, c.Expect, d.stage.saw)
	row := d.Instance(d.current)
	if p.mode == "kill" && row.StepsDone > 0 && d.lives.deaths == 0 {
		t.Error("the process was never killed")
	}
	if p.mode == "replay" && row.StepsDone > 1 && row.Runs < 2 {
		t.Errorf("%d steps were done in %d runs: nothing was replayed", row.StepsDone, row.Runs)
	}
}

// TestDurations reads every duration of the table.
func TestDurations(t *testing.T) {
	t.Parallel()
	build(t)
	all := durable.Load(t)
	p := newTheatre(t, table{Cases: all.Cases[:1]}, "plain")
	d := &director{rig: p.rig, stage: p.reports.stages[all.Cases[0].ID], control: p.shared.current()}
	for _, c := range all.Durations {
		var ms int64
		refused, err := d.ask(map[string]any{"duration": c.Text}, &ms)
		check(t, err)
		if (refused != "") != c.Refused || ms != c.MS {
			t.Errorf("%q is read as %d ms (%s), want %d ms, refused %t", c.Text, ms, refused, c.MS, c.Refused)
		}
	}
}

// Routes hand the requests for a binding to its own processes, as a load balancer does.
type routes struct {
	own    sync.Map
	others http.Handler
}

func (r *routes) set(binding string, to http.Handler) { r.own.Store(binding, to) }

func (r *routes) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if own, ok := r.own.Load(req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]); ok {
		own.(http.Handler).ServeHTTP(w, req) //nolint:forcetypeassert // set stores nothing else
		return
	}
	r.others.ServeHTTP(w, req)
}
