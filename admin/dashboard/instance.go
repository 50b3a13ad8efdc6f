package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
)

// stepRows is how many steps of an instance a page shows.
const stepRows = 200

// instanceView is the content of an instance's page.
type instanceView struct {
	admin.Instance

	Verbs       []string
	Explanation *admin.Explanation
	Waterfall   waterfall
	Query       query
	StepStates  []string
	StepKinds   []string
	// JobGone says that the job that ran it last has been deleted.
	JobGone bool
	// Wrong is what cannot be meant by the filters of the steps.
	Wrong string
	// Newest says that the last steps are shown. First, Earlier, Later and Latest are addresses of other pages
	// of steps, "" where there are none.
	First, Earlier, Later, Latest string
	// Shown is which steps are shown of how many, "" where that is all.
	Shown      string
	Events     []admin.Event
	MoreEvents int
	// EventTypes are those that it waits for.
	EventTypes []string
	TraceURL   string
	Replays    int
	Failed     []string
}

// eventRows is how many events are shown.
const eventRows = 50

func (d *Dashboard) instance(v *visit) error {
	i, err := d.cfg.Durable.Get(v.ctx(), v.id("id"))
	if err != nil {
		return err
	}
	q := queryOf(v, "steps", "kind", "name", "after", "before", "first")
	content := instanceView{
		Instance: i, Verbs: i.Verbs(), Query: q, StepStates: admin.StepStatuses(), StepKinds: admin.StepKinds(), TraceURL: d.traceURL(i.TraceID), Replays: max(i.Runs-1, 0),
	}
	if i.WaitingFor != nil {
		content.EventTypes = i.WaitingFor.Types
	}
	if content.JobGone, err = d.gone(v.ctx(), i); err != nil {
		return err
	}
	if err := d.steps(v, &content); err != nil {
		return err
	}
	if err := d.events(v.ctx(), &content); err != nil {
		return err
	}
	if i.Status != "running" && i.Status != "complete" || i.Stalled() {
		why, err := d.cfg.Explainer.Instance(v.ctx(), i.ID)
		if err != nil {
			return err
		}
		content.Explanation = &why
	}
	return d.show(v, "instance", d.view(v, "instances", i.ID, content).watching(api.TopicInstance, i.ID).moving(i.Status == "running", growing).moving(content.Explanation != nil, pondering))
}

// gone says whether the last job of an instance that has ended has been deleted: one that had not begun is, when its
// instance is terminated, and others are once they are old.
func (d *Dashboard) gone(ctx context.Context, i admin.Instance) (bool, error) {
	if i.Job == "" || i.Live() {
		return false, nil
	}
	_, err := d.cfg.Jobs.Get(ctx, i.Job)
	if errors.Is(err, admin.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// steps reads the page of steps that is asked for: the last ones unless the address says otherwise, which is where
// something moves.
func (d *Dashboard) steps(v *visit, c *instanceView) error {
	q := c.Query
	o := admin.StepOptions{
		Status: q.Get("steps"), Kind: q.Get("kind"), Query: q.Get("name"), After: number(q.Get("after")), Before: number(q.Get("before")), Limit: stepRows,
	}
	o.Last = o.Before > 0 || o.After == 0 && q.Get("first") == ""
	page, err := d.stepPage(v.ctx(), c.Summary, o)
	if c.Wrong, err = meant(err); err != nil {
		return err
	}
	c.Waterfall = newWaterfall(c.Summary, page.Steps, d.now())
	for _, s := range page.Steps {
		if s.Status == "errored" {
			c.Failed = append(c.Failed, s.Label())
		}
	}
	at := func(name string, n int) string {
		plain := query{q.path, url.Values{}}
		for _, filter := range []string{"steps", "kind", "name"} {
			if q.Get(filter) != "" {
				plain.values.Set(filter, q.Get(filter))
			}
		}
		return plain.With(name, strconv.Itoa(n))
	}
	if n := len(page.Steps); n > 0 && n < page.Total {
		c.Shown = fmt.Sprintf("%d to %d of %d", page.Earlier+1, page.Earlier+n, page.Total)
		if page.Earlier > 0 {
			c.First, c.Earlier = at("first", 1), at("before", page.Steps[0].Seq)
		}
		if page.Later > 0 {
			c.Later = at("after", page.Steps[n-1].Seq)
			c.Latest = strings.TrimSuffix(query{q.path, url.Values{"steps": q.values["steps"], "kind": q.values["kind"], "name": q.values["name"]}}.With("after", ""), "?")
		}
	}
	return nil
}

// stepPage is a page of steps: from what the streams know where somebody watches the instance, which is whoever looked
// at it before.
func (d *Dashboard) stepPage(ctx context.Context, of admin.Summary, o admin.StepOptions) (admin.StepPage, error) {
	if p, ok := d.cfg.API.Watched(of.ID); ok && p.Instance.Incarnation == of.Incarnation && !p.Instance.UpdatedAt.Before(of.UpdatedAt) {
		return o.Of(p.Steps)
	}
	return d.cfg.Durable.StepPage(ctx, of.ID, of.Incarnation, o)
}

// events reads the newest events that were sent to an instance.
func (d *Dashboard) events(ctx context.Context, c *instanceView) error {
	newest, total, err := d.cfg.Durable.NewestEvents(ctx, c.ID, c.Incarnation, eventRows)
	c.Events, c.MoreEvents = newest, total-len(newest)
	return err
}

// traceURL is where a trace is shown, "" where nobody said.
func (d *Dashboard) traceURL(id string) string {
	if id == "" || d.cfg.TraceURL == "" {
		return ""
	}
	return strings.ReplaceAll(d.cfg.TraceURL, "{trace}", id)
}
