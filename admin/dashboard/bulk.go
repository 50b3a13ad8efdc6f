package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/admin"
)

const (
	// maxBulk is how many jobs or instances one form acts on, and bulkTogether how many of them at a time.
	maxBulk      = 1000
	bulkTogether = 8
)

// What can be done to several at once.
var (
	bulkJobVerbs      = []string{"retry", "cancel"}
	bulkInstanceVerbs = []string{"retry", "pause", "resume", "terminate"}
)

// bulkView is what is asked before something is done to many.
type bulkView struct {
	Kind, Verb string
	IDs        []string
	// More says that more fit the filters than are acted on at once.
	More bool
	// Wrong says that the number that was typed is not that of the IDs.
	Wrong bool
	// Back is the list that it was asked for on.
	Back string
}

// First are the first of the ids, to look at.
func (b bulkView) First() []string { return b.IDs[:min(len(b.IDs), 10)] }

// A collection finds the ids that filters mean, a page at a time.
type collection func(ctx context.Context, q query, cursor string) (ids []string, next string, err error)

func (d *Dashboard) bulkJobs(v *visit) error {
	j := d.cfg.Jobs
	do := map[string]func(context.Context, string) (admin.JobStatus, error){"retry": j.Retry, "cancel": j.Cancel}[v.id("verb")]
	if do == nil {
		return d.nowhere(v)
	}
	return d.bulk(v, "job", "/jobs", d.jobsOf, func(ctx context.Context, id string) error { _, err := do(ctx, id); return err })
}

func (d *Dashboard) bulkInstances(v *visit) error {
	w := d.cfg.Durable
	do := map[string]func(context.Context, string) (admin.InstanceStatus, error){
		"retry": w.Retry, "pause": w.Pause, "resume": w.Resume, "terminate": w.Terminate,
	}[v.id("verb")]
	if do == nil {
		return d.nowhere(v)
	}
	return d.bulk(v, "instance", "/instances", d.instancesOf, func(ctx context.Context, id string) error { _, err := do(ctx, id); return err })
}

func (d *Dashboard) jobsOf(ctx context.Context, q query, cursor string) ([]string, string, error) {
	o := jobOptions(q)
	o.Cursor, o.Limit = cursor, admin.MaxPage
	page, err := d.cfg.Jobs.List(ctx, o)
	var ids []string
	for _, job := range page.Jobs {
		ids = append(ids, job.ID)
	}
	return ids, page.Next, err
}

func (d *Dashboard) instancesOf(ctx context.Context, q query, cursor string) ([]string, string, error) {
	o := instanceOptions(q)
	o.Cursor, o.Limit = cursor, admin.MaxPage
	page, err := d.cfg.Durable.List(ctx, o)
	var ids []string
	for _, i := range page.Instances {
		ids = append(ids, i.ID)
	}
	return ids, page.Next, err
}

// bulk asks how many are meant, and does it to just those that it asked about once the number is right.
func (d *Dashboard) bulk(v *visit, kind, list string, find collection, do func(context.Context, string) error) error {
	back := local(v.text("back"))
	if !strings.HasPrefix(back, prefix+list) {
		back = prefix + list
	}
	ask := bulkView{Kind: kind, Verb: v.id("verb"), IDs: v.r.PostForm["id"], Back: back}
	if v.text("all") != "" {
		var err error
		if ask.IDs, ask.More, err = collect(v.ctx(), back, find); err != nil {
			return err
		}
	}
	switch {
	case len(ask.IDs) == 0:
		return d.back(v, back, "", refusal{http.StatusUnprocessableEntity, "Nothing is selected.", "Tick rows, or choose all that match."})
	case len(ask.IDs) > maxBulk:
		return refusal{http.StatusUnprocessableEntity, fmt.Sprintf("%d are too many at once.", len(ask.IDs)), fmt.Sprintf("At most %d are.", maxBulk)}
	}
	if typed := v.text("count"); typed != strconv.Itoa(len(ask.IDs)) {
		ask.Wrong = typed != ""
		return d.show(v, "bulk", d.view(v, strings.TrimPrefix(list, "/"), "Confirm", ask))
	}
	return d.back(v, back, each(v.ctx(), ask, do), nil)
}

// collect finds what the filters of a list mean.
func collect(ctx context.Context, back string, find collection) (ids []string, more bool, err error) {
	u, err := url.Parse(back)
	if err != nil {
		return nil, false, admin.NewInputError("the list's address cannot be read")
	}
	q := query{u.Path, u.Query()}
	q.values.Del("cursor")
	for cursor := ""; ; {
		part, next, err := find(ctx, q, cursor)
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, part...)
		if len(ids) > maxBulk || len(ids) == maxBulk && next != "" {
			return ids[:maxBulk], true, nil
		}
		if next == "" {
			return ids, false, nil
		}
		cursor = next
	}
}

// each does it to each, and says what came of it.
func each(ctx context.Context, ask bulkView, do func(context.Context, string) error) string {
	var group errgroup.Group
	group.SetLimit(bulkTogether)
	var mu sync.Mutex
	done, refused, failed := 0, map[string]int{}, 0
	for _, id := range ask.IDs {
		group.Go(func() error {
			err := do(ctx, id)
			var state *admin.StateError
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				done++
			case errors.As(err, &state):
				refused[state.Status]++
			case errors.Is(err, admin.ErrNotFound):
				refused["gone"]++
			default:
				failed++
			}
			return nil
		})
	}
	_ = group.Wait() // none answers with an error
	said := fmt.Sprintf("%s: %d of %d done.", ask.Verb, done, len(ask.IDs))
	states := make([]string, 0, len(refused))
	for state, n := range refused {
		states = append(states, fmt.Sprintf("%d refused: %s", n, state))
	}
	slices.Sort(states)
	if failed > 0 {
		states = append(states, fmt.Sprintf("%d failed; the audit says why", failed))
	}
	if len(states) > 0 {
		said += " " + sentence(strings.Join(states, ", "))
	}
	return said
}
