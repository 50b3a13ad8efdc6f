package workflow_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"sp00ky.cloud/spky/integration/internal/durable"
	"sp00ky.cloud/spky/wf"
)

// A director plays the part of everybody outside the workflow: it creates instances and does to them
// what the script says.
type director struct {
	*rig
	stage   *stage
	process *process
	flow    *wf.Workflow[any]
	// current is the instance of the last create, get or await.
	current *wf.Instance
}

// play goes through the script; one that creates nothing gets an instance to begin with.
func (d *director) play(script []action) {
	d.t.Helper()
	if !slices.ContainsFunc(script, func(a action) bool { return a.Create != nil || a.CreateBatch != nil }) {
		i, err := d.flow.Create(d.t.Context(), d.stage.c.Params)
		check(d.t, err)
		d.current = i
	}
	for n, a := range script {
		err := d.act(a)
		if kind := refusal(err); kind != a.Refused {
			d.t.Fatalf("action %d of the script gives %q (%v), want %q", n, kind, err, a.Refused)
		}
	}
}

// refusal is the kind of an operation's error.
func refusal(err error) string {
	var state *wf.StateError
	kinds := map[string]error{"exists": wf.ErrExists, "notFound": wf.ErrNotFound, "stepNotFound": wf.ErrStepNotFound, "name": wf.ErrName, "config": wf.ErrConfig, "tooLarge": wf.ErrTooLarge, "notJSON": wf.ErrNotJSON}
	switch {
	case err == nil:
		return ""
	case errors.As(err, &state):
		return "state"
	}
	for kind, known := range kinds {
		if errors.Is(err, known) {
			return kind
		}
	}
	return err.Error()
}

func (d *director) act(a action) error {
	d.t.Helper()
	ctx := d.t.Context()
	switch {
	case a.Create != nil:
		return d.create(*a.Create)
	case a.CreateBatch != nil:
		return d.createBatch(*a.CreateBatch, a.IDs)
	case a.Get != nil:
		i, err := d.flow.Get(ctx, *a.Get)
		if err == nil {
			d.current = i
		}
		return err
	case a.Await != nil:
		d.await(*a.Await)
	case a.Seen != nil:
		if saw := d.stage.attempts(); !reflect.DeepEqual(saw, a.Seen) {
			return fmt.Errorf("the functions were called as %v", saw)
		}
	case a.Send != nil:
		i := d.current
		if a.ID != "" {
			var err error
			if i, err = d.flow.Get(ctx, a.ID); err != nil {
				return err
			}
		}
		return i.SendEvent(ctx, *a.Send, a.Payload)
	case a.Pause:
		return d.current.Pause(ctx)
	case a.Resume:
		return d.current.Resume(ctx)
	case a.Terminate:
		return d.current.Terminate(ctx)
	case a.Restart != nil:
		return d.restart(*a.Restart)
	case a.Kill:
		d.process.kill()
	case a.Release != "":
		close(d.stage.latch(a.Release))
	default:
		return fmt.Errorf("unknown action %+v", a)
	}
	return nil
}

func (d *director) restart(r durable.Restart) error {
	var opts []wf.RestartOption
	if r.From != nil {
		opts = append(opts, wf.From(wf.StepRef(*r.From)))
	}
	return d.current.Restart(d.t.Context(), opts...)
}

func (d *director) create(c creation) error {
	var opts []wf.CreateOption
	if c.ID != nil {
		opts = append(opts, wf.ID(fmt.Sprint(plain(c.ID))))
	}
	i, err := d.flow.Create(d.t.Context(), c.Params, opts...)
	if err == nil {
		d.current = i
	}
	return err
}

func (d *director) createBatch(batch []creation, ids []string) error {
	news := make([]wf.NewInstance[any], len(batch))
	for i, c := range batch {
		news[i] = wf.NewInstance[any]{Params: c.Params, Options: []wf.CreateOption{wf.ID(fmt.Sprint(plain(c.ID)))}}
	}
	made, err := d.flow.CreateBatch(d.t.Context(), news)
	if err != nil {
		return err
	}
	var got []string
	for _, i := range made {
		got = append(got, i.ID())
		d.current = i
	}
	if !slices.Equal(got, ids) {
		return fmt.Errorf("the batch made %v, want %v", got, ids)
	}
	return nil
}

func (d *director) await(a awaited) {
	d.t.Helper()
	if a.ID != "" {
		i, err := d.flow.Get(d.t.Context(), a.ID)
		check(d.t, err)
		d.current = i
	}
	d.Poll(fmt.Sprintf("%+v", a), func() (bool, any) {
		row, steps := d.Instance(d.current.ID()), d.Steps(d.current.ID())
		ok := true
		if a.Step == "" && a.Status != "" {
			ok = row.Status == a.Status
		}
		if a.Step != "" {
			ok = steps[a.Step].Status == a.Status
		}
		for key, status := range a.Steps {
			ok = ok && steps[key].Status == status
		}
		if a.For != "" {
			ok = ok && row.WaitingFor["kind"] == a.For
		}
		if a.Seen != "" {
			ok = ok && len(d.stage.attempts()[a.Seen]) >= a.Times
		}
		if a.Ended != "" {
			ok = ok && d.stage.hasEnded(a.Ended)
		}
		return ok, fmt.Sprintf("%+v\n%+v\n%v", row, steps, d.stage.attempts())
	})
}

func (s *stage) attempts() map[string][]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.seen)
}

func (s *stage) hasEnded(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended[key]
}
