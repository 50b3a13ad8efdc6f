package dashboard

import (
	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
)

// workflowsView is the content of the list of workflows.
type workflowsView struct{ Workflows []admin.Workflow }

func (d *Dashboard) workflows(v *visit) error {
	all, err := d.cfg.Durable.Workflows(v.ctx())
	if err != nil {
		return err
	}
	return d.show(v, "workflows", d.view(v, "workflows", "Workflows", workflowsView{all}).watching(api.TopicInstances, ""))
}

// workflowView is the content of a workflow's page.
type workflowView struct {
	admin.Workflow

	Counts []admin.Count
	Newest []admin.Summary
}

// newest is how many instances a workflow's page shows.
const newest = 10

func (d *Dashboard) workflow(v *visit) error {
	w, err := d.cfg.Durable.Workflow(v.ctx(), v.id("binding"))
	if err != nil {
		return err
	}
	content := workflowView{Workflow: w}
	if content.Counts, err = d.cfg.Durable.CountsTo(v.ctx(), w.Binding, admin.MaxCounted); err != nil {
		return err
	}
	page, err := d.cfg.Durable.List(v.ctx(), admin.ListOptions{Binding: w.Binding, Limit: newest})
	if err != nil {
		return err
	}
	content.Newest = page.Instances
	return d.show(v, "workflow", d.view(v, "workflows", w.Binding, content).watching(api.TopicInstances, ""))
}
