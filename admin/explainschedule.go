package admin

import (
	"context"
	"fmt"

	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
)

// scheduleFacts are what explains a schedule, or a DAG that has a clock.
type scheduleFacts struct {
	nodeFacts

	name  string
	found bool
	row   schedule.Row
	// left says that no living node has it in its configuration, although one could.
	left bool
	// tables are those that it writes jobs to.
	tables []string
	last   *ScheduleRun
	// held are the keys in quarantine.
	held []string
	// tool names the command that triggers it: schedules, or dag.
	tool string
}

// Schedule explains when a schedule or a DAG starts something, and why not now. Of one that does not exist the
// explanation says so, beside ErrNotFound.
func (e *Explainer) Schedule(ctx context.Context, name string) (Explanation, error) {
	f, err := e.scheduleFacts(ctx, name)
	if err != nil {
		return Explanation{}, fmt.Errorf("explain schedule %s: %w", name, err)
	}
	if !f.found {
		missing := explained(kindSchedule, name, stateMissing, []Cause{f.missing()})
		return missing, fmt.Errorf("explain schedule %s: schedule %w", name, ErrNotFound)
	}
	return explained(kindSchedule, name, f.state(), f.causes()), nil
}

func (e *Explainer) scheduleFacts(ctx context.Context, name string) (scheduleFacts, error) {
	f := scheduleFacts{name: name, tool: "schedules"}
	if name == "" {
		return f, nil
	}
	rows, _, err := schedule.Store{DB: e.db}.Look(ctx, []string{name})
	if surreal.IsNotFound(err) && !surreal.IsUnreachable(err) {
		return f, nil // no schema
	}
	if err != nil || len(rows) == 0 {
		return f, err
	}
	f.found, f.row = true, rows[0]
	f.row.Trouble = e.hider.trouble(f.row)
	f.tables = []string{f.row.Spec.Table}
	if f.row.Spec.DAG != nil {
		f.tool, f.tables = "dag", nil
		for _, s := range f.row.Spec.DAG.Steps {
			f.tables = append(f.tables, s.Table)
		}
	}
	if f.left, err = (schedule.Store{DB: e.db}).Left(ctx, name); err != nil {
		return f, err
	}
	s := NewSchedules(e.db, e.hider.rules)
	runs, err := s.Runs(ctx, name, 1)
	if err != nil {
		return f, err
	}
	if len(runs) > 0 {
		f.last = &runs[0]
	}
	keys, err := s.Keys(ctx, name)
	for _, k := range keys {
		if k.QuarantinedAt != nil {
			f.held = append(f.held, k.Key)
		}
	}
	if err != nil {
		return f, err
	}
	f.nodeFacts, err = e.nodeFacts(ctx)
	return f, err
}

func (f scheduleFacts) state() string {
	return scheduleRow{Row: f.row, Left: f.left}.schedule(f.Now).State
}

func (f scheduleFacts) missing() Cause {
	return Cause{
		Code:     "not_found",
		Sentence: fmt.Sprintf("There is no schedule or DAG %s: no node with it in its configuration has been started on this database.", printable(f.name)),
		Remedy:   "`spky schedules list` and `spky dag list` show those there are; start a node with the sp00ky.yml that has it",
	}
}

// causes are why nothing is started now, the newest run's among them.
func (f scheduleFacts) causes() []Cause {
	causes := []Cause{f.clock()}
	if c := causes[0].Code; c == "tick_overdue" {
		causes = append(f.service(), causes...)
	}
	if f.last != nil {
		if c, ok := f.lastRun(); ok {
			causes = append(causes, c)
		}
	}
	if len(f.held) > 0 {
		causes = append(causes, Cause{
			Code:     "in_quarantine",
			Sentence: fmt.Sprintf("Nothing is started for %s, whose runs have failed %d times in a row: %s.", counted(len(f.held), "key"), f.row.Spec.QuarantineAfter, quote(firstOf(f.held))),
			Facts:    map[string]any{"keys": f.held, "quarantine_after": f.row.Spec.QuarantineAfter},
			Remedy:   "mend what their runs failed of; then " + command("spky schedules release", f.name),
		})
	}
	return causes
}

// firstOf is the first of a list, and that there are more.
func firstOf(all []string) string {
	if len(all) > 1 {
		return all[0] + ", …"
	}
	return all[0]
}

// clock is why its next tick does not come now.
func (f scheduleFacts) clock() Cause {
	trigger := command("spky "+f.tool+" trigger", f.name) + " starts it now"
	switch next := f.row.NextAt; {
	case f.row.RetiredAt != nil:
		return Cause{
			Code: "retired", Facts: map[string]any{"retired_at": f.row.RetiredAt},
			Sentence: fmt.Sprintf("It was retired %s: no node's configuration has it any more.", moment(*f.row.RetiredAt, f.Now)),
			Remedy:   "a node that starts with it in its sp00ky.yml brings it back",
		}
	case f.left:
		return Cause{
			Code: "retiring", Sentence: "No node that runs has it in its configuration any more: it starts nothing, and is retired three minutes after the last that had.",
			Remedy: "nothing, if it was taken out on purpose; else start a node whose sp00ky.yml has it",
		}
	case !f.row.Enabled:
		return Cause{Code: "disabled", Sentence: "The configuration has disabled it.", Remedy: "remove `enabled: false` and start the nodes anew; " + trigger}
	case f.row.PausedAt != nil && f.row.Spec.Timed():
		return Cause{
			Code: "paused", Facts: map[string]any{"paused_at": f.row.PausedAt},
			Sentence: fmt.Sprintf("An operator paused it %s.", moment(*f.row.PausedAt, f.Now)), Remedy: command("spky schedules resume", f.name) + " goes on with its next tick; " + trigger,
		}
	case !f.row.Spec.Timed():
		return Cause{Code: "no_clock", Sentence: "It has no clock, and is started by hand only.", Remedy: trigger}
	case next == nil:
		return Cause{
			Code: "never_due", Facts: map[string]any{"cron": f.row.Spec.Cron}, Remedy: "correct the expression; " + trigger,
			Sentence: fmt.Sprintf("Its cron expression, %s, is never true again.", quote(f.row.Spec.Cron)),
		}
	case next.After(f.Now):
		return Cause{Code: "not_due", Facts: map[string]any{"next_at": next}, Sentence: fmt.Sprintf("Its next tick comes %s.", moment(*next, f.Now)), Remedy: trigger}
	case f.row.Trouble != "":
		return Cause{
			Code: "tick_refused", Facts: map[string]any{"next_at": next, "trouble": cutTo(f.row.Trouble)},
			Sentence: fmt.Sprintf("Its tick has been due %s and can't be started: %s. It is tried again every five seconds.", lasting(next, f.Now), quote(f.row.Trouble)),
			Remedy:   "mend what the reason says: the query of forEach, or the columns of the outbox table; `spky doctor` checks those",
		}
	}
	return Cause{
		Code: "tick_overdue", Facts: map[string]any{"next_at": f.row.NextAt},
		Sentence: fmt.Sprintf("Its tick has been due %s, and no node has started it.", lasting(f.row.NextAt, f.Now)),
		Remedy:   "see that a node runs whose sp00ky.yml has it and all backends it needs; it is made up for by one run",
	}
}

// service says what keeps every node from running jobs of its tables.
func (f scheduleFacts) service() []Cause {
	var causes []Cause
	seen := map[string]bool{}
	for _, table := range f.tables {
		if c, ok := f.unserved(table); ok && !seen[c.Sentence] {
			seen[c.Sentence] = true
			causes = append(causes, c)
		}
	}
	return causes
}

// lists is the command that lists its runs.
func (f scheduleFacts) lists() string {
	if f.tool == "dag" {
		return "spky dag runs"
	}
	return "spky schedules get"
}

// lastRun is what the newest run tells of those to come; false where that is nothing.
func (f scheduleFacts) lastRun() (Cause, bool) {
	started := f.last.Job + f.last.Instance + f.last.Run
	facts := map[string]any{"status": f.last.Status, "tick": f.last.Tick, "started": started, "reason": cutTo(f.last.Reason)}
	switch f.last.Status {
	case "running":
		c := Cause{Code: "run_going", Facts: facts, Remedy: command("spky explain", started) + " says what it waits for"}
		c.Sentence = fmt.Sprintf("Its newest run, %s, is not over.", printable(started))
		switch {
		case f.row.Spec.Concurrency != "skip":
		case f.row.Spec.Timed():
			c.Sentence = fmt.Sprintf("Its newest run, %s, is not over; ticks that come meanwhile are skipped.", printable(started))
		default:
			c.Sentence = fmt.Sprintf("Its newest run, %s, is not over; none of the same key starts beside it.", printable(started))
		}
		return c, true
	case "skipped":
		c := Cause{
			Code: "tick_skipped", Facts: facts, Remedy: command(f.lists(), f.name) + " shows what runs; `concurrency` in sp00ky.yml says what happens beside it",
			Sentence: fmt.Sprintf("Its newest tick, %s, was skipped: %s.", moment(f.last.Tick, f.Now), quote(f.last.Reason)),
		}
		if f.last.Manual {
			c.Sentence = fmt.Sprintf("It was triggered %s, and that started nothing: %s.", moment(f.last.Tick, f.Now), quote(f.last.Reason))
		}
		return c, true
	case "failed", "killed":
		return Cause{
			Code: "last_run_failed", Facts: facts, Remedy: command("spky explain", started) + " says why",
			Sentence: fmt.Sprintf("Its newest run, %s, %s %s.", printable(started), map[string]string{"failed": "failed", "killed": "was killed"}[f.last.Status], optional(f.last.FinishedAt, f.Now)),
		}, true
	}
	return Cause{}, false
}
