package dashboard

import (
	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
	"sp00ky.cloud/spky/wf"
)

// A tab is a state by which a list is narrowed, with how many there are of it.
type tab struct {
	Name, Label, Href, Count string
	Current                  bool
}

// instancesView is the content of the list of instances.
type instancesView struct {
	admin.Page

	Query query
	// Wrong is what cannot be meant by the filters.
	Wrong     string
	Tabs      []tab
	Workflows []string
	Next      string
	// Verbs are what can be done to several at once.
	Verbs []string
}

func (d *Dashboard) instances(v *visit) error {
	q := queryOf(v, "status", "binding", "owner", "q", "stalled", "cursor")
	page, err := d.cfg.Durable.List(v.ctx(), instanceOptions(q))
	wrong, err := meant(err)
	if err != nil {
		return err
	}
	content := instancesView{Page: page, Wrong: wrong, Query: q, Tabs: d.instanceTabs(q), Verbs: bulkInstanceVerbs}
	if page.Next != "" {
		content.Next = q.With("cursor", page.Next)
	}
	if content.Workflows, err = d.bindings(v); err != nil {
		return err
	}
	return d.show(v, "instances", d.view(v, "instances", "Instances", content).watching(api.TopicInstances, ""))
}

func instanceOptions(q query) admin.ListOptions {
	return admin.ListOptions{
		Status: wf.Status(q.Get("status")), Binding: q.Get("binding"), Owner: q.Get("owner"), Query: q.Get("q"), Stalled: q.Get("stalled") != "",
		Cursor: q.Get("cursor"), Limit: pageRows,
	}
}

// bindings are the workflows to choose from.
func (d *Dashboard) bindings(v *visit) ([]string, error) {
	all, err := d.cfg.Durable.Workflows(v.ctx())
	if err != nil {
		return nil, err
	}
	var names []string
	for _, w := range all {
		names = append(names, w.Binding)
	}
	return names, nil
}

// instanceTabs are the states, with how many instances of all workflows were in each when that was last looked at.
func (d *Dashboard) instanceTabs(q query) []tab {
	o, known := d.history.overview()
	i := o.Instances
	counts := map[wf.Status]int{
		wf.Queued: i.Queued, wf.Running: i.Running, wf.Waiting: i.Waiting, wf.Paused: i.Paused, wf.Complete: i.Complete, wf.Errored: i.Errored,
		wf.Terminated: i.Terminated,
	}
	tabs := []tab{{Label: "all", Href: q.With("status", ""), Current: q.Get("status") == ""}}
	for _, status := range admin.Statuses() {
		t := tab{Name: string(status), Label: string(status), Href: q.With("status", string(status)), Current: q.Get("status") == string(status)}
		if known && q.Get("binding")+q.Get("owner")+q.Get("q")+q.Get("stalled") == "" {
			t.Count = count(counts[status], admin.MaxCounted)
		}
		tabs = append(tabs, t)
	}
	return tabs
}
