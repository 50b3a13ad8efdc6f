package dashboard

import (
	"cmp"
	"net/url"
	"strconv"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
)

// stepView is the content of one step, within the page of its instance or alone.
type stepView struct {
	admin.Step

	Instance admin.Instance
	Attempts []attemptView
	Address  string // of the step's value
	Alone    bool
	// Now is the step's state, CutOff what became of it where the end of its instance cut it off, "" otherwise.
	Now, CutOff string
}

// An attemptView is an attempt and the pause before it.
type attemptView struct {
	admin.Attempt

	Number int
	Gap    string
	Now    string
	// Ended is when it ended, or its instance did; nil while it runs.
	Ended *time.Time
}

// step is the page of a step, or what of it the page of its instance shows when it is opened.
func (d *Dashboard) step(v *visit) error {
	i, s, err := d.oneStep(v)
	if err != nil {
		return err
	}
	opened := v.htmx() && !v.looks()
	content := newStepView(i, s)
	content.Alone = !opened
	w := d.view(v, "instances", s.Label(), content)
	if opened {
		return d.part(v, "step", w)
	}
	return d.show(v, "step", w.watching(api.TopicInstance, i.ID).moving(content.Now == "running", growing))
}

func newStepView(of admin.Instance, s admin.Step) stepView {
	content := stepView{Step: s, Instance: of, Address: valueAddress(of.ID, s), Now: s.State(of.Status)}
	if content.Now == admin.CutOff {
		content.CutOff = "it was " + s.Status + " when the instance " + admin.Ending(of.Status)
	}
	var last *time.Time
	for n, a := range s.Attempts {
		one := attemptView{Attempt: a, Number: s.AttemptsBefore + n + 1, Now: a.State(of.Status), Ended: a.EndedAt}
		if one.Now == admin.CutOff {
			one.Ended = of.FinishedAt
		}
		if last != nil {
			one.Gap = span(a.StartedAt.Sub(*last))
		}
		last = a.EndedAt
		content.Attempts = append(content.Attempts, one)
	}
	return content
}

// oneStep is the step that an address names.
func (d *Dashboard) oneStep(v *visit) (admin.Instance, admin.Step, error) {
	i, err := d.cfg.Durable.Get(v.ctx(), v.id("id"))
	if err != nil {
		return i, admin.Step{}, err
	}
	q := v.r.URL.Query()
	like := admin.Step{Kind: q.Get("kind"), Name: q.Get("name"), Occurrence: cmp.Or(number(q.Get("n")), 1)}
	s, err := d.cfg.Durable.Step(v.ctx(), i.ID, i.Incarnation, like)
	return i, s, err
}

// stepAddress is where a step is shown.
func stepAddress(instance string, s admin.Step) string {
	return prefix + "/instances/" + url.PathEscape(instance) + "/step?" + stepQuery(s).Encode()
}

func valueAddress(instance string, s admin.Step) string {
	q := stepQuery(s)
	q.Set("of", "step")
	return prefix + "/instances/" + url.PathEscape(instance) + "/value?" + q.Encode()
}

func stepQuery(s admin.Step) url.Values {
	return url.Values{"kind": {s.Kind}, "name": {s.Name}, "n": {strconv.Itoa(s.Occurrence)}}
}
