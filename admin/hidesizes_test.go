package admin

import (
	"fmt"
	"slices"
	"testing"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// large makes 30 errored instances of two kibibytes of outputs; i07 has 200.
func (r *rig) large() (ids []string) {
	for i := range 30 {
		ids = append(ids, fmt.Sprintf("i%02d", i))
	}
	r.exec(`FOR $id IN $ids {
		CREATE type::record('_00_wf_instance', $id) SET binding = 'ALPHA', job_table = 'job', status = 'errored', incarnation = 1, params = { secret: 'TOPSECRET' },
			error = { name: 'Error', message: 'cannot TOPSECRET' } RETURN NONE;
		FOR $j IN 0..(IF $id = 'i07' { 200 } ELSE { 2 }) {
			CREATE type::record('_00_wf_step', [$id, 1, 'do', 'a', $j]) SET output = { secret: string::repeat('x', 1000) }, status = 'complete' RETURN NONE;
		}
	}`, map[string]any{"ids": ids})
	return ids
}

// TestWhatIsHiddenIsReadWithinABound: each instance has its error shown, those that hold too much as nothing but that
// there is one.
func TestWhatIsHiddenIsReadWithinABound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ids := r.large()
	for most, whole := range map[int][]string{0: nil, 300_000: nil, 250_000: {"i07"}, 100_000: {"i07"}, 10_000: ids[4:], 10: ids} {
		d := *r.durable
		d.hider.rules, d.hider.most = redact.New([]string{"*.secret"}), most
		var all []Summary
		for _, id := range ids {
			all = append(all, Summary{ID: id, Incarnation: 1, Error: &Error{Name: "Error", Message: "cannot TOPSECRET"}})
		}
		r.check(d.hider.summaries(r.ctx, all...))
		page, err := d.List(r.ctx, ListOptions{Limit: 30})
		if err != nil || len(page.Instances) != len(ids) {
			t.Fatalf("with %d bytes, the list: %d, %v", most, len(page.Instances), err)
		}
		if most != 10_000 { // where the order says which
			all = append(all, page.Instances...)
		}
		for _, s := range all {
			want := "cannot " + redact.Shown
			if slices.Contains(whole, s.ID) {
				want = redact.Shown
			}
			if s.Error.Message != want {
				t.Errorf("with %d bytes, %s shows %q, want %q", most, s.ID, s.Error.Message, want)
			}
		}
	}
}

// TestWhatIsHiddenOfRunsIsReadWithinABound is the same of runs of DAGs.
func TestWhatIsHiddenOfRunsIsReadWithinABound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dags := r.flows()
	r.exec("CREATE site:a SET secret = 'TOPSECRET'", nil)
	started, err := dags.Trigger(r.ctx, "sites")
	r.check(err)
	for most, want := range map[int]string{0: "cannot " + redact.Shown, 10: redact.Shown} {
		run := DAGRun{ID: started.Runs[0], Error: &RunError{Reason: "cannot TOPSECRET"}}
		r.check(hider{db: r.db, rules: redact.New([]string{"*.secret"}), most: most}.dagRuns(r.ctx, []DAGRun{run}))
		if run.Error.Reason != want {
			t.Errorf("with %d bytes, %q is shown, want %q", most, run.Error.Reason, want)
		}
	}
}

// TestWhatIsHiddenOfJobsIsReadWithinABound is the same of jobs, whose rows are read whole.
func TestWhatIsHiddenOfJobsIsReadWithinABound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`CREATE job:small SET path = '/a', payload = { secret: 'TOPSECRET' };
		CREATE job:large SET path = '/a', payload = { secret: 'TOPSECRET', more: string::repeat('x', 9000) } RETURN NONE`, nil)
	for most, want := range map[int][]string{0: {"cannot " + redact.Shown, "cannot " + redact.Shown}, 9000: {redact.Shown, "cannot " + redact.Shown}, 10: {redact.Shown, redact.Shown}} {
		h := hider{db: r.db, rules: redact.New([]string{"*.secret"}), most: most}
		found, err := h.jobs(r.ctx, []surreal.RecordID{{Table: "job", ID: "large"}, {Table: "job", ID: "small"}})
		r.check(err)
		for i, id := range []string{"job:large", "job:small"} {
			if shown := found.of(id).Text("cannot TOPSECRET"); shown != want[i] {
				t.Errorf("with %d bytes, %s shows %q, want %q", most, id, shown, want[i])
			}
		}
	}
}
