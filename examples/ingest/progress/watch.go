package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"sp00ky.cloud/spky/surreal"
)

var (
	//go:embed surql/instances.surql
	liveInstances string
	//go:embed surql/total.surql
	liveTotals string
	//go:embed surql/known.surql
	knownInstances string
	//go:embed surql/known_total.surql
	knownTotals string
	//go:embed surql/ask.surql
	askStatement string
)

// An instance is what a user sees of a workflow's instance.
type instance struct {
	ID          surreal.RecordID `json:"id"`
	Status      string           `json:"status"`
	StepsDone   int              `json:"steps_done"`
	CurrentStep string           `json:"current_step"`
	WaitingFor  *struct {
		Kind  string   `json:"kind"`
		Name  string   `json:"name"`
		Types []string `json:"types"`
	} `json:"waiting_for"`
	WakeAt *time.Time `json:"wake_at"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	Output    any       `json:"output"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

func (i instance) over() bool {
	return i.Status == "complete" || i.Status == "errored" || i.Status == "terminated"
}

// A total is how many steps an instance will have.
type total struct {
	Instance surreal.RecordID `json:"instance"`
	Steps    int              `json:"steps"`
}

// A viewer keeps what it has heard, and shows one instance.
type viewer struct {
	screen *screen
	// before holds the instances that are not meant: those there were before the user asked for one.
	before map[string]bool
	seen   map[string]instance
	totals map[string]int
	// shown is the id of the instance on the screen.
	shown string
}

// watch shows the user's newest instance until it has ended, or the one that comes of asking for a
// document.
func watch(ctx context.Context, client *surreal.Client, document string, s *screen) error {
	v := &viewer{screen: s, before: map[string]bool{}, seen: map[string]instance{}, totals: map[string]int{}}
	for {
		done, err := v.listen(ctx, client, &document)
		if done || err != nil && !surreal.IsUnreachable(err) {
			return err
		}
	}
}

// listen subscribes and follows what is announced until the instance has ended, or the connection is lost.
func (v *viewer) listen(ctx context.Context, client *surreal.Client, document *string) (bool, error) {
	// Listen before reading or writing anything, and nothing can be missed.
	instances, err := client.Live(ctx, surreal.LiveConfig{Table: "_00_wf_instance", Statement: liveInstances})
	if err != nil {
		return false, err
	}
	defer instances.Close(context.WithoutCancel(ctx))
	totals, err := client.Live(ctx, surreal.LiveConfig{Table: "_00_wf_step", Statement: liveTotals})
	if err != nil {
		return false, err
	}
	defer totals.Close(context.WithoutCancel(ctx))
	if err := v.read(ctx, client); err != nil {
		return false, err
	}
	if *document != "" {
		for id := range v.seen {
			v.before[id] = true
		}
		if err := v.ask(ctx, client, *document); err != nil {
			return false, err
		}
		*document = ""
	}
	for !v.show() {
		select {
		case <-instances.C():
		case <-totals.C():
		case <-ctx.Done():
			return false, ctx.Err()
		}
		if err := v.hear(instances, totals); err != nil {
			return false, err
		}
	}
	return true, v.verdict()
}

// read looks once at what happened while nobody listened.
func (v *viewer) read(ctx context.Context, client *surreal.Client) error {
	known, err := surreal.First[[]instance](ctx, client, knownInstances, nil)
	if err != nil {
		return err
	}
	ids := make([]surreal.RecordID, len(known))
	for n, i := range known {
		ids[n] = i.ID
		v.note(i)
	}
	found, err := surreal.First[[]total](ctx, client, knownTotals, map[string]any{"instances": ids})
	for _, t := range found {
		v.totals[surreal.FormatID(t.Instance)] = t.Steps
	}
	return err
}

func (v *viewer) ask(ctx context.Context, client *surreal.Client, document string) error {
	rows, err := surreal.First[[]struct {
		ID surreal.RecordID `json:"id"`
	}](ctx, client, askStatement, map[string]any{"document": document})
	switch {
	case err != nil:
		return fmt.Errorf("ask for a material: %w", err)
	case len(rows) == 0:
		return errors.New("ask for a material: the table's permissions refuse it")
	}
	v.screen.say("asked for a material of " + document + " with " + surreal.FormatID(rows[0].ID))
	return nil
}

// hear takes in what was announced.
func (v *viewer) hear(instances, totals *surreal.Live) error {
	changed, lost := instances.Take()
	counted, lostToo := totals.Take()
	for _, e := range changed {
		var i instance
		if err := e.Decode(&i); err != nil {
			return err
		}
		if e.Action != "DELETE" {
			v.note(i)
		}
	}
	for _, e := range counted {
		var t total
		if err := e.Decode(&t); err != nil {
			return err
		}
		v.totals[surreal.FormatID(t.Instance)] = t.Steps
	}
	if lost || lostToo {
		return fmt.Errorf("%w: more changes than could be kept", surreal.ErrDisconnected)
	}
	return errors.Join(instances.Err(), totals.Err())
}

// note keeps the newest of what is known of an instance: notifications overtake each other.
func (v *viewer) note(i instance) {
	id := surreal.FormatID(i.ID)
	if was, ok := v.seen[id]; !ok || !i.UpdatedAt.Before(was.UpdatedAt) {
		v.seen[id] = i
	}
}

// show draws the instance, and answers whether it has ended.
func (v *viewer) show() bool {
	for id, i := range v.seen {
		if !v.before[id] && (v.shown == "" || i.CreatedAt.After(v.seen[v.shown].CreatedAt)) {
			v.shown = id
		}
	}
	if v.shown == "" {
		return false
	}
	i := v.seen[v.shown]
	v.screen.draw(i, v.totals[v.shown])
	return i.over()
}

// verdict says what the instance came to.
func (v *viewer) verdict() error {
	i := v.seen[v.shown]
	switch {
	case i.Status == "complete":
		output, err := surreal.ToJSON(i.Output)
		v.screen.say("the workflow came to " + string(output))
		return err
	case i.Error != nil:
		v.screen.say("it failed: " + i.Error.Message)
	}
	return errUnfinished
}
