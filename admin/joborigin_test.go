package admin

import (
	"testing"

	"sp00ky.cloud/spky/wf"
)

// TestOrigins shows that a row is durable where the platform wrote it, and not where it only looks so.
func TestOrigins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(NewInstance{Binding: "ALPHA", ID: "known"})
	r.exec(`DEFINE FIELD OVERWRITE errors ON job TYPE any;
		UPDATE _00_wf_instance:known SET previous_job = job:before;
		LET $path = '/__spky/workflow/ALPHA';
		INSERT INTO job [
			{ id: 'before', path: $path, payload: { instance: 'known' }, status: 'cancelled' },
			{ id: 'earlier', path: $path, payload: { instance: 'known' }, status: 'success', lease_epoch: 1 },
			{ id: 'exhausted', path: $path, payload: { instance: 'gone' }, status: 'failed', lease_epoch: 9, errors: [{ code: 'refused' }, { code: 500 }] },
			{ id: 'restarted', path: $path, payload: { instance: 'known' }, status: 'cancelled', lease_epoch: 2, errors: [{ code: 'cancelled' }] },
			{ id: 'other', path: '/x', payload: { instance: 'known' } },
			{ id: 'forged', path: $path, payload: { instance: 'known' } },
			{ id: 'nobodys', path: $path, payload: { instance: 'unknown' } },
			{ id: 'empty', path: $path },
			{ id: 'text', path: $path, payload: '{"instance":"known"}' },
			{ id: 'odd', path: $path, payload: { instance: 7 }, errors: 'none', lease_epoch: 1, status: 'pending' },
			{ id: 'held', path: $path, payload: { instance: 'known' }, lease_epoch: 1, status: 'processing' },
			{ id: 'refused', path: $path, payload: { instance: 'known' }, lease_epoch: 1, status: 'failed', errors: [{ code: 'refused', reason: 'no' }] },
			{ id: 'withdrawn', path: $path, payload: { instance: 'known' }, status: 'cancelled', errors: [{ code: 'cancelled' }] },
			{ id: 'whose', path: $path, payload: { instance: 'known' }, assigned_to: user:ann, status: 'success', lease_epoch: 1 },
			{ id: 'unbound', path: '/__spky/workflow/BETA', payload: { instance: 'known' } },
			{ id: 'long', path: $path + string::repeat('x', 9000), payload: { instance: 'known' } }
		] RETURN NONE`, nil)
	i := r.get("known")
	durable := map[string]bool{i.Job: true, "job:before": true, "job:earlier": true, "job:exhausted": true, "job:restarted": true}
	j := r.jobs()
	page, err := j.List(r.ctx, JobListOptions{Limit: 100})
	r.check(err)
	if len(page.Jobs) != 17 {
		t.Fatalf("there are %d jobs", len(page.Jobs))
	}
	only := map[string][]string{}
	for _, from := range Origins() {
		only[from] = walkJobs(r, j, JobListOptions{Origin: from, Limit: 3})
	}
	if len(only[originDurable]) != len(durable) || len(only[originApp]) != 17-len(durable) {
		t.Errorf("the filters find %q", only)
	}
	for _, id := range only[originDurable] {
		if !durable[id] {
			t.Errorf("the filter finds %s", id)
		}
	}
	for _, s := range page.Jobs {
		want := origin(durable[s.ID])
		job, err := j.Get(r.ctx, s.ID)
		r.check(err)
		if s.Origin != want || job.Origin != want || (job.Instance != "") != (want == originDurable) {
			t.Errorf("%s is listed as %s and shown as %s of %q, want %s", s.ID, s.Origin, job.Origin, job.Instance, want)
		}
	}
}

// TestOriginOfUnreadable looks at rows whose payload cannot be sent.
func TestOriginOfUnreadable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(NewInstance{Binding: "ALPHA", ID: "known"})
	r.exec(`UPDATE (SELECT VALUE job FROM ONLY _00_wf_instance:known) SET payload = { instance: 'known', odd: /x/ } RETURN NONE;
		CREATE job:forged SET path = '/__spky/workflow/ALPHA', payload = { instance: 'known', odd: /x/ } RETURN NONE`, nil)
	for id, want := range map[string]string{r.get("known").Job: originDurable, "job:forged": originApp} {
		if job, err := r.jobs().Get(r.ctx, id); err != nil || job.Origin != want {
			t.Errorf("%s is shown as %s (%v), want %s", id, job.Origin, err, want)
		}
	}
}

// TestOriginsOfChanges follows the jobs of an instance that runs, and one that is forged.
func TestOriginsOfChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	told := r.changes(r.cfg)
	r.saw(told, func(c JobChange) bool { return c.Path == "/again" && c.Origin == originApp })
	r.exec("CREATE job:forged SET path = '/__spky/workflow/ALPHA', payload = { instance: 'known' }", nil)
	looks := func(id, status, origin string) {
		t.Helper()
		if c := r.saw(told, func(c JobChange) bool { return c.ID == id && string(c.Status) == status }); c.Origin != origin {
			t.Errorf("%s is told as %s while %s, want %s", id, c.Origin, status, origin)
		}
	}
	looks("job:forged", "pending", originApp)
	r.create(NewInstance{Binding: "ALPHA", ID: "known"})
	job := r.get("known").Job
	looks(job, "pending", originDurable)
	r.running(func(e *wf.Engine) { wf.Register(e, "ALPHA", flow) })
	looks(job, "success", originDurable)
	forged, err := r.jobs().Watch(r.ctx, "job:forged", func(Job) error { return nil })
	if err != nil || forged.Status != "failed" || forged.Origin != originApp || forged.Instance != "" {
		t.Errorf("in the end the forged job is %s, %v", pretty(t, forged), err)
	}
}
