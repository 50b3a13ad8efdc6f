package mcp

import (
	"context"
	"fmt"
	"time"

	"sp00ky.cloud/spky/admin"
)

const (
	// maxErrors and maxColumns are how many of them an answer about a job shows.
	maxErrors  = 5
	maxColumns = 20
)

type jobIn struct {
	ID string `json:"id" jsonschema:"the job's record id, as lists have it, such as job:ab12"`
	pick
}

// A jobOut is either a job or one value of it.
type jobOut struct {
	Job      *admin.JobSummary `json:"job,omitempty"`
	Instance string            `json:"instance,omitempty" jsonschema:"the workflow instance that the job runs; durable_instance_get shows it"`
	Payload  *value            `json:"payload,omitempty"`
	Result   *value            `json:"result,omitempty"`
	Errors   *errorsPart       `json:"errors,omitempty"`
	Columns  []string          `json:"columns,omitempty" jsonschema:"columns of the application's own; /columns/<name> is the pointer to one"`
	Value    *value            `json:"value,omitempty" jsonschema:"what pointer chose"`
}

type errorsPart struct {
	Total int        `json:"total"`
	Rows  []errorRow `json:"rows" jsonschema:"the last ones"`
}

// An errorRow is why an attempt failed.
type errorRow struct {
	Place  int    `json:"place" jsonschema:"counted from 0: /errors/<place> is the pointer to all of it"`
	At     string `json:"at,omitempty"`
	Code   string `json:"code,omitempty" jsonschema:"the HTTP status of the answer, or a word"`
	Reason string `json:"reason"`
}

func newErrorRow(place int, e admin.JobError) errorRow {
	row := errorRow{Place: place, Reason: cut(e.Reason, 300)}
	if e.Code != nil {
		row.Code = cut(fmt.Sprint(e.Code), 40)
	}
	if e.At != nil {
		row.At = seconds(*e.At)
	}
	return row
}

func (s *Server) offerJobGet() {
	offer(s, tool[jobIn, jobOut]{
		name: "job_get", title: "Look at a job",
		when: "Shows one job: state, attempts, when it is due, which node holds it, payload, result, and why attempts failed. " +
			"Long values are cut; with pointer it shows one value in pieces, for instance /payload, /payload/customer, /result or /errors/0/reason.",
		narrow: func(p properties) {
			p.longest("id", maxJobID)
			narrowPick(p)
		},
		call: s.getJob,
	})
}

func (s *Server) getJob(ctx context.Context, in jobIn) (jobOut, error) {
	j, err := s.cfg.Jobs.Get(ctx, in.ID)
	if err != nil {
		return jobOut{}, err
	}
	if in.Pointer != "" {
		picked, err := in.of(j)
		return jobOut{Value: &picked}, err
	}
	payload, err := whole(j.Payload, "/payload")
	if err != nil {
		return jobOut{}, err
	}
	result, err := whole(j.Result, "/result")
	if err != nil {
		return jobOut{}, err
	}
	summary := j.JobSummary
	summary.Path, summary.AssignedTo = cut(summary.Path, 300), cut(summary.AssignedTo, 300)
	out := jobOut{Job: &summary, Instance: j.Instance, Payload: &payload, Result: &result, Errors: newErrorsPart(j.Errors)}
	for _, name := range sorted(j.Columns) {
		if len(out.Columns) < maxColumns {
			out.Columns = append(out.Columns, cut(name, 100))
		}
	}
	return out, nil
}

func newErrorsPart(errors []admin.JobError) *errorsPart {
	first := max(0, len(errors)-maxErrors)
	part := errorsPart{Total: len(errors), Rows: []errorRow{}}
	for n, e := range errors[first:] {
		part.Rows = append(part.Rows, newErrorRow(first+n, e))
	}
	return &part
}

func (s *Server) jobResource() resource {
	return resource{
		prefix: "spky://jobs/", name: "job", title: "Job",
		what: "A job as job_get shows it. A subscription tells whenever its state or its failed attempts change, until it has finished.",
		read: func(ctx context.Context, id string) (any, error) { return s.getJob(ctx, jobIn{ID: id}) },
		state: func(ctx context.Context, id string) (string, error) {
			j, err := s.cfg.Jobs.Get(ctx, id)
			return jobState(j), err
		},
		watch: func(ctx context.Context, id string, tell func(string) error) error {
			_, err := s.cfg.Jobs.Watch(ctx, id, func(j admin.Job) error { return tell(jobState(j)) })
			return err
		},
	}
}

// jobState differs whenever a job does.
func jobState(j admin.Job) string {
	state := fmt.Sprintf("%s %d %d %d", j.Status, j.LeaseEpoch, j.Retries, len(j.Errors))
	if j.UpdatedAt != nil {
		state += " " + j.UpdatedAt.UTC().Format(time.RFC3339Nano)
	}
	return state
}
