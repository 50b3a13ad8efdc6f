package api

import (
	"net/http"

	"sp00ky.cloud/spky/admin"
)

type dags struct {
	DAGs []admin.DAG `json:"dags" jsonschema:"by name"`
}

// DAG is a DAG with its newest runs.
type DAG struct {
	admin.DAG

	Runs []admin.DAGRun `json:"runs" jsonschema:"the newest first"`
}

type cancelledRun struct {
	Run    string `json:"run" jsonschema:"the run's id"`
	Status string `json:"status" jsonschema:"the state that it was found in"`
}

type retriedRun struct {
	Run string `json:"run" jsonschema:"the run's id"`
	admin.RetriedRun
}

type startedRun struct {
	Run string `json:"run" jsonschema:"the new run's id"`
}

// dagRoutes are about jobs that wait for one another, and their runs.
func (s *Server) dagRoutes() []route {
	d := s.cfg.DAGs
	return []route{
		{
			method: http.MethodGet, path: "/dags", name: "listDAGs", tag: "dags", scope: scopeRead,
			says:   "The DAGs that nodes have written into the database, with the next tick and the newest run of each.",
			answer: dags{}, serve: func(c *call) (any, error) {
				all, err := d.List(c.r.Context())
				return dags{all}, err
			},
		},
		{
			method: http.MethodGet, path: "/dags/{name}", name: "getDAG", tag: "dags", scope: scopeRead, says: "A DAG and its newest runs.",
			query:  []param{number("runs", "How many runs at most; 50 by default.", 1, 200)},
			answer: DAG{}, refuses: []int{http.StatusNotFound}, serve: func(c *call) (any, error) { return s.dag(c) },
		},
		{
			method: http.MethodPost, path: "/dags/{name}/trigger", name: "triggerDAG", tag: "dags", scope: scopeFull,
			says:   "Starts a run now, or one for each row of forEach, also while the DAG is paused. Its ticks stay as they are.",
			answer: admin.StartedRuns{}, refuses: []int{http.StatusNotFound, http.StatusConflict},
			serve: func(c *call) (any, error) { return d.Trigger(c.r.Context(), c.id("name")) },
		},
		{
			method: http.MethodGet, path: "/workflows/runs", name: "listRuns", tag: "dags", scope: scopeRead, says: "Runs of a DAG, newest first.",
			query: []param{
				text("workflow", "The DAG's name; required."), oneOf("status", "Only runs in this state.", admin.RunStatuses()...),
				number("limit", "How many at most; 50 by default.", 1, 200), longText("cursor", "The next of the page before."),
			},
			answer: admin.RunPage{}, refuses: []int{http.StatusNotFound, http.StatusUnprocessableEntity}, serve: func(c *call) (any, error) { return s.runs(c) },
		},
		{
			method: http.MethodGet, path: "/workflows/runs/{id}", name: "getRun", tag: "dags", scope: scopeRead, says: "A run with its steps.",
			answer: admin.DetailedRun{}, refuses: []int{http.StatusNotFound}, serve: func(c *call) (any, error) { return d.Run(c.r.Context(), c.id("id")) },
		},
	}
}

// dagVerbs act on runs.
func (s *Server) dagVerbs() []route {
	d := s.cfg.DAGs
	refuses := []int{http.StatusNotFound, http.StatusConflict}
	return []route{
		{
			method: http.MethodPost, path: "/workflows/runs/{id}/cancel", name: "cancelRun", tag: "dags", scope: scopeFull, status: http.StatusAccepted,
			says:   "Lets nothing more of a run begin, and asks its jobs to end; once they have, it is killed.",
			answer: cancelledRun{}, refuses: refuses, serve: func(c *call) (any, error) {
				was, err := d.Cancel(c.r.Context(), c.id("id"))
				return cancelledRun{c.id("id"), was}, err
			},
		},
		{
			method: http.MethodPost, path: "/workflows/runs/{id}/retry", name: "retryRun", tag: "dags", scope: scopeFull,
			says:   "Goes on with a run that failed or was killed: steps that did not succeed begin anew, with new jobs.",
			answer: retriedRun{}, refuses: refuses, serve: func(c *call) (any, error) {
				done, err := d.Retry(c.r.Context(), c.id("id"))
				return retriedRun{c.id("id"), done}, err
			},
		},
		{
			method: http.MethodPost, path: "/workflows/runs/{id}/rerun", name: "rerunRun", tag: "dags", scope: scopeFull, status: http.StatusCreated,
			says:   "Starts a new run with the input of one, and the steps that the configuration has now.",
			answer: startedRun{}, refuses: refuses, serve: func(c *call) (any, error) {
				run, err := d.Rerun(c.r.Context(), c.id("id"))
				return startedRun{run}, err
			},
		},
	}
}

// runs are those of the DAG that the query names. Where there are none, the DAG has to be there.
func (s *Server) runs(c *call) (admin.RunPage, error) {
	ctx, name := c.r.Context(), c.text("workflow")
	if name == "" {
		return admin.RunPage{}, admin.NewInputError("the query has no workflow; give it the name of a DAG")
	}
	page, err := s.cfg.DAGs.ListRuns(ctx, admin.RunListOptions{DAG: name, Status: c.text("status"), Limit: c.number("limit"), Cursor: c.text("cursor")})
	if err == nil && len(page.Runs) == 0 {
		_, err = s.cfg.DAGs.Get(ctx, name)
	}
	return page, err
}

func (s *Server) dag(c *call) (DAG, error) {
	one, err := s.cfg.DAGs.Get(c.r.Context(), c.id("name"))
	if err != nil {
		return DAG{}, err
	}
	runs, err := s.cfg.DAGs.Runs(c.r.Context(), one.Name, "", c.number("runs"))
	return DAG{one, runs}, err
}
