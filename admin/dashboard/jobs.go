package dashboard

import (
	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/ssp/dag"
)

// jobsView is the content of the list of jobs.
type jobsView struct {
	admin.JobPage

	Query query
	// Wrong is what cannot be meant by the filters.
	Wrong    string
	Tabs     []tab
	Tables   []string
	Backends []string
	Origins  []string
	Next     string
	Verbs    []string
}

func (d *Dashboard) jobs(v *visit) error {
	q := queryOf(v, "status", "table", "backend", "origin", "q", "stalled", "cursor")
	page, err := d.cfg.Jobs.List(v.ctx(), jobOptions(q))
	wrong, err := meant(err)
	if err != nil {
		return err
	}
	content := jobsView{
		JobPage: page, Query: q, Wrong: wrong, Tabs: d.jobTabs(q), Tables: d.cfg.Jobs.Tables(), Origins: admin.Origins(), Verbs: bulkJobVerbs,
	}
	if page.Next != "" {
		content.Next = q.With("cursor", page.Next)
	}
	w := d.view(v, "jobs", "Jobs", content).watching(api.TopicJobs, q.Get("table"))
	if wrong == "" {
		w.Now = page.Now
	}
	return d.show(v, "jobs", w)
}

func jobOptions(q query) admin.JobListOptions {
	return admin.JobListOptions{
		Status: outbox.Status(q.Get("status")), Table: q.Get("table"), Backend: q.Get("backend"), Origin: q.Get("origin"), Query: q.Get("q"),
		Stalled: q.Get("stalled") != "", Cursor: q.Get("cursor"), Limit: pageRows,
	}
}

// jobTabs are the states, with how many jobs of all tables were in each when that was last looked at.
func (d *Dashboard) jobTabs(q query) []tab {
	o, known := d.history.overview()
	counts := map[outbox.Status]int{
		outbox.Pending: o.Jobs.Pending, outbox.Processing: o.Jobs.Processing, outbox.Success: o.Jobs.Success, outbox.Failed: o.Jobs.Failed,
		outbox.Cancelled: o.Jobs.Cancelled,
	}
	tabs := []tab{{Label: "all", Href: q.With("status", ""), Current: q.Get("status") == ""}}
	for _, status := range outbox.Statuses() {
		t := tab{Name: string(status), Label: string(status), Href: q.With("status", string(status)), Current: q.Get("status") == string(status)}
		if known && q.Get("table")+q.Get("backend")+q.Get("origin")+q.Get("q")+q.Get("stalled") == "" {
			t.Count = count(counts[status], admin.MaxCounted) // a sum of tables that were each counted so far
		}
		tabs = append(tabs, t)
	}
	return tabs
}

// jobView is the content of a job's page.
type jobView struct {
	admin.Job

	Verbs       []string
	Explanation *admin.Explanation
	TraceURL    string
	// Run is the run of a DAG whose step the job is, "" of others.
	Run string
}

func (d *Dashboard) job(v *visit) error {
	job, err := d.cfg.Jobs.Get(v.ctx(), v.id("id"))
	if err != nil {
		return err
	}
	content := jobView{Job: job, Verbs: job.Verbs(), TraceURL: d.traceURL(job.TraceID)}
	if id, err := d.cfg.Jobs.ID(job.ID); err == nil {
		content.Run, _ = dag.RunOf(id.ID)
	}
	if job.Status != outbox.Success && job.Status != outbox.Cancelled {
		why, err := d.cfg.Explainer.Job(v.ctx(), job.ID)
		if err != nil {
			return err
		}
		content.Explanation = &why
	}
	return d.show(v, "job", d.view(v, "jobs", job.ID, content).watching(api.TopicJob, job.ID).moving(content.Explanation != nil, pondering))
}
