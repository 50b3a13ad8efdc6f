package schedule

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

//go:embed bounded.surql
var boundedStatement string

// items is what one tick starts: one run, or one for each row of a query. Rows without a key are left out, for
// one of them must not keep the others from running; note says how many those were.
func (s Store) items(ctx context.Context, row Row, tick time.Time) (items []map[string]any, note string, err error) {
	if row.Spec.ForEach == nil {
		return []map[string]any{{"key": "", "id": row.id(tick, ""), "payload": row.payload(nil)}}, "", nil
	}
	found, note, err := s.keyed(ctx, row.Spec.ForEach.Query, row.Spec.ForEach.Key)
	if err != nil {
		return nil, "", err
	}
	items = make([]map[string]any, len(found))
	for i, one := range found {
		items[i] = map[string]any{"key": one.key, "id": row.id(tick, one.key), "payload": row.payload(one.row)}
	}
	return items, note, nil
}

// Try is how many runs a query of forEach would give now, and what a tick would note about rows that get none.
func (s Store) Try(ctx context.Context, f config.ForEach) (runs int, note string, err error) {
	found, note, err := s.keyed(ctx, f.Query, f.Key)
	return len(found), note, err
}

type keyedRow struct {
	key string
	row map[string]any
}

// keyed are the rows of a query, one for each key. That there are rows and none has a key is an error.
func (s Store) keyed(ctx context.Context, query, column string) (found []keyedRow, note string, err error) {
	rows, err := s.rows(ctx, query)
	if err != nil {
		return nil, "", fmt.Errorf("forEach.query: %w", err)
	}
	found = make([]keyedRow, 0, len(rows))
	seen := map[string]bool{}
	keyless, first := 0, map[string]any(nil)
	for _, row := range rows {
		value, ok := row[column]
		if !ok || value == nil {
			if keyless++; keyless == 1 {
				first = row
			}
			continue
		}
		key := keyText(value)
		if !seen[key] {
			seen[key] = true
			found = append(found, keyedRow{key, row})
		}
	}
	if keyless == 0 {
		return found, "", nil
	}
	note = keylessNote(column, keyless, len(rows), first)
	if len(found) == 0 {
		return nil, "", errors.New(note)
	}
	return found, note, nil
}

const (
	// maxRows is how many rows a tick may be for, and maxBytes how many bytes they may have as text: an answer that
	// the connection does not take would end it.
	maxRows  = 100_000
	maxBytes = 32 << 20
	// queryTimeout bounds a query of forEach.
	queryTimeout = 15 * time.Second
)

// rows are what a query of forEach gives. What it writes, perhaps in a function that it calls, is taken back.
func (s Store) rows(ctx context.Context, query string) ([]map[string]any, error) {
	if fault := config.QueryFault(query); fault != "" {
		return nil, errors.New(fault + "; allowed: one SELECT that only reads")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, queryTimeout, fmt.Errorf("no answer within %s; narrow it, or give it an index", queryTimeout))
	defer cancel()
	found, err := surreal.First[any](ctx, s.DB.Reading(), bounded(query), map[string]any{"max_rows": maxRows, "max_bytes": maxBytes})
	why, thrown := surreal.IsThrown(err)
	switch {
	case thrown:
		return nil, errors.New(why)
	case err != nil && errors.Is(err, context.DeadlineExceeded):
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	list, ok := found.([]any)
	if !ok {
		return nil, errors.New("the answer is no list of rows; select FROM a table, without ONLY")
	}
	rows := make([]map[string]any, len(list))
	for i, one := range list {
		if rows[i], ok = one.(map[string]any); !ok {
			return nil, errors.New("the answer is a list of values and not of rows; select columns, without VALUE")
		}
	}
	return rows, nil
}

// bounded has the database measure a query's answer before it sends it.
func bounded(query string) string {
	return strings.Replace(boundedStatement, "{{query}}", strings.TrimRight(query, " \t\r\n;"), 1)
}

func keylessNote(key string, n, of int, first map[string]any) string {
	which := "the first has no id"
	if id, ok := first["id"]; ok {
		which = "the first is " + keyText(id)
	}
	return fmt.Sprintf("forEach.query: %d of %d rows have no column %q and got no run, %s; select it, or name another with forEach.key", n, of, key, which)
}

// payload is what is started for a row of forEach, or for none: a DAG's input is the row.
func (r Row) payload(found map[string]any) any {
	switch {
	case r.Spec.DAG != nil && found == nil:
		return surreal.None
	case r.Spec.DAG != nil:
		return found
	}
	payload := map[string]any{}
	maps.Copy(payload, r.Spec.Payload)
	if found != nil {
		payload["row"] = found
	}
	return payload
}

// id is what is started at a tick for a key.
func (r Row) id(tick time.Time, key string) string {
	base := r.Name + "-" + stamp(tick)
	if r.Spec.DAG != nil {
		return runID(base, key)
	}
	return id(base, key)
}

// keyText is a key as text, and no other value's: what is no text is written as SurrealQL, and so is a text that could be
// taken for it.
func keyText(value any) string {
	if text, ok := value.(string); ok && text != "" && surreal.IsText(text) {
		return text
	}
	return surreal.Format(value)
}

// stamp writes a tick into an id: to the second, where it has no more.
func stamp(tick time.Time) string {
	text := tick.UTC().Format("20060102T150405")
	if micros := tick.Nanosecond() / 1000; micros != 0 {
		text += fmt.Sprintf("-%06d", micros)
	}
	return text + "Z"
}

const longestID = 100 // of a workflow instance

var (
	unfit = regexp.MustCompile(`^-|[^A-Za-z0-9_-]+`)
	// unfitRun is what no run of a DAG may have in its id: what comes after a _ names a step of it.
	unfitRun = regexp.MustCompile(`[^A-Za-z0-9-]+`)
)

// id is base and key as what an instance may be called. Where that takes a change, a part of a hash keeps
// different ones different.
func id(base, key string) string { return fitting(base, key, unfit, "_") }

// runID is the same for a run of a DAG.
func runID(base, key string) string { return fitting(base, key, unfitRun, "-") }

func fitting(base, key string, unfit *regexp.Regexp, instead string) string {
	text := base
	if key != "" {
		text += "-" + key
	}
	fit := unfit.ReplaceAllString(text, instead)
	if fit == text && len(fit) <= longestID {
		return fit
	}
	sum := sha256.Sum256([]byte(text))
	end := "-" + hex.EncodeToString(sum[:6])
	return fit[:min(len(fit), longestID-len(end))] + end
}
