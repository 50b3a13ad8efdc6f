package admin

import (
	"slices"
	"testing"
)

const fillStepsStatement = `INSERT INTO _00_wf_step (<array> 0..$n).map(|$n| { RETURN {
	id: ['long', 0, 'do', 'step ' + <string> ($n * 7919 % 1000), 1], instance: _00_wf_instance:long, seq: $n + 1 + math::floor($n / 10), kind: IF $n % 9 = 4 { 'sleep' } ELSE { 'do' }, name: 'step ' + <string> ($n * 7919 % 1000),
	occurrence: 1, status: IF $n % 10 = 3 { 'errored' } ELSE { 'complete' }, output: { hidden: true }, started_at: time::now(), finished_at: time::now(), attempts: [] } }) RETURN NONE`

// TestStepPages walks through the steps of an instance in both directions; of each tenth seq there are two.
func TestStepPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(NewInstance{Binding: "ALPHA", ID: "long"})
	r.exec(fillStepsStatement, map[string]any{"n": 95})
	r.exec("UPDATE _00_wf_step SET seq = 40 WHERE seq IN [38, 39, 40] RETURN NONE", nil)
	all, err := r.durable.Steps(r.ctx, "long", 0, false)
	r.check(err)
	names := func(steps []Step) (list []string) {
		for _, s := range steps {
			if len(s.Output) > 0 {
				t.Errorf("%s comes with its output", s.Label())
			}
			list = append(list, s.Name)
		}
		slices.Sort(list)
		return list
	}
	want := names(all)
	for _, limit := range []int{7, 20, 94, 95, 1000} {
		var forth, back []Step
		o := StepOptions{Limit: limit}
		for {
			page, err := r.durable.StepPage(r.ctx, "long", 0, o)
			r.check(err)
			if known, err := o.Of(all); err != nil || pretty(t, names(known.Steps)) != pretty(t, names(page.Steps)) || known.Later != page.Later {
				t.Errorf("limit %d after %d: of known steps %v, else %v; %v", limit, o.After, names(known.Steps), names(page.Steps), err)
			}
			if page.Total != 95 || page.Earlier+len(page.Steps)+page.Later != 95 || page.Earlier != len(forth) {
				t.Fatalf("limit %d after %d: %d + %d + %d of %d", limit, o.After, page.Earlier, len(page.Steps), page.Later, page.Total)
			}
			forth = append(forth, page.Steps...)
			if page.Later == 0 {
				break
			}
			o.After = page.Steps[len(page.Steps)-1].Seq
		}
		o = StepOptions{Limit: limit, Last: true}
		for {
			page, err := r.durable.StepPage(r.ctx, "long", 0, o)
			r.check(err)
			back = append(back, page.Steps...)
			if page.Earlier == 0 {
				break
			}
			o.Before = page.Steps[0].Seq
		}
		if !slices.Equal(names(forth), want) || !slices.Equal(names(back), want) {
			t.Errorf("limit %d: %d steps forth and %d back, of %d", limit, len(forth), len(back), len(want))
		}
	}
	failed, err := r.durable.StepPage(r.ctx, "long", 0, StepOptions{Status: "errored", Limit: 5})
	if err != nil || failed.Total != 10 || len(failed.Steps) != 5 || failed.Steps[0].Status != "errored" {
		t.Errorf("errored: %+v, %v", failed, err)
	}
	named, err := r.durable.StepPage(r.ctx, "long", 0, StepOptions{Query: "STEP 91"})
	if err != nil || named.Total == 0 || named.Total == 95 {
		t.Errorf("by name: %d, %v", named.Total, err)
	}
	slept, err := r.durable.StepPage(r.ctx, "long", 0, StepOptions{Kind: "sleep"})
	if err != nil || slept.Total != 11 || slices.ContainsFunc(slept.Steps, func(s Step) bool { return s.Kind != "sleep" }) {
		t.Errorf("sleeps: %+v, %v", slept, err)
	}
	if other, err := r.durable.StepPage(r.ctx, "long", 1, StepOptions{}); err != nil || other.Total != 0 || len(other.Steps) != 0 {
		t.Errorf("of another incarnation: %+v, %v", other, err)
	}
	for _, o := range []StepOptions{{Status: "errored", Limit: 5}, {Query: "STEP 91"}, {Kind: "sleep"}, {Kind: "sleep", Status: "errored"}, {Kind: "waitForEvent"}} {
		known, err := o.Of(all)
		if page, pageErr := r.durable.StepPage(r.ctx, "long", 0, o); err != nil || pageErr != nil || pretty(t, names(known.Steps)) != pretty(t, names(page.Steps)) || known.Total != page.Total {
			t.Errorf("%+v: of known steps %+v, else %+v; %v, %v", o, known, page, err, pageErr)
		}
	}
	for _, o := range []StepOptions{{Limit: -1}, {Limit: MaxPage + 1}, {Status: "bad"}, {Kind: "bad"}, {After: -1}, {Before: -1}} {
		var input *InputError
		_, err := r.durable.StepPage(r.ctx, "long", 0, o)
		wants(t, pretty(t, o), err, &input, "allowed")
	}
}
