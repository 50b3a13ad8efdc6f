package mcp

import (
	"context"

	"sp00ky.cloud/spky/admin"
)

// maxJobID bounds the id of a job: any record may be one, but nobody writes longer ones by hand.
const maxJobID = 1000

// offerJobs adds the tools of jobs.
func (s *Server) offerJobs() {
	s.offerJobList()
	s.offerJobGet()
	offerActions(s, s.jobActions(), func(in oneJobIn) string { return in.ID }, func(p properties) { p.longest("id", maxJobID) })
}

type oneJobIn struct {
	ID string `json:"id" jsonschema:"the job's record id, as lists have it, such as job:ab12"`
}

func (s *Server) jobActions() []action {
	const cancel = "Ends a job that is pending or running: a pending one at once, a running one by aborting its request on the node that holds it. "
	const next = "it ends as cancelled; a running request is aborted"
	return []action{
		{
			name: "job_cancel", title: "Cancel a job", effect: destroys, again: true, do: found(s.cfg.Jobs.Cancel), next: next,
			when: cancel + "The backend may have done a part of the work. A job of a workflow instance is given to it again: use durable_instance_cancel for those.",
		},
		{
			name: "job_kill", title: "Kill a job", effect: destroys, again: true, do: found(s.cfg.Jobs.Cancel), next: next,
			when: cancel + "The same as job_cancel, under the name that the sp00ky framework has for it.",
		},
		{
			name: "job_retry", title: "Retry a job", effect: changes, do: found(s.cfg.Jobs.Retry),
			when: "Makes a finished job run again from its first attempt; the errors and the result it had are forgotten. Use it once the cause of its failure is mended.",
			next: "it is pending and runs once a node and its backend are there",
		},
	}
}

type jobsIn struct {
	Status  string `json:"status,omitempty" jsonschema:"only jobs in this state"`
	Table   string `json:"table,omitempty" jsonschema:"only jobs of this outbox table"`
	Backend string `json:"backend,omitempty" jsonschema:"only jobs of this backend, by its name in sp00ky.yml"`
	Origin  string `json:"origin,omitempty" jsonschema:"durable: jobs that run workflow instances; app: all others"`
	Query   string `json:"q,omitempty" jsonschema:"only jobs with this in their path or id"`
	Stalled bool   `json:"stalled,omitempty" jsonschema:"only jobs whose node is gone while they ran"`
	Limit   int    `json:"limit,omitempty" jsonschema:"how many rows at most"`
	Cursor  string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
}

type jobsOut struct {
	Jobs []jobRow `json:"jobs"`
	Next string   `json:"next_cursor,omitempty" jsonschema:"call again with it for the next page; absent on the last. A page with few rows may have a next one"`
}

func (s *Server) offerJobList() {
	offer(s, tool[jobsIn, jobsOut]{
		name: "jobs_list", title: "List jobs",
		when: "Lists jobs of the outbox tables, newest first, without payloads, results and errors. Use it to find jobs by state, backend or path; " +
			"then job_get for one of them. For workflow instances use durable_instances_list.",
		narrow: func(p properties) {
			p.enum("status", words(admin.JobStatuses())...)
			p.enum("origin", admin.Origins()...)
			p.longest("table", 100)
			p.longest("backend", 200)
			p.longest("q", 200)
			p.longest("cursor", 2*maxJobID)
			p.limit(defaultRows, mostRows)
		},
		call: s.listJobs,
		text: func(o jobsOut) string {
			return listed([]string{"id", "status", "path", "note"}, o.Jobs, o.Next)
		},
	})
}

func (s *Server) listJobs(ctx context.Context, in jobsIn) (jobsOut, error) {
	page, err := s.cfg.Jobs.List(ctx, admin.JobListOptions{
		Status: admin.JobStatus(in.Status), Table: in.Table, Backend: in.Backend, Origin: in.Origin, Query: in.Query, Stalled: in.Stalled,
		Cursor: in.Cursor, Limit: rows(in.Limit),
	})
	if err != nil {
		return jobsOut{}, err
	}
	out := jobsOut{Jobs: []jobRow{}, Next: page.Next}
	for _, j := range page.Jobs {
		out.Jobs = append(out.Jobs, newJobRow(j, page.Now))
	}
	return out, nil
}
