package dashboard

import (
	"fmt"
	"net/url"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
)

// dagsView is the content of the list of DAGs.
type dagsView struct{ DAGs []admin.DAG }

func (d *Dashboard) dags(v *visit) error {
	all, err := d.cfg.DAGs.List(v.ctx())
	if err != nil {
		return err
	}
	return d.show(v, "dags", d.view(v, "dags", "DAGs", dagsView{all}).watching(api.TopicDAGs, ""))
}

// dagView is the content of a DAG's page.
type dagView struct {
	admin.DAG

	Graph  graph
	Runs   []admin.DAGRun
	Query  query
	States []string
	// Wrong is what cannot be meant by the filters, Next the address of the next page of runs, "" after the last one.
	Wrong, Next string
}

func (d *Dashboard) dag(v *visit) error {
	one, err := d.cfg.DAGs.Get(v.ctx(), v.id("name"))
	if err != nil {
		return err
	}
	content := dagView{DAG: one, Query: queryOf(v, "status", "cursor"), States: admin.RunStatuses()}
	page, err := d.cfg.DAGs.ListRuns(v.ctx(), admin.RunListOptions{
		DAG: one.Name, Status: content.Query.Get("status"), Cursor: content.Query.Get("cursor"), Limit: pageRows,
	})
	if content.Wrong, err = meant(err); err != nil {
		return err
	}
	content.Runs = page.Runs
	if page.Next != "" {
		content.Next = content.Query.With("cursor", page.Next)
	}
	nodes := make([]node, 0, len(one.Steps))
	for _, s := range one.Steps {
		nodes = append(nodes, node{name: s.Name, note: s.Backend + " " + s.Route, dependsOn: s.DependsOn})
	}
	content.Graph = newGraph(nodes)
	return d.show(v, "dag", d.view(v, "dags", one.Name, content).watching(api.TopicDAGs, ""))
}

// runView is the content of the page of one run.
type runView struct {
	admin.DetailedRun

	Verbs []string
	Graph graph
	Line  []runRow
	Span  string
}

// A runRow is a step of a run on a line of time.
type runRow struct {
	admin.StepRun

	Key  string
	Bars []bar
	Took string
}

func (d *Dashboard) run(v *visit) error {
	one, err := d.cfg.DAGs.Run(v.ctx(), v.id("id"))
	if err != nil {
		return err
	}
	content := runView{DetailedRun: one, Verbs: one.Verbs()}
	nodes := make([]node, 0, len(one.Steps))
	for _, s := range one.Steps {
		n := node{name: s.Name, state: s.Status, note: s.Status, dependsOn: s.DependsOn}
		if s.Job != "" && len(s.Job) <= maxLink {
			n.href = jobLink(s.Job)
		}
		nodes = append(nodes, n)
	}
	content.Graph = newGraph(nodes)
	content.draw(d.now())
	return d.show(v, "run", d.view(v, "dags", one.ID, content).watching(api.TopicRun, one.ID).moving(one.FinishedAt == nil, growing))
}

// draw puts the steps on a line of time, as they are at a moment.
func (c *runView) draw(now time.Time) {
	ended := now
	if c.FinishedAt != nil {
		ended = *c.FinishedAt
	}
	var busy []stretch
	for _, s := range c.Steps {
		if s.StartedAt != nil {
			busy = append(busy, stretch{*s.StartedAt, stepEnd(s, ended)})
		}
	}
	line := newScale(c.StartedAt, later(c.StartedAt, ended), busy)
	c.Span = span(ended.Sub(c.StartedAt))
	for _, s := range c.Steps {
		r := runRow{StepRun: s, Key: mark("run step", s.Name)}
		if s.StartedAt != nil {
			to := stepEnd(s, ended)
			r.Took = span(to.Sub(*s.StartedAt))
			x := line.at(*s.StartedAt)
			r.Bars = []bar{{
				X: min(x, 100-thinnest), W: max(line.at(to)-x, thinnest), Class: map[string]string{"good": "done", "bad": "failed", "busy": "busy"}[tone(s.Status)],
				Title: fmt.Sprintf("%s, %s", s.Status, r.Took),
			}}
		}
		c.Line = append(c.Line, r)
	}
}

func stepEnd(s admin.StepRun, ended time.Time) time.Time {
	if s.FinishedAt != nil {
		return *s.FinishedAt
	}
	return later(*s.StartedAt, ended)
}

// actOnDAG does to a DAG what its page offers.
func (d *Dashboard) actOnDAG(v *visit) error {
	name, w := v.id("name"), d.cfg.Schedules
	return d.act(v, prefix+"/dags/"+url.PathEscape(name), map[string]action{
		"pause":  plainly(v, w.Pause, name, "No tick starts anything more; what runs goes on."),
		"resume": plainly(v, w.Resume, name, "It goes on with its next tick."),
		"trigger": func() (outcome, error) {
			t, err := d.cfg.DAGs.Trigger(v.ctx(), name)
			if len(t.Runs) == 1 && t.Skipped == 0 {
				return outcome{"It was started.", runAddress(t.Runs[0])}, err
			}
			return outcome{told: started(t.Started, t.Skipped)}, err
		},
	})
}

func runAddress(id string) string { return prefix + "/runs/" + url.PathEscape(id) }

// actOnRun does to a run what its page offers.
func (d *Dashboard) actOnRun(v *visit) error {
	id, w := v.id("id"), d.cfg.DAGs
	return d.act(v, runAddress(id), map[string]action{
		"cancel": plainly(v, w.Cancel, id, "Nothing more of it begins, and its jobs are asked to end."),
		"retry":  plainly(v, w.Retry, id, "It goes on with the steps that did not succeed."),
		"rerun": func() (outcome, error) {
			again, err := w.Rerun(v.ctx(), id)
			return outcome{"It was started again.", runAddress(again)}, err
		},
	})
}
