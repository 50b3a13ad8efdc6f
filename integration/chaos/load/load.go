// Package load creates the work of a chaos run when the plan says so, and goes on trying until each piece exists,
// whatever happens to the installation meanwhile.
package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/integration/chaos/backend"
	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/integration/chaos/world"
	"sp00ky.cloud/spky/surreal"
)

// A Loader creates a plan's work.
type Loader struct {
	Plan    *plan.Plan
	World   *world.World
	Journal *journal.Writer
	// Began is when the plan's time began.
	Began time.Time
}

const (
	// window is how long jobs are gathered that go into one insert.
	window = 200 * time.Millisecond
	// atOnce is how many calls of the driver are under way.
	atOnce = 48
)

// Run creates everything and lets operators act, and returns when all of it exists and they are through.
func (l *Loader) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.jobs(ctx) })
	group.Go(func() error { return l.cancellations(ctx) })
	group.Go(func() error { return l.instances(ctx) })
	group.Go(func() error { return l.operators(ctx) })
	return group.Wait()
}

// wait waits for a time of the plan; false where ctx ended first.
func (l *Loader) wait(ctx context.Context, at time.Duration) bool {
	return rest(ctx, time.Until(l.Began.Add(at)))
}

func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jobs inserts jobs, those of a window at once.
func (l *Loader) jobs(ctx context.Context) error {
	writing, ctx := errgroup.WithContext(ctx)
	writing.SetLimit(atOnce)
	for from := 0; from < len(l.Plan.Jobs); {
		end := from
		for until := l.Plan.Jobs[from].At + window; end < len(l.Plan.Jobs) && l.Plan.Jobs[end].At < until; end++ {
		}
		batch := l.Plan.Jobs[from:end]
		from = end
		if !l.wait(ctx, batch[len(batch)-1].At) {
			break
		}
		for _, part := range apart(batch) {
			writing.Go(func() error { return l.insert(ctx, part) })
		}
	}
	return writing.Wait()
}

// apart divides jobs into those that go into one insert: of one table, and written in one way.
func apart(jobs []plan.Job) [][]plan.Job {
	type way struct {
		table  string
		silent bool
	}
	var order []way
	parts := map[way][]plan.Job{}
	for _, j := range jobs {
		w := way{j.Table(), j.Silent}
		if parts[w] == nil {
			order = append(order, w)
		}
		parts[w] = append(parts[w], j)
	}
	list := make([][]plan.Job, len(order))
	for i, w := range order {
		list[i] = parts[w]
	}
	return list
}

// recordID is a planned job's.
func recordID(j plan.Job) surreal.RecordID { return surreal.NewRecordID(j.Table(), j.ID) }

func (l *Loader) insert(ctx context.Context, jobs []plan.Job) error {
	surql := "INSERT IGNORE INTO " + jobs[0].Table() + " $rows RETURN NONE" // one of two names
	if jobs[0].Silent {
		surql = "LET $rows = $rows; " + surql // with a statement before it, a write notifies nobody
	}
	rows := make([]map[string]any, len(jobs))
	for i, j := range jobs {
		rows[i] = map[string]any{
			"id": recordID(j), "path": "/task", "max_retries": j.MaxRetries,
			"payload": backend.Task{Kind: j.Kind, N: j.N, Fails: j.Fails, WorkMS: j.WorkMS, Tenant: j.Tenant},
		}
		if j.DelayMS > 0 {
			rows[i]["delay"] = j.DelayMS
		}
	}
	err := l.insist(ctx, func() error {
		return surreal.Exec(ctx, l.World.DB.Retrying(), surql, map[string]any{"rows": rows})
	})
	if err != nil {
		return fmt.Errorf("create jobs: %w", err)
	}
	for _, j := range jobs {
		l.Journal.Write(journal.Entry{What: journal.Created, Job: j.Key(), Text: j.Kind})
	}
	return nil
}

// insist repeats what may be repeated until the database was there for it.
func (l *Loader) insist(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil || !surreal.IsUnreachable(err) && !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
		rest(ctx, 100*time.Millisecond)
	}
}

// cancellations asks for the cancellation of jobs.
func (l *Loader) cancellations(ctx context.Context) error {
	asking, ctx := errgroup.WithContext(ctx)
	for _, j := range l.Plan.Jobs {
		if j.Cancel == 0 {
			continue
		}
		asking.Go(func() error {
			if !l.wait(ctx, j.Cancel) {
				return nil
			}
			return l.cancel(ctx, j)
		})
	}
	return asking.Wait()
}

// cancel asks once the job exists. What was answered is known for sure only where the first call was.
func (l *Loader) cancel(ctx context.Context, j plan.Job) error {
	tries := 0
	type answer struct {
		Status  string `json:"status"`
		Changed bool   `json:"changed"`
	}
	var got answer
	err := l.insist(ctx, func() (err error) {
		tries++
		got, err = surreal.First[answer](ctx, l.World.DB.Retrying(), "RETURN fn::spky::job::cancel($id, 'cancelled')", map[string]any{"id": recordID(j)})
		if err == nil && got.Status == "" {
			return surreal.ErrNotConnected // it is yet to be created
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cancel job %s: %w", j.ID, err)
	}
	l.Journal.Write(journal.Entry{
		What: journal.Verb, Job: j.Key(), Attempt: tries, Text: fmt.Sprintf("cancel: found %s, changed %v", got.Status, got.Changed),
	})
	return nil
}

// instances creates instances, sends their events, and does to them what the plan wants.
func (l *Loader) instances(ctx context.Context) error {
	acting, ctx := errgroup.WithContext(ctx)
	for _, i := range l.Plan.Instances {
		if !l.wait(ctx, i.At) {
			break
		}
		acting.Go(func() error { return l.instance(ctx, i) })
	}
	return acting.Wait()
}

func (l *Loader) instance(ctx context.Context, i plan.Instance) error {
	if _, err := l.Act(ctx, i.Backend, backend.Act{Verb: "create", ID: i.ID, Ops: i.Ops}); err != nil {
		return err
	}
	l.Journal.Write(journal.Entry{What: journal.Created, Instance: i.ID, Text: i.Backend})
	both, ctx := errgroup.WithContext(ctx)
	for _, e := range i.Events {
		both.Go(func() error {
			if !l.wait(ctx, e.At) {
				return nil
			}
			_, err := l.Act(ctx, i.Backend, backend.Act{Verb: "event", ID: i.ID, Type: e.Type, Payload: e.Payload})
			return err
		})
	}
	both.Go(func() error { return l.disturb(ctx, i) })
	return both.Wait()
}

// disturb does to an instance what the plan wants.
func (l *Loader) disturb(ctx context.Context, i plan.Instance) error {
	if i.Verb == "" || !l.wait(ctx, i.VerbAt) {
		return nil
	}
	if _, err := l.Act(ctx, i.Backend, backend.Act{Verb: i.Verb, ID: i.ID}); err != nil {
		return err
	}
	if i.Verb != plan.VerbPause || !rest(ctx, i.Rest) {
		return nil
	}
	_, err := l.Act(ctx, i.Backend, backend.Act{Verb: "resume", ID: i.ID})
	return err
}

// Tend does again what may be undone by a call that was executed late: an instance that was paused, by whomever, is resumed, one
// that waits gets its events once more, for it may have been restarted.
func (l *Loader) Tend(ctx context.Context, i plan.Instance, status string) error {
	switch status {
	case "paused":
		_, err := l.Act(ctx, i.Backend, backend.Act{Verb: "resume", ID: i.ID})
		return err
	case "waiting":
		for _, e := range i.Events {
			if _, err := l.Act(ctx, i.Backend, backend.Act{Verb: "event", ID: i.ID, Type: e.Type, Payload: e.Payload}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Act lets one of a backend's processes act on an instance, by way of its SDK, until one of them did. A verb may be
// done twice by that. The answer and the number of tries are journaled. What is missing has been pruned: nobody acts on what is yet
// to be created.
func (l *Loader) Act(ctx context.Context, kind string, a backend.Act) (string, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	for tries := 1; ; tries++ {
		process := kind + "-" + "ab"[tries%2:tries%2+1]
		outcome, err := l.ask(ctx, l.World.Control(process)+"/__chaos/act", text)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil:
			rest(ctx, 200*time.Millisecond)
			continue
		}
		l.Journal.Write(journal.Entry{What: journal.Verb, Instance: a.ID, Attempt: tries, Text: fmt.Sprintf("%s %s: %s", a.Verb, a.Type, outcome)})
		return outcome, nil
	}
}

// ask makes one call; a process that is frozen does not answer it.
func (l *Loader) ask(ctx context.Context, url string, body []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 12*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	var answer backend.Outcome
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", errors.New(resp.Status)
	}
	return answer.Outcome, nil
}
