package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sp00ky.cloud/spky/admin"
)

// Durable is [admin.Durable] at the other end.
type Durable struct{ c *Client }

// Durable is what can be done to workflows and their instances.
func (c *Client) Durable() *Durable { return &Durable{c} }

const instancesPath = "/durable/instances"

func instance(id string, more ...string) string {
	return instancesPath + path(append([]string{id}, more...)...)
}

// Workflows is [admin.Durable.Workflows].
func (d *Durable) Workflows(ctx context.Context) ([]admin.Workflow, error) {
	answer, err := get[struct {
		Workflows []admin.Workflow `json:"workflows"`
	}](ctx, d.c, "/durable/workflows", nil)
	return answer.Workflows, err
}

// A workflow is what the API tells of one.
type workflow struct {
	admin.Workflow

	Counts []admin.Count `json:"instances"`
}

// Workflow is [admin.Durable.Workflow].
func (d *Durable) Workflow(ctx context.Context, binding string) (admin.Workflow, error) {
	answer, err := get[workflow](ctx, d.c, "/durable/workflows"+path(binding), nil)
	return answer.Workflow, err
}

// Counts is [admin.Durable.Counts]; the workflow has to exist.
func (d *Durable) Counts(ctx context.Context, binding string) ([]admin.Count, error) {
	answer, err := get[workflow](ctx, d.c, "/durable/workflows"+path(binding), nil)
	return answer.Counts, err
}

// Now is [admin.Durable.Now].
func (d *Durable) Now(ctx context.Context) (time.Time, error) {
	answer, err := get[struct {
		Now time.Time `json:"now"`
	}](ctx, d.c, "/clock", nil)
	return answer.Now, err
}

// List is [admin.Durable.List].
func (d *Durable) List(ctx context.Context, o admin.ListOptions) (admin.Page, error) {
	query := url.Values{}
	set(query, "status", string(o.Status))
	set(query, "binding", o.Binding)
	set(query, "owner", o.Owner)
	set(query, "q", o.Query)
	set(query, "cursor", o.Cursor)
	if o.Stalled {
		query.Set("stalled", "true")
	}
	if o.Limit != 0 {
		query.Set("limit", strconv.Itoa(o.Limit))
	}
	return get[admin.Page](ctx, d.c, instancesPath, query)
}

func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// Newest is [admin.Durable.Newest].
func (d *Durable) Newest(ctx context.Context, binding string) (string, error) {
	page, err := d.List(ctx, admin.ListOptions{Binding: binding, Limit: 1})
	switch {
	case err != nil:
		return "", err
	case len(page.Instances) == 0:
		return "", fmt.Errorf("newest instance of %s: %w", binding, admin.ErrNotFound)
	}
	return page.Instances[0].ID, nil
}

// Expected is [admin.Durable.Expected].
func (d *Durable) Expected(ctx context.Context, binding string) (int, error) {
	page, err := d.List(ctx, admin.ListOptions{Binding: binding, Status: "complete", Limit: 1})
	if err != nil || len(page.Instances) == 0 {
		return 0, err
	}
	return page.Instances[0].StepsDone, nil
}

// Get is [admin.Durable.Get].
func (d *Durable) Get(ctx context.Context, id string) (admin.Instance, error) {
	return get[admin.Instance](ctx, d.c, instance(id), url.Values{"outputs": {"false"}})
}

// Steps is [admin.Durable.Steps].
func (d *Durable) Steps(ctx context.Context, id string, incarnation int, outputs bool) ([]admin.Step, error) {
	answer, err := get[struct {
		Steps []admin.Step `json:"steps"`
	}](ctx, d.c, instance(id, "steps"), url.Values{"outputs": {strconv.FormatBool(outputs)}, "incarnation": {strconv.Itoa(incarnation)}})
	return answer.Steps, err
}

// Events is [admin.Durable.Events].
func (d *Durable) Events(ctx context.Context, id string, incarnation int) ([]admin.Event, error) {
	answer, err := get[struct {
		Events []admin.Event `json:"events"`
	}](ctx, d.c, instance(id, "events"), url.Values{"incarnation": {strconv.Itoa(incarnation)}})
	return answer.Events, err
}

// Create is [admin.Durable.Create].
func (d *Durable) Create(ctx context.Context, n admin.NewInstance) (string, error) {
	answer, err := post[struct {
		ID string `json:"id"`
	}](ctx, d.c, "/durable/workflows"+path(n.Binding)+"/instances", struct {
		ID     string          `json:"id,omitempty"`
		Params json.RawMessage `json:"params,omitempty"`
		Owner  string          `json:"owner,omitempty"`
	}{n.ID, n.Params, n.Owner})
	return answer.ID, err
}

// Pause is [admin.Durable.Pause].
func (d *Durable) Pause(ctx context.Context, id string) (admin.InstanceStatus, error) {
	return d.act(ctx, nil, id, "pause")
}

// Resume is [admin.Durable.Resume].
func (d *Durable) Resume(ctx context.Context, id string) (admin.InstanceStatus, error) {
	return d.act(ctx, nil, id, "resume")
}

// Terminate is [admin.Durable.Terminate].
func (d *Durable) Terminate(ctx context.Context, id string) (admin.InstanceStatus, error) {
	return d.act(ctx, nil, id, "terminate")
}

// Restart is [admin.Durable.Restart].
func (d *Durable) Restart(ctx context.Context, id string) (admin.InstanceStatus, error) {
	return d.act(ctx, nil, id, "restart")
}

// RestartFrom is [admin.Durable.RestartFrom].
func (d *Durable) RestartFrom(ctx context.Context, id string, from admin.StepRef) (admin.InstanceStatus, error) {
	if err := from.Validate(); err != nil {
		return "", admin.NewInputError("restart from: " + strings.TrimPrefix(err.Error(), "wf: "))
	}
	body, err := json.Marshal(map[string]admin.StepRef{"from": from})
	if err != nil {
		return "", fmt.Errorf("restart instance %s: %w", id, err)
	}
	return d.act(ctx, body, id, "restart")
}

// Retry is [admin.Durable.Retry].
func (d *Durable) Retry(ctx context.Context, id string) (admin.InstanceStatus, error) {
	return d.act(ctx, nil, id, "retry")
}

// SendEvent is [admin.Durable.SendEvent].
func (d *Durable) SendEvent(ctx context.Context, id, typ string, payload json.RawMessage) (admin.InstanceStatus, error) {
	if typ == "" {
		return "", admin.NewInputError("the type of the event is missing")
	}
	if strings.TrimSpace(string(payload)) != "" && !json.Valid(payload) {
		return "", admin.NewInputError("payload: not JSON")
	}
	return d.act(ctx, payload, id, "events", typ)
}

func (d *Durable) act(ctx context.Context, body json.RawMessage, id string, verb ...string) (admin.InstanceStatus, error) {
	var content any
	if len(body) > 0 {
		content = body
	}
	answer, err := post[struct {
		Was admin.InstanceStatus `json:"was"`
	}](ctx, d.c, instance(id, verb...), content)
	var refused *admin.StateError
	if errors.As(err, &refused) {
		return admin.InstanceStatus(refused.Status), err
	}
	return answer.Was, err
}

// Watch is [admin.Durable.Watch], by a stream of the server's; where that breaks off it is taken up
// again.
func (d *Durable) Watch(ctx context.Context, id string, tell func(admin.Progress) error) (admin.Progress, error) {
	w := &watch{tell: tell}
	err := d.c.follow(ctx, instance(id, "stream"), func(name string, data []byte) error {
		if name != "instance" {
			return nil
		}
		return w.heard(data)
	})
	return w.last, err
}

// A watch puts together what a stream tells of an instance.
type watch struct {
	tell  func(admin.Progress) error
	last  admin.Progress
	known bool
}

func (w *watch) heard(data []byte) error {
	var now struct {
		Instance admin.Summary `json:"instance"`
		Steps    []admin.Step  `json:"steps"`
	}
	if err := json.Unmarshal(data, &now); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	if now.Instance.Incarnation != w.last.Instance.Incarnation {
		w.last.Steps = nil
	}
	changed := w.news(now.Steps)
	same := w.known && now.Instance.UpdatedAt.Equal(w.last.Instance.UpdatedAt) && now.Instance.Status == w.last.Instance.Status
	if same && len(changed) == 0 { // of a stream taken up again
		return nil
	}
	all := slices.Clone(w.last.Steps)
	for _, step := range changed {
		if i := slices.IndexFunc(all, step.same); i >= 0 {
			all[i] = step.Step
			continue
		}
		all = append(all, step.Step)
	}
	slices.SortStableFunc(all, func(a, b admin.Step) int { return a.Seq - b.Seq })
	w.known, w.last = true, admin.Progress{Instance: now.Instance, Steps: all, Changed: plain(changed)}
	return w.tell(w.last)
}

// A newsStep is a step that is not as it was.
type newsStep struct{ admin.Step }

func (s newsStep) same(other admin.Step) bool {
	return s.Kind == other.Kind && s.Name == other.Name && s.Occurrence == other.Occurrence
}

func (w *watch) news(steps []admin.Step) []newsStep {
	var changed []newsStep
	for _, step := range steps {
		s := newsStep{step}
		i := slices.IndexFunc(w.last.Steps, s.same)
		if i >= 0 && w.last.Steps[i].Status == step.Status && len(w.last.Steps[i].Attempts) == len(step.Attempts) {
			continue
		}
		changed = append(changed, s)
	}
	return changed
}

func plain(steps []newsStep) []admin.Step {
	var all []admin.Step
	for _, s := range steps {
		all = append(all, s.Step)
	}
	return all
}
