package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// find looks for the jobs of a page, and answers with its cursor too.
func (j *Jobs) find(ctx context.Context, q jobQuery) ([]jobPlace, string, error) {
	if q.Cursor == "" && len(q.exact) > 0 {
		if found, err := j.exactly(ctx, q); err != nil || len(found) > 0 {
			return found, topCursor, err
		}
	}
	return j.scan(ctx, q)
}

// resume is the place after which the page begins. An id that is too long for a cursor is looked for among
// those of its moment.
func (j *Jobs) resume(ctx context.Context, q jobQuery) (jobPlace, error) {
	if q.digest == "" {
		return q.after, nil
	}
	table, statement := q.after.ID.Table, "jobs_moment"
	if q.after.Newest == late {
		statement = "jobs_untimed"
	}
	call := jobStatement(statement, table, "")
	all, err := surreal.First[[]surreal.RecordID](ctx, j.db, call, map[string]any{"moment": q.after.Newest})
	if err != nil {
		return jobPlace{}, err
	}
	for _, id := range all {
		if digest(surreal.FormatID(id)) == q.digest {
			return jobPlace{Newest: q.after.Newest, ID: id}, nil
		}
	}
	return jobPlace{}, inputf("the cursor's job is gone; begin the list again, without a cursor")
}

// cut makes a page of what was found.
func (q jobQuery) cut(found []jobPlace) ([]jobPlace, string) {
	if len(found) <= q.Limit {
		return found, ""
	}
	found = found[:q.Limit]
	return found, found[q.Limit-1].cursor()
}

// exactly finds the jobs that the query names.
func (j *Jobs) exactly(ctx context.Context, q jobQuery) ([]jobPlace, error) {
	found, err := surreal.First[[]jobPlace](ctx, j.db, jobStatement("jobs_exact", "", ""), q.vars(map[string]any{"ids": q.exact}))
	if surreal.IsNotFound(err) {
		return nil, nil
	}
	q.Query = ""
	return slices.DeleteFunc(found, func(p jobPlace) bool { return !q.fits(p) }), err
}

// pending answers with all pending jobs after the cursor, where there are few: a handful among many
// others would not be found by looking through those.
func (j *Jobs) pending(ctx context.Context, q jobQuery) (all []jobPlace, few bool, err error) {
	var parts []string
	for _, table := range q.tables {
		parts = append(parts, jobStatement("jobs_pending", table, ""))
	}
	after := any(surreal.None)
	if q.after.ID.ID != nil {
		after = q.after.ID
	}
	lists, err := j.together(ctx, parts, q.vars(map[string]any{"few": fewPending + 1, "late": int64(late), "after": after}))
	if err != nil {
		return nil, false, err
	}
	for _, list := range lists {
		if len(list) > fewPending {
			return nil, false, nil
		}
		all = append(all, list...)
	}
	all = slices.DeleteFunc(all, func(p jobPlace) bool { return !q.fits(p) || q.after.ID.ID != nil && !p.follows(q.after) })
	slices.SortStableFunc(all, func(a, b jobPlace) int { return cmp.Compare(a.Newest, b.Newest) })
	return all, true, nil
}

// follows says whether a place that was read beside a cursor comes after it: within a table as the database orders ids.
func (p jobPlace) follows(at jobPlace) bool {
	if p.Newest != at.Newest {
		return p.Newest > at.Newest
	}
	return p.ID.Table > at.ID.Table || p.ID.Table == at.ID.Table && p.Beyond
}

// scan looks through jobs, part by part, until the page is full.
func (j *Jobs) scan(ctx context.Context, q jobQuery) ([]jobPlace, string, error) {
	size := q.Limit + 1
	var found []jobPlace
	at, scanned, begun, counted := q.after, 0, time.Now(), q.Status != outbox.Pending
	for {
		part, err := j.part(ctx, q, at, size)
		if err != nil {
			return nil, "", err
		}
		for _, p := range part {
			if q.fits(p) {
				found = append(found, p)
			}
		}
		if len(part) < size || len(found) > q.Limit {
			found, next := q.cut(found)
			return found, next, nil
		}
		scanned += len(part)
		enough := scanned >= maxJobScan || time.Since(begun) > jobScanTime
		if !counted && (enough || scanned > fewPending) {
			counted = true
			if all, few, err := j.pending(ctx, q); err != nil || few {
				found, next := q.cut(all)
				return found, next, err
			}
		}
		if at = part[len(part)-1]; enough {
			return found, at.cursor(), nil
		}
		size = min(max(2*size, jobScanPart/8), jobScanPart)
	}
}

// part answers with the first so many jobs after a place, fewer only at the end. What several tables
// have of one moment is ordered by table, and within one as the database orders ids.
func (j *Jobs) part(ctx context.Context, q jobQuery, at jobPlace, size int) ([]jobPlace, error) {
	var all []jobPlace
	if at.Newest != late {
		parts, vars := q.timed(at, size)
		lists, err := j.together(ctx, parts, vars)
		if err != nil {
			return nil, err
		}
		all = slices.Concat(lists...)
		slices.SortStableFunc(all, func(a, b jobPlace) int { return cmp.Compare(a.Newest, b.Newest) })
	}
	if len(all) < size {
		parts, vars := q.untimed(at, size)
		lists, err := j.together(ctx, parts, vars)
		if err != nil {
			return nil, err
		}
		rest := slices.Concat(lists...)
		for i := range rest {
			rest[i].Newest = late
		}
		all = append(all, rest...)
	}
	return all[:min(size, len(all))], nil
}

// index names the statements of the index that the query is answered from.
func (q jobQuery) index() (newest, same, untimed, untimedAfter string) {
	if q.Status != "" && q.Status != outbox.Pending {
		return "jobs_state", "jobs_state_same", "jobs_state_late", "jobs_state_late_after"
	}
	return "jobs_newest", "jobs_same", "jobs_late", "jobs_late_after"
}

// timed are the statements for jobs that have a time of creation.
func (q jobQuery) timed(at jobPlace, size int) ([]string, map[string]any) {
	newest, same, _, _ := q.index()
	vars := q.vars(map[string]any{"limit": size, "status": string(q.Status), "same": at.Newest, "after": at.ID})
	var parts []string
	for i, table := range q.tables {
		n := strconv.Itoa(i)
		from := at.Newest
		if at.ID.ID != nil && table <= at.ID.Table {
			from++
		}
		vars["newest"+n] = from
		if at.ID.ID != nil && table == at.ID.Table {
			parts = append(parts, jobStatement(same, table, n))
		}
		parts = append(parts, jobStatement(newest, table, n))
	}
	if at.ID.ID == nil {
		delete(vars, "after")
	}
	return parts, vars
}

// untimed are the statements for jobs that have none.
func (q jobQuery) untimed(at jobPlace, size int) ([]string, map[string]any) {
	_, _, untimed, after := q.index()
	vars := q.vars(map[string]any{"limit": size, "status": string(q.Status)})
	var parts []string
	for _, table := range q.tables {
		switch {
		case at.Newest != late || table > at.ID.Table:
			parts = append(parts, jobStatement(untimed, table, ""))
		case table == at.ID.Table:
			vars["after"] = at.ID
			parts = append(parts, jobStatement(after, table, ""))
		}
	}
	return parts, vars
}

// vars adds what job_place asks: what of a row the filters need.
func (q jobQuery) vars(of map[string]any) map[string]any {
	of["origin"], of["search"] = q.Origin != "", q.Query != ""
	return of
}

// together runs several selects as one statement, and so as of one moment.
func (j *Jobs) together(ctx context.Context, parts []string, vars map[string]any) ([][]jobPlace, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	return surreal.First[[][]jobPlace](ctx, j.db, "RETURN [\n("+strings.Join(parts, "),\n(")+")\n]", vars)
}

// summaries reads the rows of a page, and keeps its order.
func (j *Jobs) summaries(ctx context.Context, found []jobPlace) ([]JobSummary, error) {
	all := []JobSummary{}
	if len(found) == 0 {
		return all, nil
	}
	ids := make([]surreal.RecordID, len(found))
	for i, p := range found {
		ids[i] = p.ID
	}
	answer, err := surreal.First[jobsAnswer](ctx, j.db, jobStatement("job_summaries", "", ""), map[string]any{"ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	byID := map[string]JobSummary{}
	for _, row := range answer.Rows {
		s := j.summary(row, answer.origin(row), answer.Now)
		byID[s.ID] = s
	}
	for _, p := range found {
		if s, ok := byID[surreal.FormatID(p.ID)]; ok { // else it was deleted meanwhile
			all = append(all, s)
		}
	}
	return all, nil
}
