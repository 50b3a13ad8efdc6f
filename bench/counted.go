package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"sp00ky.cloud/spky/surreal"
)

// countedInstances are as many as row writes are counted for.
const countedInstances = 20

// A Counted is what one instance costs the database, counted and not measured.
type Counted struct {
	// TransactionsAlone and TransactionsTogether are the requests that its creator, the node and the
	// backend have sent for it, each of which is one transaction: alone, and while others run.
	TransactionsAlone    float64 `json:"transactions_alone"`
	TransactionsTogether float64 `json:"transactions_together"`
	// RowWrites are those of its jobs, its own row and its steps, as LIVE SELECT tells them.
	RowWrites float64 `json:"row_writes"`
}

// requests counts what the bench, the engine and the node have sent to the database.
func (b *workflowBench) requests() uint64 { return b.client.State().Statements + b.node.Statements() }

func (b *workflowBench) requestsEach(before uint64, instances int) float64 {
	if b.Backend != nil {
		return 0 // it has connections of its own
	}
	return float64(b.requests()-before) / float64(instances)
}

// countWrites runs a few instances one after the other and counts the rows that are written.
func (b *workflowBench) countWrites(ctx context.Context) (float64, error) {
	client, hangUp, err := surreal.Connect(ctx, b.DB)
	if err != nil {
		return 0, err
	}
	count, err := b.seenBy(ctx, client)
	err = errors.Join(err, hangUp())
	for _, table := range []string{b.table, "_00_wf_step", "_00_wf_instance"} { // or what is measured next pays for it
		err = errors.Join(err, b.client.ForgetListeners(ctx, table))
	}
	return count, err
}

func (b *workflowBench) seenBy(ctx context.Context, client *surreal.Client) (float64, error) {
	var seen atomic.Int64
	var watching sync.WaitGroup
	var lives []*surreal.Live
	defer func() {
		for _, live := range lives {
			live.Close(ctx)
		}
		watching.Wait()
	}()
	for table, which := range map[string]string{b.table: "true", "_00_wf_step": "instance.backend = $backend", "_00_wf_instance": "backend = $backend"} {
		live, err := client.Live(ctx, surreal.LiveConfig{Statement: "LIVE SELECT id FROM `" + table + "` WHERE " + which, Vars: map[string]any{"backend": b.table}})
		if err != nil {
			return 0, err
		}
		lives = append(lives, live)
		watching.Go(func() { count(live, &seen) })
	}
	for range countedInstances {
		if _, err := b.once(ctx, work{Steps: b.Steps}); err != nil {
			return 0, err
		}
	}
	err := b.settled(ctx, &seen)
	return float64(seen.Load()) / countedInstances, err
}

// count adds up a subscription's notifications until it ends. Instances that run alone write so slowly
// that each is taken by itself.
func count(live *surreal.Live, seen *atomic.Int64) {
	for range live.C() {
		events, _ := live.Take()
		seen.Add(int64(len(events)))
		if live.Err() != nil {
			return
		}
	}
}

// settled waits until nothing is written any more: the node settles the last job after its answer.
func (b *workflowBench) settled(ctx context.Context, seen *atomic.Int64) error {
	for before := int64(-1); before != seen.Load(); {
		before = seen.Load()
		if err := pause(ctx, patience/100); err != nil {
			return err
		}
	}
	return nil
}
