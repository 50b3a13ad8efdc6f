package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/outbox"
)

type newJob struct {
	Table         string          `json:"table,omitempty" jsonschema:"the outbox table; it, or backend, is needed where there are several"`
	Backend       string          `json:"backend,omitempty" jsonschema:"the backend whose outbox table it goes to"`
	ID            string          `json:"id,omitempty" jsonschema:"a key, or a whole record id of the table; a random one where it is left out"`
	Path          string          `json:"path" jsonschema:"the route to POST to, such as /documents/index"`
	Payload       json.RawMessage `json:"payload,omitempty" jsonschema:"JSON; none where it is left out"`
	MaxRetries    *int            `json:"max_retries,omitempty" jsonschema:"how many attempts at most, the first included, 1 to 100; the table's default where it is left out"`
	RetryStrategy string          `json:"retry_strategy,omitempty" jsonschema:"linear or exponential; the table's default where it is left out"`
	Timeout       *int            `json:"timeout,omitempty" jsonschema:"of an attempt, in seconds, 1 to 3600; the backend's where it is left out"`
	Delay         int64           `json:"delay,omitempty" jsonschema:"until it is due, in milliseconds, at most 365 days"`
	AssignedTo    string          `json:"assigned_to,omitempty" jsonschema:"the record that the job belongs to, such as user:abc"`
}

type clearing struct {
	Table *string `json:"table,omitempty" jsonschema:"the outbox table; all of them where it is left out"`
	All   bool    `json:"all,omitempty" jsonschema:"pending jobs too"`
}

// jobRoutes are about jobs.
func (s *Server) jobRoutes() []route {
	j := s.cfg.Jobs
	missing := []int{http.StatusNotFound, http.StatusUnprocessableEntity}
	table := text("table", "Only jobs of this outbox table.")
	return []route{
		{
			method: http.MethodGet, path: "/jobs", name: "listJobs", tag: "jobs", scope: scopeRead,
			says: "Jobs of all outbox tables, newest first, without payload, result and errors.",
			query: append([]param{
				oneOf("status", "Only jobs in this state.", outbox.Statuses()...), table,
				text("backend", "Only jobs of this backend."), oneOf("origin", "Only jobs from there.", admin.Origins()...),
				text("q", "Only jobs with this in their path or id."), yesNo("stalled", "Only jobs whose lease has run out while they ran."),
			}, page()...),
			answer: admin.JobPage{}, serve: func(c *call) (any, error) { return s.listJobs(c) },
		},
		{
			method: http.MethodPost, path: "/jobs", name: "createJob", tag: "jobs", scope: scopeFull, says: "Writes a job.",
			body: newJob{}, answer: created{}, status: http.StatusCreated, refuses: []int{http.StatusConflict},
			serve: func(c *call) (any, error) {
				n, err := body[newJob](c).job()
				if err != nil {
					return nil, err
				}
				id, err := j.Create(c.r.Context(), n)
				return created{id}, err
			},
		},
		{
			method: http.MethodPost, path: "/jobs/clear", name: "clearJobs", tag: "jobs", scope: scopeFull,
			says: "Deletes finished jobs, with all pending ones too; never those that run.",
			body: clearing{}, answer: admin.Cleared{}, serve: func(c *call) (any, error) {
				what := body[clearing](c)
				table, err := named("table", what.Table)
				if err != nil {
					return nil, err
				}
				return j.Clear(c.r.Context(), table, what.All)
			},
		},
		{
			method: http.MethodGet, path: "/jobs/stream", name: "streamJobs", tag: "jobs", scope: scopeRead, query: []param{table},
			says:   "Every change of a job, best effort: read what matters again after an event with gap, after lost, and after connecting anew.",
			events: map[string]any{"jobs": admin.JobChange{}}, streams: s.streamJobs,
		},
		{
			method: http.MethodGet, path: "/jobs/{id}", name: "getJob", tag: "jobs", scope: scopeRead, says: "A job with its payload, result and errors.",
			answer: admin.Job{}, refuses: missing, serve: func(c *call) (any, error) { return j.Get(c.r.Context(), c.id("id")) },
		},
		{
			method: http.MethodGet, path: "/jobs/{id}/stream", name: "streamJob", tag: "jobs", scope: scopeRead,
			says:   "A job as it moves: one event at once and one after each change, until it is finished.",
			events: map[string]any{"job": admin.Job{}}, refuses: missing, streams: func(c *call, out *stream) error {
				return follow(c.r.Context(), out, s.jobs.join(c.id("id")), func(job admin.Job) error { return out.event("job", "", job) })
			},
		},
	}
}

func (n newJob) job() (admin.NewJob, error) {
	attempts, err := counted("max_retries", n.MaxRetries, outbox.MaxAttempts)
	if err != nil {
		return admin.NewJob{}, err
	}
	seconds, err := counted("timeout", n.Timeout, admin.MaxTimeout)
	return admin.NewJob{
		Table: n.Table, Backend: n.Backend, ID: n.ID, Path: n.Path, Payload: n.Payload, MaxRetries: attempts, RetryStrategy: n.RetryStrategy,
		Timeout: seconds, Delay: n.Delay, AssignedTo: n.AssignedTo,
	}, err
}

func (s *Server) listJobs(c *call) (admin.JobPage, error) {
	return s.cfg.Jobs.List(c.r.Context(), admin.JobListOptions{
		Status: admin.JobStatus(c.text("status")), Table: c.text("table"), Backend: c.text("backend"), Origin: c.text("origin"),
		Query: c.text("q"), Stalled: c.yes("stalled"), Cursor: c.text("cursor"), Limit: c.number("limit"),
	})
}

// jobVerbs act on jobs.
func (s *Server) jobVerbs() []route {
	j := s.cfg.Jobs
	verbs := []struct {
		path, name, says string
		do               func(context.Context, string) (admin.JobStatus, error)
	}{
		{"cancel", "cancelJob", "Ends a pending job at once, and has the node that runs one abort its request.", j.Cancel},
		{"kill", "killJob", "The same as cancel.", j.Cancel},
		{"retry", "retryJob", "Makes a finished job run again from its first attempt.", j.Retry},
	}
	var all []route
	for _, v := range verbs {
		all = append(all, route{
			method: http.MethodPost, path: "/jobs/{id}/" + v.path, name: v.name, tag: "jobs", scope: scopeFull, says: v.says,
			answer: Acted{}, refuses: []int{http.StatusNotFound, http.StatusConflict}, serve: func(c *call) (any, error) {
				was, err := v.do(c.r.Context(), c.id("id"))
				return Acted{c.id("id"), string(was)}, err
			},
		})
	}
	return all
}

// streamJobs tells what happens to jobs. What is wrong with the table is told before it begins.
func (s *Server) streamJobs(c *call, out *stream) error {
	table := c.text("table")
	if tables := s.cfg.Jobs.Tables(); table != "" && !slices.Contains(tables, table) {
		return admin.NewInputError("table " + short(table) + " is no outbox table")
	}
	reader := s.changes.join(table)
	if err := out.write(": listening\n\n"); err != nil {
		reader.leave()
		return err
	}
	return follow(c.r.Context(), out, reader, func(change admin.JobChange) error { return out.event("jobs", "", change) })
}

// explainRoutes say why something does not run.
func (s *Server) explainRoutes() []route {
	e := s.cfg.Explainer
	missing := []int{http.StatusNotFound, http.StatusUnprocessableEntity}
	return []route{
		{
			method: http.MethodGet, path: "/jobs/{id}/explain", name: "explainJob", tag: "jobs", scope: scopeRead,
			says: "Why a job is not running, or is in the state it is in, and what can be done.", answer: admin.Explanation{}, refuses: missing,
			serve: func(c *call) (any, error) { return e.Job(c.r.Context(), c.id("id")) },
		},
		{
			method: http.MethodGet, path: "/durable/instances/{id}/explain", name: "explainInstance", tag: "durable", scope: scopeRead,
			says: "Why an instance is not running, or is in the state it is in, and what can be done.", answer: admin.Explanation{}, refuses: missing,
			serve: func(c *call) (any, error) { return e.Instance(c.r.Context(), c.id("id")) },
		},
		{
			method: http.MethodGet, path: "/workflows/runs/{id}/explain", name: "explainRun", tag: "dags", scope: scopeRead,
			says: "Why a run of a DAG is in the state it is in, what its jobs wait for, and what can be done.", answer: admin.Explanation{}, refuses: missing,
			serve: func(c *call) (any, error) { return e.Run(c.r.Context(), c.id("id")) },
		},
		{
			method: http.MethodGet, path: "/schedules/{name}/explain", name: "explainSchedule", tag: "schedules", scope: scopeRead,
			says: "When a schedule or DAG starts something, why not now, and what can be done.", answer: admin.Explanation{}, refuses: missing,
			serve: func(c *call) (any, error) { return e.Schedule(c.r.Context(), c.id("name")) },
		},
	}
}
