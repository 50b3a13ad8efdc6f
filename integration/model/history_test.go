package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/surreal"
)

const (
	// clients that call at once, and on how many rows each; few, so that they meet.
	clients = 6
	rows    = 4
	// calls that each client makes of each row, on average.
	calls = 40
	// shortLease is a little longer than a few calls take, so that leases run out in the midst of them.
	shortLease = 60 * time.Millisecond
	// checkLimit is how long the search for an order may take.
	checkLimit = 4 * time.Minute
)

// A recorder keeps a history.
type recorder struct {
	start time.Time
	mu    sync.Mutex
	ops   []porcupine.Operation
}

func (r *recorder) now() time.Duration { return time.Since(r.start) }

func (r *recorder) add(client int, input, output any, when Moments) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, porcupine.Operation{
		ClientId: client, Input: input, Output: output, Call: int64(when.Call), Return: int64(when.Return),
	})
}

// record lets all clients call at once, each over a connection of its own.
func record(t *testing.T, r *rig, client func(ctx context.Context, rec *recorder, n int, random *rand.Rand) error) []porcupine.Operation {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rec := &recorder{start: time.Now()}
	group, ctx := errgroup.WithContext(r.ctx)
	for n := range clients {
		group.Go(func() error { return client(ctx, rec, n, rand.New(rand.NewPCG(seed, uint64(n)))) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return rec.ops
}

// A jobClient is a node over a connection of its own, with the epochs it has claimed jobs under.
type jobClient struct {
	walks  []*jobWalk
	epochs [rows][]int64
	random *rand.Rand
	at     int // the job of its last call
}

// stay is the row for the next call: mostly that of the last one, for there is more to do with it.
func stay(at int, random *rand.Rand) int {
	if random.IntN(4) > 0 {
		return at
	}
	return random.IntN(rows)
}

func (r *rig) jobClient(ctx context.Context, db *surreal.Client, n int, random *rand.Rand) *jobClient {
	c := &jobClient{random: random}
	for job := range rows {
		c.walks = append(c.walks, &jobWalk{
			ctx: ctx, db: db.Retrying(), table: r.tableWith(db, shortLease), id: surreal.NewRecordID("job", job),
			nodes: map[Party]string{A: fmt.Sprintf("node%d", n)}, epochs: map[Party]int64{A: -1},
		})
	}
	return c
}

// jobCalls are what a client may do, those often that there are several of.
func jobCalls() []JobVerb {
	return []JobVerb{
		Claim, Claim, Claim, Claim, Succeed, Repeat, Repeat, Release, Fail, CancelOff, Reap, Reap, Cancel, Retry, Retry, Read,
	}
}

// call does anything to any job, and records it.
func (c *jobClient) call(rec *recorder, client int) error {
	c.at = stay(c.at, c.random)
	n, w := c.at, c.walks[c.at]
	in := JobCall{Job: n, Verb: jobCalls()[c.random.IntN(len(jobCalls()))], Epoch: -1}
	if known := c.epochs[n]; len(known) > 0 {
		in.Epoch = known[max(0, len(known)-1-c.random.IntN(3))] // now and then one of claims ago
	}
	w.epochs[A] = in.Epoch
	in.Call = rec.now()
	text, epoch, err := c.answer(w, in.Verb)
	out := JobAnswer{Text: text, Epoch: epoch, Return: rec.now()}
	if err != nil {
		return fmt.Errorf("%s of %v: %w", in.Verb, w.id, err)
	}
	if in.Verb == Claim && epoch > 0 {
		c.epochs[n] = append(c.epochs[n], epoch)
	}
	rec.add(client, in, out, Moments{in.Call, out.Return})
	return nil
}

func (c *jobClient) answer(w *jobWalk, verb JobVerb) (string, int64, error) {
	switch verb {
	case Read:
		row, err := surreal.First[jobRow](w.ctx, w.db, readJob, map[string]any{"id": w.id})
		return string(row.Status), row.Epoch, err
	case Claim:
		jobs, _, err := w.table.Claim(w.ctx, w.nodes[A], []surreal.RecordID{w.id})
		if err != nil || len(jobs) == 0 {
			return "nothing", 0, err
		}
		return fmt.Sprintf("attempt %d", jobs[0].Attempt()), jobs[0].Epoch, nil
	}
	text, err := w.do(JobAction{Verb: verb, By: A})
	return text, 0, err
}

// jobHistory is what happened while all clients did anything to a few jobs.
func jobHistory(t *testing.T, edit *mutant) []porcupine.Operation {
	t.Helper()
	r := newRig(t, edit)
	walks := r.jobClient(r.ctx, r.db, 0, nil).walks
	for _, w := range walks {
		if err := w.create(); err != nil {
			t.Fatal(err)
		}
	}
	var all []*jobClient
	for n := range clients {
		c := r.jobClient(r.ctx, r.connect(t), n, nil)
		if err := c.walks[0].beat(c.walks[0].nodes[A], "1h"); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return record(t, r, func(_ context.Context, rec *recorder, n int, random *rand.Rand) error {
		all[n].random = random
		for range calls * rows {
			if err := all[n].call(rec, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestHistoriesOfJobsAreLinearizable: whatever nodes, operators and time do to a few jobs at one moment,
// what each is told is explained by an order of the calls; claims and their epochs are in it.
func TestHistoriesOfJobsAreLinearizable(t *testing.T) {
	t.Parallel()
	if found := judge(t, JobHistory(shortLease), jobHistory(t, nil)); found != porcupine.Ok {
		t.Errorf("the history is %s", found)
	}
}

// TestBrokenJobsAreNotLinearizable: no order explains what is told where a guard is missing.
func TestBrokenJobsAreNotLinearizable(t *testing.T) {
	t.Parallel()
	for _, m := range jobMutants() {
		if m.quiet != "" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			expectBroken(t, JobHistory(shortLease), func() []porcupine.Operation { return jobHistory(t, m) })
		})
	}
}

// judge looks for an order of the calls.
func judge(t *testing.T, m porcupine.Model, history []porcupine.Operation) porcupine.CheckResult {
	t.Helper()
	answers := map[string]bool{}
	for _, op := range history {
		switch out := op.Output.(type) {
		case JobAnswer:
			answers[fmt.Sprintf("%s → %s", op.Input.(JobCall).Verb, out.Text)] = true
		case InstanceAnswer:
			answers[fmt.Sprintf("%s → %s", op.Input.(InstanceCall).Verb, out.Text)] = true
		}
	}
	found := porcupine.CheckOperationsTimeout(m, history, checkLimit)
	t.Logf("%d calls, %d kinds of answers: %s", len(history), len(answers), found)
	return found
}

// expectBroken makes histories until one is found to have no order, which one of the first must be: most are.
func expectBroken(t *testing.T, m porcupine.Model, history func() []porcupine.Operation) {
	t.Helper()
	for range 10 {
		if judge(t, m, history()) == porcupine.Illegal {
			return
		}
	}
	t.Error("what is broken is not found")
}
