package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"

	"sp00ky.cloud/spky/surreal"
)

// instanceCalls are what a client may do, those often that there are several of.
func instanceCalls() []InstanceVerb {
	return []InstanceVerb{
		Acquire, Acquire, Acquire, Acquire, AcquireAgain, Begin, Commit, Commit, CommitError, Renew, Renew, HandOver, HandOver,
		Finish, FinishError, Pause, Resume, Resume, Terminate, Restart, Restart, Rewind, RetryIt, RetryIt, ReadIt,
	}
}

// instanceClient is a backend over a connection of its own, with a run of each instance.
func (r *rig) instanceClient(ctx context.Context, db *surreal.Client, n int) []*instanceWalk {
	var walks []*instanceWalk
	for i := range rows {
		walks = append(walks, &instanceWalk{
			ctx: ctx, db: db.Retrying(), id: fmt.Sprintf("i%d", i), ttl: shortLease, tokens: 1000 * n,
			runs: map[Party]*instanceRun{A: {token: fmt.Sprintf("never %d", n), fence: -1}},
		})
	}
	return walks
}

// callInstance does anything to an instance, and records it.
func callInstance(rec *recorder, client, n int, w *instanceWalk, random *rand.Rand) error {
	run := w.runs[A]
	in := InstanceCall{Instance: n, Verb: instanceCalls()[random.IntN(len(instanceCalls()))], Fence: run.fence, Token: run.token}
	if in.Verb == Acquire {
		in.Token = fmt.Sprintf("%s, run %d", A, w.tokens+1)
	}
	in.Call = rec.now()
	var text string
	var err error
	if in.Verb == ReadIt {
		var row instanceRow
		row, err = call[instanceRow](w, readInstance, run, nil)
		text = Seen(row.Status, row.Fence, row.StepsDone, row.Pausing)
	} else {
		text, err = w.do(InstanceAction{Verb: in.Verb, By: A})
	}
	out := InstanceAnswer{Text: text, Fence: w.runs[A].fence, Return: rec.now()}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", in.Verb, w.id, err)
	}
	rec.add(client, in, out, Moments{in.Call, out.Return})
	return nil
}

// instanceHistory is what happened while all clients did anything to a few instances.
func instanceHistory(t *testing.T, edit *mutant) []porcupine.Operation {
	t.Helper()
	r := newRig(t, edit)
	for _, w := range r.instanceClient(r.ctx, r.db, 0) {
		if err := w.create(); err != nil {
			t.Fatal(err)
		}
	}
	var all [][]*instanceWalk
	for n := range clients {
		all = append(all, r.instanceClient(r.ctx, r.connect(t), n))
	}
	return record(t, r, func(_ context.Context, rec *recorder, n int, random *rand.Rand) error {
		at := 0
		for range calls * rows {
			at = stay(at, random)
			if err := callInstance(rec, n, at, all[n][at], random); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestHistoriesOfInstancesAreLinearizable: whatever runs, people and time do to a few instances at one
// moment, what each is told is explained by an order of the calls; fences are in it.
func TestHistoriesOfInstancesAreLinearizable(t *testing.T) {
	t.Parallel()
	if found := judge(t, InstanceHistory(shortLease), instanceHistory(t, nil)); found != porcupine.Ok {
		t.Errorf("the history is %s", found)
	}
}

// TestBrokenInstancesAreNotLinearizable: no order explains what is told where a guard is missing.
func TestBrokenInstancesAreNotLinearizable(t *testing.T) {
	t.Parallel()
	for _, m := range instanceMutants()["fences"] {
		if m.quiet != "" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			expectBroken(t, InstanceHistory(shortLease), func() []porcupine.Operation { return instanceHistory(t, m) })
		})
	}
}
