package mcp

import (
	"context"
	"strings"

	"sp00ky.cloud/spky/admin"
)

// maxCauses bounds the causes that an explanation shows.
const maxCauses = 8

// offerExplanations adds the tools that say why something does not run.
func (s *Server) offerExplanations() {
	offer(s, tool[oneJobIn, admin.Explanation]{
		name: "job_explain", title: "Explain a job",
		when: "Says why a job is not running, or how it ended: not due yet, backend down, slots full, held by a node, attempts exhausted and so on, " +
			"with the facts and what can be done. Use it first when a job does not do what it should.",
		narrow: func(p properties) { p.longest("id", maxJobID) },
		call: func(ctx context.Context, in oneJobIn) (admin.Explanation, error) {
			return shortened(s.cfg.Explainer.Job(ctx, in.ID))
		},
		text: explanationText,
	})
	offer(s, tool[oneInstanceIn, admin.Explanation]{
		name: "durable_instance_explain", title: "Explain a workflow instance",
		when: "Says why a workflow instance is not running, or how it ended: waiting for an event, sleeping, paused, its job's own causes, backend without the workflow " +
			"and so on, with the facts and what can be done. Use it first when an instance does not do what it should.",
		narrow: func(p properties) { p.longest("id", 100) },
		call: func(ctx context.Context, in oneInstanceIn) (admin.Explanation, error) {
			return shortened(s.cfg.Explainer.Instance(ctx, in.ID))
		},
		text: explanationText,
	})
	offer(s, tool[oneRunIn, admin.Explanation]{
		name: "workflow_run_explain", title: "Explain a run of a DAG",
		when: "Says what a run of a DAG waits for, or how it ended: the jobs of its steps with their own causes, steps that failed or wait for others, " +
			"with the facts and what can be done. Use it first when a run does not do what it should.",
		narrow: func(p properties) { p.longest("id", 200) },
		call: func(ctx context.Context, in oneRunIn) (admin.Explanation, error) {
			return shortened(s.cfg.Explainer.Run(ctx, in.ID))
		},
		text: explanationText,
	})
	offer(s, tool[oneTimedIn, admin.Explanation]{
		name: "schedule_explain", title: "Explain a schedule or a DAG",
		when: "Says why a schedule or a DAG starts nothing now: not due yet, paused, its tick overdue or refused, the run before not over, keys in quarantine and so on, " +
			"with the facts and what can be done. Use it first when something that should happen again and again does not.",
		narrow: func(p properties) { p.longest("name", 200) },
		call: func(ctx context.Context, in oneTimedIn) (admin.Explanation, error) {
			return shortened(s.cfg.Explainer.Schedule(ctx, in.Name))
		},
		text: explanationText,
	})
}

type oneTimedIn struct {
	Name string `json:"name" jsonschema:"the schedule's or the DAG's name, as schedules_list and dags_list have it"`
}

func shortened(e admin.Explanation, err error) (admin.Explanation, error) {
	e.Causes = e.Causes[:min(len(e.Causes), maxCauses)]
	return e, err
}

// explanationText is the sentences alone.
func explanationText(e admin.Explanation) string {
	lines := []string{e.Summary}
	for _, c := range e.Causes {
		lines = append(lines, "- "+c.Sentence)
		if c.Remedy != "" {
			lines = append(lines, "  Remedy: "+c.Remedy)
		}
	}
	return strings.Join(lines, "\n")
}
