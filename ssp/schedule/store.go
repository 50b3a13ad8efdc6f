package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// ErrNotFound is a schedule that the database does not know.
var ErrNotFound = errors.New("no such schedule")

// A Row is a schedule as the database keeps it. Columns that are not the clock's are not told apart here:
// package admin shows them.
type Row struct {
	Name     string     `json:"name"`
	Spec     Target     `json:"spec"`
	Enabled  bool       `json:"enabled"`
	PausedAt *time.Time `json:"paused_at"`
	// RetiredAt is since when no node has it that could run it.
	RetiredAt *time.Time `json:"retired_at"`
	NextAt    *time.Time `json:"next_fire_at"`
	LastAt    *time.Time `json:"last_fire_at"`
	Fires     int64      `json:"fires"`
	Triggers  int64      `json:"triggers"`
	Trouble   string     `json:"trouble"`
}

// A Target is what a schedule starts, and when.
type Target struct {
	Cron     string         `json:"cron"`
	EveryMS  int64          `json:"every_ms"`
	Timezone string         `json:"timezone"`
	Backend  string         `json:"backend"`
	Table    string         `json:"table"`
	Route    string         `json:"route"`
	Workflow string         `json:"workflow"`
	Payload  map[string]any `json:"payload"`
	DAG      *struct {
		OnFailure string `json:"on_failure"`
		Steps     []Step `json:"steps"`
	} `json:"dag"`
	Concurrency     string `json:"concurrency"`
	QuarantineAfter int    `json:"quarantine_after"`
	ForEach         *struct {
		Query string `json:"query"`
		Key   string `json:"key"`
	} `json:"for_each"`
}

// A Step is one of a DAG.
type Step struct {
	Name      string   `json:"name"`
	Backend   string   `json:"backend"`
	Table     string   `json:"table"`
	Route     string   `json:"route"`
	DependsOn []string `json:"depends_on"`
}

// Timed says whether there is a clock: a DAG may be without.
func (t Target) Timed() bool { return t.Cron != "" || t.EveryMS != 0 }

// Clock is the schedule's.
func (t Target) Clock() (Clock, error) {
	return NewClock(t.Cron, time.Duration(t.EveryMS)*time.Millisecond, t.Timezone)
}

// A Database runs statements; Reading runs those that are to write nothing. [surreal.Client] is one, and so is what its
// Retrying returns.
type Database interface {
	surreal.Querier
	Reading() surreal.Querier
}

// A Store is the schedules of a database. It has no state.
type Store struct{ DB Database }

// Left reports that no living node has a schedule in its configuration, although one could run it.
func (s Store) Left(ctx context.Context, name string) (bool, error) {
	left, err := surreal.First[[]string](ctx, s.DB, "RETURN fn::spky::schedule::left((SELECT name, spec, retired_at FROM type::record('_00_schedule', $name)))", map[string]any{"name": name})
	return len(left) > 0, err
}

// Look reads the schedules of these names that exist, and the database's clock.
func (s Store) Look(ctx context.Context, names []string) ([]Row, time.Time, error) {
	answer, err := surreal.First[struct {
		Now       time.Time `json:"now"`
		Schedules []Row     `json:"schedules"`
	}](ctx, s.DB, "RETURN fn::spky::schedule::look($names)", map[string]any{"names": append([]string{}, names...)})
	return answer.Schedules, answer.Now, err
}

// Deploy writes what the configuration says; a schedule that has not changed is left alone.
func (s Store) Deploy(ctx context.Context, specs []Spec) error {
	_, now, err := s.Look(ctx, []string{})
	if err != nil {
		return err
	}
	for _, spec := range specs {
		row, err := spec.deployment(now)
		if err != nil {
			return err
		}
		if err := surreal.Exec(ctx, s.DB, "RETURN fn::spky::schedule::deploy($new)", map[string]any{"new": row}); err != nil {
			return fmt.Errorf("deploy schedule %s: %w", spec.Name, err)
		}
	}
	return nil
}

// Attend says that a node's configuration has the schedules of these names, and retires those that it does not have
// although it has all their tables, unless another node has said lately that it has them. It answers with those that
// are retired.
func (s Store) Attend(ctx context.Context, names, tables []string) ([]string, error) {
	retired, err := surreal.First[[]string](ctx, s.DB, "RETURN fn::spky::schedule::attend($names, $tables)",
		map[string]any{"names": append([]string{}, names...), "tables": append([]string{}, tables...)})
	if err != nil {
		return nil, fmt.Errorf("attend to schedules: %w", err)
	}
	return retired, nil
}

// Forget deletes those of these schedules that were retired long ago and have no runs any more.
func (s Store) Forget(ctx context.Context, names []string) error {
	return surreal.Exec(ctx, s.DB, "RETURN fn::spky::schedule::forget($names)", map[string]any{"names": append([]string{}, names...)})
}

// Fire starts the tick that is due by now, a reading of the database's clock, and says whether it did:
// somebody else may have.
func (s Store) Fire(ctx context.Context, row Row, now time.Time) (bool, error) {
	begun := time.Now()
	clock, err := row.Spec.Clock()
	if err != nil {
		return false, err
	}
	items, note, err := s.items(ctx, row, *row.NextAt)
	if err != nil {
		return false, err
	}
	for len(items) > firePart {
		fired, err := s.start(ctx, "fire_part", map[string]any{"name": row.Name, "tick": *row.NextAt, "manual": false, "items": items[:firePart]})
		if !fired || err != nil {
			return false, err
		}
		items = items[firePart:]
	}
	next := clock.Next(*row.NextAt, now.Add(time.Since(begun))) // many rows take a while
	fire := map[string]any{"name": row.Name, "tick": *row.NextAt, "next": optional(next), "manual": false, "items": items}
	if note != "" {
		fire["note"] = note
	}
	return s.start(ctx, "fire", fire)
}

const (
	// firePart is how many runs of a tick one transaction starts.
	firePart = 250
	// maxManual is how many runs may be triggered at once.
	maxManual = 2000
)

// start calls fire or fire_part.
func (s Store) start(ctx context.Context, function string, fire map[string]any) (bool, error) {
	answer, err := surreal.First[struct {
		Fired bool `json:"fired"`
	}](ctx, s.DB, "RETURN fn::spky::schedule::"+function+"($fire)", map[string]any{"fire": fire})
	return answer.Fired, err
}

// Manual is what schedule::trigger takes to start a run of a schedule now.
func (s Store) Manual(ctx context.Context, name string) (map[string]any, error) {
	rows, now, err := s.Look(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("schedule %s: %w", name, ErrNotFound)
	}
	now = now.Truncate(time.Microsecond)
	items, _, err := s.items(ctx, rows[0], now)
	switch {
	case err != nil:
		return nil, fmt.Errorf("schedule %s: %w", name, err)
	case len(items) > maxManual:
		return nil, fmt.Errorf("schedule %s: forEach.query gives %d rows, and what is triggered starts in one transaction, allowed: %d; its next tick starts any number", name, len(items), maxManual)
	}
	return map[string]any{"name": name, "tick": now, "manual": true, "items": items}, nil
}

// Again is what schedule::trigger takes to start a run of a DAG now for a key of which there was one, with the
// same input.
func (s Store) Again(ctx context.Context, name, key string, input any) (map[string]any, error) {
	rows, now, err := s.Look(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || rows[0].Spec.DAG == nil {
		return nil, fmt.Errorf("workflow %s: %w", name, ErrNotFound)
	}
	now = now.Truncate(time.Microsecond)
	item := map[string]any{"key": key, "id": rows[0].id(now, key), "payload": input}
	return map[string]any{"name": name, "tick": now, "manual": true, "items": []map[string]any{item}}, nil
}

// Trouble notes why a tick that is due can't be started, and says whether that is news.
func (s Store) Trouble(ctx context.Context, name string, why error) (bool, error) {
	text := strings.ToValidUTF8(why.Error()[:min(len(why.Error()), 500)], "")
	news, err := surreal.First[[]surreal.RecordID](ctx, s.DB, "UPDATE type::record('_00_schedule', $name) SET trouble = $text WHERE trouble != $text RETURN VALUE id",
		map[string]any{"name": name, "text": text})
	return len(news) > 0, err
}

// Close ends the runs whose job or instance is over, and says whether any went on until now.
func (s Store) Close(ctx context.Context, names []string) (bool, error) {
	for {
		found, err := surreal.First[struct {
			Going bool `json:"going"`
			More  bool `json:"more"`
		}](ctx, s.DB, "RETURN fn::spky::schedule::close_all($names)", map[string]any{"names": names})
		if err != nil || !found.More {
			return found.Going, err
		}
	}
}

// Prune forgets old runs.
func (s Store) Prune(ctx context.Context, names []string) error {
	for {
		left, err := surreal.First[struct {
			More bool `json:"more"`
		}](ctx, s.DB, "RETURN fn::spky::schedule::prune($names)", map[string]any{"names": names})
		if err != nil || !left.More {
			return err
		}
	}
}
