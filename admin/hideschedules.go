package admin

import (
	"context"

	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
)

// schedules hides in what schedules tell of themselves and of their newest run.
func (h hider) schedules(ctx context.Context, rows []scheduleRow) error {
	var last []runRow
	for i := range rows {
		rows[i].Trouble = h.trouble(rows[i].Row)
		if run := rows[i].LastRun; run != nil {
			last = append(last, *run)
		}
	}
	if err := h.scheduleRuns(ctx, last); err != nil {
		return err
	}
	for i := range rows {
		if rows[i].LastRun != nil {
			rows[i].LastRun, last = &last[0], last[1:]
		}
	}
	return nil
}

// trouble is why a tick can't be started: what the database says of a job or an instance that it refuses may repeat the
// payload that the configuration gives it.
func (h hider) trouble(row schedule.Row) string {
	m := h.rules.Mask()
	m.Add("payload", row.Spec.Payload)
	m.Add("params", row.Spec.Payload)
	return m.Text(row.Trouble)
}

// scheduleRuns hides in the reasons of runs, which are those of the job, the instance or the run of a DAG that was started.
func (h hider) scheduleRuns(ctx context.Context, rows []runRow) error {
	var started targets
	for _, row := range rows {
		if row.Target != nil && row.Reason != "" && !h.rules.Empty() {
			started.add(*row.Target)
		}
	}
	found, err := started.masks(ctx, h)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if row.Target != nil && !h.rules.Empty() {
			rows[i].Reason = found.of(surreal.FormatID(*row.Target)).Text(row.Reason)
		}
	}
	return nil
}

// targets are what schedules started.
type targets struct {
	jobs  []surreal.RecordID
	lives []life
	runs  []string
}

// runTable is where runs of DAGs are.
const runTable = "_00_workflow_run"

func (t *targets) add(id surreal.RecordID) {
	switch id.Table {
	case instanceTable:
		t.lives = append(t.lives, life{key(id), present})
	case runTable:
		t.runs = append(t.runs, textIn(id.ID))
	default:
		t.jobs = append(t.jobs, id)
	}
}

// masks answers with those of all, by their ids as texts.
func (t *targets) masks(ctx context.Context, h hider) (masks, error) {
	all, err := h.jobs(ctx, t.jobs)
	if err != nil {
		return nil, err
	}
	add := func(more masks, table string) {
		for id, m := range more {
			all[surreal.FormatID(surreal.RecordID{Table: table, ID: id})] = m
		}
	}
	lives, err := h.instances(ctx, t.lives)
	if err != nil {
		return nil, err
	}
	add(lives, instanceTable)
	runs, err := h.runs(ctx, t.runs)
	add(runs, runTable)
	return all, err
}
