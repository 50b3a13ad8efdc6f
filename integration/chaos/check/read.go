package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/surreal"
)

// A reader reads tables until the first error, which it keeps.
type reader struct {
	ctx context.Context
	db  surreal.Querier
	err error
}

// Read reads everything.
func Read(ctx context.Context, db surreal.Querier, tables []string, journals string, p *plan.Plan) (*State, error) {
	entries, err := journal.Read(journals)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(entries, func(a, b journal.Entry) int { return cmp.Compare(a.At, b.At) })
	r := &reader{ctx: ctx, db: db}
	s := &State{
		Plan: p, Journal: entries,
		Instances: ever[instanceRow](r, "_00_wf_instance"), Steps: ever[stepRow](r, "_00_wf_step"), Events: ever[eventRow](r, "_00_wf_event"),
		Runs: ever[runRow](r, "_00_workflow_run"), Ticks: rows[tickRow](r, "_00_schedule_run"), Rollups: rows[rollupRow](r, "_00_run_rollup"),
		Counts: rows[countRow](r, "chaos_count"),
		JobLog: history[jobEntry](r, "chaos_job"), InstanceLog: history[instanceEntry](r, "chaos_instance"), StepLog: history[stepEntry](r, "chaos_step"),
		NodeLog: history[nodeEntry](r, "chaos_node"), RunLog: history[runEntry](r, "chaos_run"), DAGStepLog: history[dagStepEntry](r, "chaos_dag_step"),
		ScheduleLog: history[scheduleEntry](r, "chaos_schedule"), TickLog: history[tickEntry](r, "chaos_tick"), Audit: history[auditEntry](r, "chaos_audit"),
	}
	for _, table := range tables {
		s.Jobs = append(s.Jobs, ever[jobRow](r, table)...)
	}
	return s, r.err
}

// rows reads a table's rows.
func rows[T any](r *reader, table string) []T {
	return read[T](r, table, "SELECT * FROM type::table($table)")
}

// ever reads a table's rows and those that were deleted, with the time at which they were as gone_at: these first, in order.
func ever[T any](r *reader, table string) []T {
	gone := read[T](r, table, "SELECT VALUE object::extend(row, { gone_at: at }) FROM (SELECT at, row FROM chaos_gone WHERE of = $table ORDER BY at)")
	return append(gone, rows[T](r, table)...)
}

// history reads a table of changes. Of one row, transactions that both commit follow each other, and so do the times they were at it.
func history[T interface{ when() time.Time }](r *reader, table string) []T {
	all := rows[T](r, table)
	slices.SortStableFunc(all, func(a, b T) int { return a.when().Compare(b.when()) })
	return all
}

func read[T any](r *reader, table, surql string) []T {
	if r.err != nil {
		return nil
	}
	found, err := surreal.First[[]T](r.ctx, r.db, surql, map[string]any{"table": table})
	if err != nil {
		r.err = fmt.Errorf("read %s: %w", table, err)
	}
	return found
}
