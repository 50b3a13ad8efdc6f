package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/config"
)

// A Workflow is one that the configuration declares, or that has instances.
type Workflow struct {
	Binding string `json:"binding"`
	// Class, Backend and Table are the configuration's, "" for a workflow that it does not have (any
	// more): its instances can't run.
	Class   string `json:"class,omitempty"`
	Backend string `json:"backend,omitempty"`
	Table   string `json:"table,omitempty"`
	// LastCreated is when its newest instance was created, nil without one.
	LastCreated *time.Time `json:"last_created,omitempty"`
}

// Declared says whether the configuration has the workflow.
func (w Workflow) Declared() bool { return w.Backend != "" }

// Workflows answers with all workflows, by name.
func (d *Durable) Workflows(ctx context.Context) ([]Workflow, error) {
	used, err := d.bindings(ctx)
	if err != nil {
		return nil, fmt.Errorf("list workflows: %w", err)
	}
	all := []Workflow{}
	for _, b := range d.backends {
		for _, w := range b.Workflows {
			all = append(all, declared(b, w))
		}
	}
	for _, binding := range used {
		if !slices.ContainsFunc(all, func(w Workflow) bool { return w.Binding == binding }) {
			all = append(all, Workflow{Binding: binding})
		}
	}
	slices.SortFunc(all, func(a, b Workflow) int { return strings.Compare(a.Binding, b.Binding) })
	for i := range all {
		if slices.Contains(used, all[i].Binding) {
			if all[i].LastCreated, err = d.lastCreated(ctx, all[i].Binding); err != nil {
				return nil, fmt.Errorf("list workflows: %w", err)
			}
		}
	}
	return all, nil
}

func declared(b config.Backend, w config.Workflow) Workflow {
	return Workflow{Binding: w.Binding, Class: w.Class, Backend: b.Name, Table: b.Table}
}

func (d *Durable) lastCreated(ctx context.Context, binding string) (*time.Time, error) {
	page, err := d.List(ctx, ListOptions{Binding: binding, Limit: 1})
	if err != nil || len(page.Instances) == 0 {
		return nil, err
	}
	return &page.Instances[0].CreatedAt, nil
}

// Workflow answers with one workflow; ErrNotFound where neither the configuration nor the database
// knows it.
func (d *Durable) Workflow(ctx context.Context, binding string) (Workflow, error) {
	at, err := d.lastCreated(ctx, binding)
	if err != nil {
		return Workflow{}, fmt.Errorf("describe workflow %s: %w", binding, err)
	}
	w, ok := d.lookup(binding)
	if !ok && at == nil {
		return Workflow{}, fmt.Errorf("describe workflow %s: %w", binding, ErrNotFound)
	}
	w.Binding, w.LastCreated = binding, at
	return w, nil
}

// lookup finds a workflow in the configuration.
func (d *Durable) lookup(binding string) (Workflow, bool) {
	for _, b := range d.backends {
		for _, w := range b.Workflows {
			if w.Binding == binding {
				return declared(b, w), true
			}
		}
	}
	return Workflow{}, false
}

// Declared names the workflows of the configuration.
func (d *Durable) Declared() []string {
	var all []string
	for _, b := range d.backends {
		for _, w := range b.Workflows {
			all = append(all, w.Binding)
		}
	}
	slices.Sort(all)
	return all
}
