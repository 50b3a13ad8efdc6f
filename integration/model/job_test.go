package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

type jobEdge = Edge[JobState, JobAction, JobEffect]

// A jobWalk is one job in the database, and what its columns must be.
type jobWalk struct {
	ctx   context.Context
	db    surreal.Querier
	table *outbox.Table
	id    surreal.RecordID
	nodes map[Party]string
	// epochs that the nodes got with their last claims; -1 for none.
	epochs map[Party]int64

	epoch  int64
	errors []string
	result bool
}

func (r *rig) jobWalk(ctx context.Context, db *surreal.Client, n int) (*jobWalk, error) {
	w := &jobWalk{
		ctx: ctx, db: db.Retrying(), table: r.table(db), nodes: map[Party]string{A: fmt.Sprintf("a%d", n), B: fmt.Sprintf("b%d", n)},
		epochs: map[Party]int64{A: -1, B: -1},
	}
	for _, node := range w.nodes {
		if err := w.beat(node, "1h"); err != nil { // alive for as long as the test may take
			return nil, err
		}
	}
	w.id = surreal.NewRecordID("job", n)
	err := w.create()
	return w, err
}

// create writes the job.
func (w *jobWalk) create() error {
	return surreal.Exec(w.ctx, w.db, "CREATE $id SET path = '/x', payload = NULL, max_retries = $max RETURN NONE", map[string]any{"id": w.id, "max": MaxRetries})
}

// beat makes a node's last heartbeat that much later than now.
func (w *jobWalk) beat(node, later string) error {
	return surreal.Exec(w.ctx, w.db, `LET $at = time::now() + <duration>$later;
		UPSERT type::record('_00_node', $node) SET node = $node, host = 'h', pid = 1, version = 'v', started_at = $at, heartbeat_at = $at RETURN NONE`,
		map[string]any{"node": node, "later": later})
}

// set changes columns as time or a client would.
func (w *jobWalk) set(sets string) error {
	return surreal.Exec(w.ctx, w.db, "UPDATE $id SET "+sets+" RETURN NONE", map[string]any{"id": w.id})
}

// do takes one action and answers with what was told.
func (w *jobWalk) do(a JobAction) (string, error) {
	switch a.Verb {
	case Claim:
		return w.claim(a.By)
	case Cancel:
		return w.operate("RETURN fn::spky::job::cancel($id, 'cancelled')")
	case Retry:
		return w.operate("RETURN fn::spky::job::retry($id)")
	case Reap:
		return w.reap()
	case ByHand:
		return "", w.set("status = 'pending'")
	case Expire:
		return "", w.set("lease_until = time::now() - 1s")
	case Await:
		return "", w.set("run_at = time::now()")
	case Die:
		return "", surreal.Exec(w.ctx, w.db, "UPDATE type::record('_00_node', $node) SET heartbeat_at = time::now() - 11s RETURN NONE", map[string]any{"node": w.nodes[a.By]})
	case Revive:
		return "", w.beat(w.nodes[a.By], "1h")
	default:
		return w.settle(a)
	}
}

func (w *jobWalk) claim(by Party) (string, error) {
	jobs, refused, err := w.table.Claim(w.ctx, w.nodes[by], []surreal.RecordID{w.id})
	if err != nil || len(refused) > 0 {
		return fmt.Sprintf("refused: %v", refused), err
	}
	if len(jobs) == 0 {
		return "nothing", nil
	}
	w.epochs[by] = jobs[0].Epoch
	if jobs[0].Epoch != w.epoch+1 {
		return fmt.Sprintf("epoch %d after %d", jobs[0].Epoch, w.epoch), nil
	}
	return fmt.Sprintf("attempt %d", jobs[0].Attempt()), nil
}

func (w *jobWalk) settle(a JobAction) (string, error) {
	o := outbox.Outcome{ID: w.id, Epoch: w.epochs[a.By], Status: outcomes()[a.Verb]}
	switch a.Verb {
	case Succeed:
		o.Result = "done"
	case RepeatIn:
		o.Wait = time.Hour
		fallthrough
	case Fail, Repeat:
		o.Counts, o.Failure = true, &outbox.Failure{Code: 500, Reason: "no", Attempt: 1}
	}
	got, err := w.table.Settle(w.ctx, []outbox.Outcome{o})
	if err != nil {
		return "", err
	}
	if got[0].Err != nil {
		return "", got[0].Err
	}
	return settled(got[0].Written, got[0].Status), nil
}

func (w *jobWalk) operate(call string) (string, error) {
	was, err := surreal.First[struct {
		Status  outbox.Status `json:"status"`
		Changed bool          `json:"changed"`
	}](w.ctx, w.db, call, map[string]any{"id": w.id})
	return operated(was.Changed, was.Status), err
}

func (w *jobWalk) reap() (string, error) {
	reaped, refused, err := w.table.Reap(w.ctx, []surreal.RecordID{w.id})
	if err != nil || len(refused) > 0 {
		return fmt.Sprintf("refused: %v", refused), err
	}
	if len(reaped) == 0 {
		return "nothing", nil
	}
	return "taken: " + string(reaped[0].Status), nil
}

// expect takes the model's step beside the state.
func (w *jobWalk) expect(e JobEffect) {
	w.epoch += int64(e.Epochs)
	if e.Forget {
		w.errors = nil
	}
	w.errors = append(w.errors, e.Errors...)
	w.errors = w.errors[max(0, len(w.errors)-20):]
	if e.Result != nil {
		w.result = *e.Result
	}
}

// A jobRow is a job as stored.
type jobRow struct {
	Status   outbox.Status `json:"status"`
	Retries  int           `json:"retries"`
	Epoch    int64         `json:"lease_epoch"`
	Assignee string        `json:"assignee"`
	Expired  *bool         `json:"expired"`
	Due      *bool         `json:"due"`
	Cancel   bool          `json:"cancel"`
	Result   any           `json:"result"`
	Errors   []any         `json:"codes"`
}

const readJob = `SELECT status, retries, lease_epoch, assignee, result, errors.code AS codes, cancel_requested != NONE AS cancel,
	IF lease_until = NONE { NONE } ELSE { lease_until <= time::now() } AS expired,
	IF run_at = NONE { NONE } ELSE { run_at <= time::now() } AS due
	FROM ONLY $id`

// differences compares the row with the model.
func (w *jobWalk) differences(s JobState) ([]string, error) {
	row, err := surreal.First[jobRow](w.ctx, w.db, readJob, map[string]any{"id": w.id})
	if err != nil {
		return nil, err
	}
	holder, expired, due := "", (*bool)(nil), (*bool)(nil)
	if s.Status == outbox.Processing {
		holder, expired = w.nodes[s.Fresh], new(s.Expired)
	}
	if s.Status == outbox.Pending {
		due = new(s.Due)
	}
	var d differences
	d.compare("status", row.Status, s.Status)
	d.compare("retries", row.Retries, s.Retries)
	d.compare("lease_epoch", row.Epoch, w.epoch)
	d.compare("assignee", row.Assignee, holder)
	d.compare("lease run out", text(row.Expired), text(expired))
	d.compare("due", text(row.Due), text(due))
	d.compare("cancel_requested", row.Cancel, s.Cancel)
	d.compare("has a result", row.Result != nil, w.result)
	d.compare("errors", fmt.Sprint(row.Errors), fmt.Sprint(w.errors))
	return d, nil
}

// differences are sentences of what is not as it should be.
type differences []string

func (d *differences) compare(what string, got, want any) {
	if got != want {
		*d = append(*d, fmt.Sprintf("%s is %v, want %v", what, got, want))
	}
}

func text(b *bool) string {
	if b == nil {
		return "-"
	}
	return fmt.Sprint(*b)
}

// playJob takes one walk on a job of its own.
func (r *rig) playJob(g *Graph[JobState, JobAction, JobEffect]) func(context.Context, *surreal.Client, int, []jobEdge) error {
	return func(ctx context.Context, db *surreal.Client, n int, walk []jobEdge) error {
		w, err := r.jobWalk(ctx, db, n)
		if err != nil {
			return err
		}
		looks := Looks(walk)
		for n, edge := range walk {
			if err := w.take(edge, looks[n]); err != nil {
				return fmt.Errorf("after %v, %s: %w", g.Way(edge.From), edge.Action, err)
			}
		}
		return nil
	}
}

// errDisagree is an answer or a row that is not as the model says.
var errDisagree = errors.New("the model disagrees")

func (w *jobWalk) take(edge jobEdge, look bool) error {
	answer, err := w.do(edge.Action)
	if err != nil {
		return err
	}
	w.expect(edge.Effect)
	var found []string
	if look {
		if found, err = w.differences(edge.To); err != nil {
			return err
		}
	}
	return disagreement(found, answer, edge.Answer)
}

// disagreement is an error where something was found or the answer is another.
func disagreement(found []string, answer, want string) error {
	if answer != want {
		found = append(found, fmt.Sprintf("the answer is %q, want %q", answer, want))
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", errDisagree, strings.Join(found, "; "))
}

// TestJobsAreWhatTheirModelSays takes every transition of the model in the database.
func TestJobsAreWhatTheirModelSays(t *testing.T) {
	t.Parallel()
	g := Explore(Jobs())
	walks := g.Walks(walkLimit)
	report(t, g, walks)
	r := newRig(t, nil)
	if err := take(t, r, walks, r.playJob(g)); err != nil {
		t.Error(err)
	}
}

// report says how much of a model the walks take, which must be all.
func report[S, A comparable, E any](t *testing.T, g *Graph[S, A, E], walks [][]Edge[S, A, E]) {
	t.Helper()
	type pair struct {
		from   S
		action A
	}
	taken, steps := map[pair]bool{}, 0
	for _, walk := range walks {
		at := g.States[0]
		for _, e := range walk {
			if e.From != at {
				t.Fatalf("a walk jumps from %+v to %+v", at, e.From)
			}
			taken[pair{e.From, e.Action}] = true
			at = e.To
			steps++
		}
	}
	all, refused := g.Transitions()
	t.Logf("%d states, %d transitions, %d of them refused; %d taken in %d walks of %d steps together",
		len(g.States), all, refused, len(taken), len(walks), steps)
	if len(taken) != all || all == 0 {
		t.Errorf("%d of %d transitions are taken", len(taken), all)
	}
}
