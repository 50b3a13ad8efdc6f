package admin

import (
	"context"
	"maps"
	"slices"
	"strings"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// jobs answers with the masks of jobs, by their ids as texts, but of those that hold too much.
func (h hider) jobs(ctx context.Context, ids []surreal.RecordID) (masks, error) {
	ids, err := readable(ctx, h, ids, hiddenJobSizes, nil)
	if err != nil {
		return nil, err
	}
	rows, err := hidden(ctx, ids, func(part []surreal.RecordID) ([]outbox.Row, error) {
		return surreal.First[[]outbox.Row](ctx, h.db, "SELECT * FROM $ids", map[string]any{"ids": part})
	})
	if err != nil {
		return nil, err
	}
	return h.rows(ctx, rows)
}

// rows answers with the masks of jobs whose rows were read whole: of what they hold, and of what the instances hold that
// they run.
func (h hider) rows(ctx context.Context, rows []outbox.Row) (masks, error) {
	var of []life
	for _, row := range rows {
		if instance := instanceIn(row); instance != "" {
			of = append(of, life{instance, present})
		}
	}
	lives, err := h.lives(ctx, of)
	if err != nil {
		return nil, err
	}
	all := masks{}
	for _, row := range rows {
		id, _ := row["id"].(surreal.RecordID)
		m := h.ofColumns(row)
		if instance := instanceIn(row); instance != "" {
			if life, ok := lives[instance]; ok {
				life.add(m)
			} else {
				m = redact.Whole()
			}
		}
		all[surreal.FormatID(id)] = m
	}
	return all, nil
}

// instanceIn is the instance that a row names, as jobs that run one do.
func instanceIn(row outbox.Row) string {
	path, _ := row["path"].(string)
	payload, _ := row["payload"].(map[string]any)
	if !strings.HasPrefix(path, durablePath) {
		return ""
	}
	return textIn(payload["instance"])
}

func (h hider) ofColumns(row outbox.Row) *redact.Mask {
	m := h.rules.Mask()
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if name == "payload" || name == "result" || !slices.Contains(knownColumns, name) {
			m.Add(name, row[name])
		}
	}
	return m
}

// job hides in the errors of a job whose row was read whole, and in what its result repeats of them.
func (h hider) job(ctx context.Context, row outbox.Row, job *Job) error {
	_, told := outcomeIn(row)
	if len(job.Errors) == 0 && !told || h.rules.Empty() {
		return nil
	}
	found, err := h.rows(ctx, []outbox.Row{row})
	if err != nil {
		return err
	}
	id, _ := row["id"].(surreal.RecordID)
	h.outcome(job, found.of(surreal.FormatID(id)), row)
	return nil
}

// outcome hides with a job's mask.
func (h hider) outcome(job *Job, m *redact.Mask, row outbox.Row) {
	for i := range job.Errors {
		job.Errors[i].hide(m)
	}
	if result, told := outcomeIn(row); told {
		job.Result = h.rules.Value("result", hideOutcome(m, result))
	}
}

// outcomeIn is the result of a job that ran an instance, where it says more than how that is.
func outcomeIn(row outbox.Row) (map[string]any, bool) {
	path, _ := row["path"].(string)
	result, ok := row["result"].(map[string]any)
	return result, ok && strings.HasPrefix(path, durablePath) && (len(result) > 1 || result["state"] == nil)
}

// hideOutcome is such a result with the mask of the job on all that it says: the instance's error is there a second time.
func hideOutcome(m *redact.Mask, result map[string]any) map[string]any {
	shown := map[string]any{}
	for name, v := range result {
		if text, ok := v.(string); ok && name != "state" {
			v = m.Text(text)
		}
		shown[name] = v
	}
	return shown
}

func (e *JobError) hide(m *redact.Mask) {
	e.Reason = m.Text(e.Reason)
}

// failure hides in the newest error of a job whose row was not read whole.
func (h hider) failure(ctx context.Context, job surreal.RecordID, last *lastFailure) error {
	if last == nil || last.Reason == "" || h.rules.Empty() {
		return nil
	}
	found, err := h.jobs(ctx, []surreal.RecordID{job})
	if err == nil {
		last.Reason = found.of(surreal.FormatID(job)).Text(last.Reason)
	}
	return err
}
