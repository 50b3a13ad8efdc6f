package admin

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"sp00ky.cloud/spky/surreal"
)

var (
	//go:embed surql/steps_index.surql
	stepsIndexStatement string
	//go:embed surql/steps_index_filtered.surql
	stepsFilteredStatement string
)

// StepStatuses are the states of a step.
func StepStatuses() []string {
	return []string{"running", "retrying", "waiting", "complete", "errored"}
}

// StepKinds are the kinds of a step.
func StepKinds() []string { return []string{"do", "sleep", "waitForEvent"} }

// StepOptions choose steps of an instance. Its zero value is the first of them.
type StepOptions struct {
	// After wants steps with a greater Seq, Before those with a lesser one where it is not 0. Last wants the
	// last of them instead of the first.
	After, Before int
	Last          bool
	// Status and Kind narrow the list where they are not "", Query to names with it in them, whatever its case.
	Status, Kind, Query string
	// Limit is how many steps at most, up to MaxPage. Defaults to DefaultPage.
	Limit int
}

// A StepPage is a part of an instance's steps, in the order they were reached, without what they came to.
type StepPage struct {
	Steps []Step `json:"steps"`
	// Total is how many fit the filters, Earlier and Later how many of them are before and after those of the page.
	Total   int `json:"total"`
	Earlier int `json:"earlier,omitempty"`
	Later   int `json:"later,omitempty"`
}

// A stepPlace is where a step stands among the others.
type stepPlace struct {
	ID  surreal.RecordID `json:"id"`
	Seq int              `json:"seq"`
}

// StepPage answers with some of an instance's steps. The database looks through the ids of all of them, and
// reads those of the page.
func (d *Durable) StepPage(ctx context.Context, id string, incarnation int, o StepOptions) (StepPage, error) {
	if err := o.check(); err != nil {
		return StepPage{}, err
	}
	vars := map[string]any{"id": id, "incarnation": incarnation}
	statement := stepsIndexStatement
	if o.Status != "" || o.Kind != "" || o.Query != "" {
		statement = stepsFilteredStatement
		vars["status"], vars["kind"], vars["query"] = given(o.Status), given(o.Kind), given(strings.ToLower(o.Query))
	}
	places, err := surreal.First[[]stepPlace](ctx, d.db, statement, vars)
	if err != nil {
		return StepPage{}, fmt.Errorf("read steps of %s: %w", id, err)
	}
	from, to := o.cut(places)
	page := StepPage{Steps: []Step{}, Total: len(places), Earlier: from, Later: len(places) - to}
	if from == to {
		return page, nil
	}
	ids := make([]surreal.RecordID, 0, to-from)
	for _, place := range places[from:to] {
		ids = append(ids, place.ID)
	}
	rows, err := surreal.First[[]stepRow](ctx, d.db, changedStatement, map[string]any{"ids": ids})
	if err != nil {
		return StepPage{}, fmt.Errorf("read steps of %s: %w", id, err)
	}
	for _, row := range rows {
		page.Steps = append(page.Steps, row.step(nil))
	}
	sortSteps(page.Steps)
	return page, d.hider.steps(ctx, life{id, incarnation}, page.Steps)
}

// Of is the page of steps that are known, all of an incarnation.
func (o StepOptions) Of(steps []Step) (StepPage, error) {
	if err := o.check(); err != nil {
		return StepPage{}, err
	}
	var fit []Step
	var places []stepPlace
	query := strings.ToLower(o.Query)
	for _, s := range steps {
		if (o.Status == "" || s.Status == o.Status) && (o.Kind == "" || s.Kind == o.Kind) && strings.Contains(strings.ToLower(s.Name), query) {
			fit = append(fit, s)
			places = append(places, stepPlace{Seq: s.Seq})
		}
	}
	sortSteps(fit)
	from, to := o.cut(places)
	return StepPage{Steps: fit[from:to:to], Total: len(fit), Earlier: from, Later: len(fit) - to}, nil
}

// cut sorts places, and says which of them are the page. Those of one Seq stay together as far as the limit
// allows: the next page begins after their Seq.
func (o StepOptions) cut(places []stepPlace) (from, to int) {
	slices.SortStableFunc(places, func(a, b stepPlace) int { return cmp.Compare(a.Seq, b.Seq) })
	first := func(seq int) int {
		at, _ := slices.BinarySearchFunc(places, seq, func(p stepPlace, seq int) int { return cmp.Compare(p.Seq, seq) })
		return at
	}
	from, to = first(o.After+1), len(places)
	if o.Before > 0 {
		to = max(from, first(o.Before))
	}
	most := cmp.Or(o.Limit, DefaultPage)
	if to-from <= most {
		return from, to
	}
	if o.Last {
		from = to - most
		if whole := first(places[from-1].Seq + 1); whole < to {
			from = whole
		}
		return from, to
	}
	to = from + most
	if whole := first(places[to].Seq); whole > from {
		to = whole
	}
	return from, to
}

func (o StepOptions) check() error {
	switch {
	case o.Limit < 0 || o.Limit > MaxPage:
		return inputf("limit %d; allowed: 1 to %d", o.Limit, MaxPage)
	case o.After < 0 || o.After == math.MaxInt || o.Before < 0:
		return inputf("steps after %d and before %d; allowed: their seq, from 1", o.After, o.Before)
	case o.Status != "" && !slices.Contains(StepStatuses(), o.Status):
		return inputf("status %q of steps; allowed: %s", o.Status, strings.Join(StepStatuses(), ", "))
	case o.Kind != "" && !slices.Contains(StepKinds(), o.Kind):
		return inputf("kind %q of steps; allowed: %s", o.Kind, strings.Join(StepKinds(), ", "))
	case len(o.Query) > 500:
		return inputf("the query has %d bytes; allowed: 500", len(o.Query))
	}
	return nil
}

// given is a text for a statement, NONE where there is none.
func given(text string) any {
	if text == "" {
		return surreal.None
	}
	return text
}
