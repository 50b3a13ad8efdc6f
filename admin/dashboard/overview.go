package dashboard

import (
	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
)

// overviewView is the overview's content.
type overviewView struct {
	admin.Overview

	Charts   []chart
	Backends []admin.Backend
	Alive    []admin.Node
	// Failed and Errored are the newest jobs and instances that ended so.
	Failed  []admin.JobSummary
	Errored []admin.Summary
	Most    int
}

// trouble is how many failed jobs, and instances, the overview shows.
const trouble = 5

func (d *Dashboard) overview(v *visit) error {
	d.looked()
	o, backends, known := d.history.newest() // counting can take longer than anybody waits for a page
	var err error
	if !known {
		if o, backends, err = d.look(v.ctx()); err != nil {
			return err
		}
	}
	content := overviewView{Overview: o, Charts: d.history.charts(), Backends: backends, Most: admin.MaxCounted}
	if content.Alive, err = d.cfg.Cluster.Nodes(v.ctx()); err != nil {
		return err
	}
	if len(d.cfg.Jobs.Tables()) > 0 {
		failed, err := d.cfg.Jobs.List(v.ctx(), admin.JobListOptions{Status: "failed", Limit: trouble})
		if err != nil {
			return err
		}
		content.Failed = failed.Jobs
	}
	errored, err := d.cfg.Durable.List(v.ctx(), admin.ListOptions{Status: "errored", Limit: trouble})
	if err != nil {
		return err
	}
	content.Errored = errored.Instances
	return d.show(v, "overview", d.view(v, "overview", "Overview", content).watching(api.TopicOverview, "").moving(o.Nodes.Alive+o.Nodes.Draining > 0, pondering))
}
