package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
)

// The verbs on schedules, as they are named everywhere.
const (
	verbTrigger = "trigger"
	verbRelease = "release"
)

// possibleForSchedule names the verbs that a schedule's state allows, but for the one it has refused.
func possibleForSchedule(state, refused string) []string {
	verbs := []string{verbPause, verbTrigger}
	switch state {
	case SchedulePaused:
		verbs = []string{verbResume, verbTrigger}
	case ScheduleRetired:
		verbs = []string{}
	}
	return slices.DeleteFunc(verbs, func(v string) bool { return v == refused })
}

// Each verb answers with the state that the schedule was found in.

// Pause lets nothing more start until Resume; what runs goes on.
func (s *Schedules) Pause(ctx context.Context, name string) (string, error) {
	if err := s.clocked(ctx, verbPause, name); err != nil {
		return "", err
	}
	answer, err := s.act(ctx, verbPause, name, "fn::spky::schedule::pause($name)", nil)
	return answer.Status, err
}

// Resume goes on with the next tick from now on. What fell into the pause is not made up for.
func (s *Schedules) Resume(ctx context.Context, name string) (string, error) {
	if err := s.clocked(ctx, verbResume, name); err != nil {
		return "", err
	}
	next, err := s.next(ctx, name)
	if err != nil {
		return "", fmt.Errorf("%s schedule %s: %w", verbResume, name, err)
	}
	answer, err := s.act(ctx, verbResume, name, "fn::spky::schedule::resume($name, $next)", map[string]any{"next": next})
	return answer.Status, err
}

// Release lets a key start again that is in quarantine, or all of them where key is "". It answers with
// the keys that were.
func (s *Schedules) Release(ctx context.Context, name, key string) ([]string, error) {
	of := any(surreal.None)
	if key != "" {
		of = key
	}
	answer, err := s.act(ctx, verbRelease, name, "fn::spky::schedule::release($name, $key)", map[string]any{"key": of})
	return answer.Keys, err
}

// A Triggered says what Trigger started.
type Triggered struct {
	// Was is the state that the schedule was found in.
	Was string `json:"was"`
	// Started counts runs that began, Skipped those that did not, for instance because one of the same key
	// is not over.
	Started int `json:"started"`
	Skipped int `json:"skipped"`
	// Job, Instance or Run is the first that was started.
	Job      string `json:"job,omitempty"`
	Instance string `json:"instance,omitempty"`
	Run      string `json:"run,omitempty"`
}

// Trigger starts what the schedule is for now, also while it is paused or disabled, and also for keys in
// quarantine. Its ticks stay as they are. Where nothing may start beside what runs, that is a *StateError.
func (s *Schedules) Trigger(ctx context.Context, name string) (Triggered, error) {
	if err := s.clocked(ctx, verbTrigger, name); err != nil {
		return Triggered{}, err
	}
	fire, err := schedule.Store{DB: s.db.Retrying()}.Manual(ctx, name)
	switch {
	case errors.Is(err, schedule.ErrNotFound):
		fire = map[string]any{"name": name, "items": []any{}, "manual": true} // for the audit
	case err != nil:
		return Triggered{}, fmt.Errorf("%s: %w", verbTrigger, noteFailure(ctx, s.db, "schedule."+verbTrigger, name, err))
	}
	answer, err := s.act(ctx, verbTrigger, name, "fn::spky::schedule::trigger($fire)", map[string]any{"fire": fire})
	advance(ctx, s.db, answer.Runs)
	t := Triggered{Was: answer.Status}
	for _, row := range answer.Runs {
		run := row.run()
		if run.Status != "running" {
			t.Skipped++
			continue
		}
		t.Started++
		if t.Started == 1 {
			t.Job, t.Instance, t.Run = run.Job, run.Instance, run.Run
		}
	}
	return t, err
}

// clocked refuses a verb on a DAG that has no clock, with a *StateError and a row of the audit. One that was paused while it
// had one may be resumed. What does not exist is for the verb to find.
func (s *Schedules) clocked(ctx context.Context, verb, name string) error {
	rows, _, err := schedule.Store{DB: s.db.Retrying()}.Look(ctx, []string{name})
	switch {
	case err != nil:
		return fmt.Errorf("%s schedule %s: %w", verb, name, noteFailure(ctx, s.db, "schedule."+verb, name, err))
	case len(rows) == 0, rows[0].Spec.DAG == nil, rows[0].Spec.Timed():
		return nil
	case verb == verbResume && rows[0].PausedAt != nil:
		return nil
	}
	vars := map[string]any{"found": ScheduleClockless}
	if _, err := audited[scheduleAnswer](ctx, s.db, "schedule."+verb, name, "{ ok: false, status: $found }", vars); err != nil {
		return fmt.Errorf("%s schedule %s: %w", verb, name, err)
	}
	return &StateError{Schedule: true, ID: name, Verb: verb, Status: ScheduleClockless, Possible: []string{}}
}

// next is the first tick of a schedule from now on, NONE without.
func (s *Schedules) next(ctx context.Context, name string) (any, error) {
	rows, now, err := schedule.Store{DB: s.db}.Look(ctx, []string{name})
	if err != nil || len(rows) == 0 || !rows[0].Spec.Timed() {
		return surreal.None, err
	}
	clock, err := rows[0].Spec.Clock()
	if err != nil {
		return surreal.None, err
	}
	last := now
	if rows[0].NextAt != nil {
		last = *rows[0].NextAt
	}
	var at time.Time
	if last.After(now) {
		at = last // the pause was shorter than the interval
	} else {
		at = clock.Next(last, now)
	}
	if at.IsZero() {
		return surreal.None, nil
	}
	return at, nil
}

type scheduleAnswer struct {
	OK     bool     `json:"ok"`
	Status string   `json:"status"`
	Keys   []string `json:"keys"`
	Runs   []runRow `json:"runs"`
}

func (s *Schedules) act(ctx context.Context, verb, name, call string, more map[string]any) (scheduleAnswer, error) {
	vars := map[string]any{"name": name}
	maps.Copy(vars, more)
	answer, err := audited[scheduleAnswer](ctx, s.db, "schedule."+verb, name, call, vars)
	switch {
	case err != nil:
		return answer, fmt.Errorf("%s schedule %s: %w", verb, name, err)
	case answer.Status == "":
		return answer, fmt.Errorf("%s schedule %s: schedule %w", verb, name, ErrNotFound)
	case !answer.OK:
		return answer, &StateError{Schedule: true, ID: name, Verb: verb, Status: answer.Status, Possible: possibleForSchedule(answer.Status, verb)}
	}
	return answer, nil
}
