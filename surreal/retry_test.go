package surreal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

func conflict() error {
	return fmt.Errorf("query: %w", &QueryError{Message: "Transaction conflict: Resource busy: . This transaction can be retried"})
}

func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for conflicts, want := range map[int]int{0: 1, 3: 4, 19: 20, 20: 20, 100: 20} {
			runs := 0
			err := Retry(t.Context(), func(context.Context) error {
				if runs++; runs <= conflicts {
					return conflict()
				}
				return nil
			})
			if runs != want || (err == nil) != (conflicts < 20) || err != nil && !IsConflict(err) {
				t.Errorf("%d conflicts: %d runs, %v", conflicts, runs, err)
			}
		}
	})
}

func TestRetryLeavesOtherErrorsAlone(t *testing.T) {
	t.Parallel()
	runs, broken := 0, errors.New("broken")
	err := Retry(t.Context(), func(context.Context) error { runs++; return broken })
	if runs != 1 || !errors.Is(err, broken) {
		t.Errorf("%d runs, %v", runs, err)
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	runs := 0
	err := Retry(ctx, func(context.Context) error {
		if runs++; runs == 3 {
			cancel(stop)
		}
		return conflict()
	})
	if runs != 3 || !errors.Is(err, stop) || !IsConflict(err) {
		t.Errorf("%d runs, %v", runs, err)
	}
}

func TestConflictsAreRecognisedInAllTheirForms(t *testing.T) {
	t.Parallel()
	for _, e := range []*QueryError{
		{Message: "Transaction conflict: Write conflict, retry the transaction. This transaction can be retried"},
		{Message: "Query not executed: Transaction conflict: Resource busy: . This transaction can be retried", Kind: "Internal"},
		{Message: "Cannot COMMIT: Transaction conflict: Resource busy: . This transaction can be retried", Kind: "Query"},
		{Message: "Failed to commit transaction due to a read or write conflict. This transaction can be retried", Statement: -1},
		{Message: "conflict", Code: codeConflict, Statement: -1},
	} {
		if !IsConflict(e) {
			t.Errorf("%q is none", e.Message)
		}
	}
	if IsConflict(&QueryError{Message: "An error occurred: can be retried", Kind: kindThrown}) || IsConflict(nil) || IsConflict(errors.New("can be retried")) {
		t.Error("anything is a conflict")
	}
}

// Every increment that was acknowledged is there, bare and in transactions, and there were conflicts to retry:
// a database that happens to meet none is given more of them.
func TestConcurrentIncrements(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	first := connect(t, cfg)
	exec(t, first, "CREATE counter:bare SET n = 0; CREATE counter:tx SET n = 0", nil)
	const workers, rounds = 8, 25
	clients := make([]*Client, workers)
	for i := range clients {
		clients[i] = connect(t, cfg)
	}
	ctx := testContext(t)
	conflicts, want := uint64(0), 0
	for conflicts == 0 && ctx.Err() == nil && !t.Failed() {
		var working sync.WaitGroup
		for _, c := range clients {
			working.Go(func() { increment(ctx, t, c, rounds) })
		}
		working.Wait()
		want += workers * rounds
		for _, c := range clients {
			conflicts += c.State().Conflicts
		}
	}
	for _, record := range []string{"bare", "tx"} {
		n, err := First[int](testContext(t), first, "RETURN $r.n", map[string]any{"r": NewRecordID("counter", record)})
		if err != nil || n != want {
			t.Errorf("counter:%s is %d, %v; want %d", record, n, err, want)
		}
	}
	if conflicts == 0 {
		t.Error("there were no conflicts, so this proves nothing")
	}
}

// increment adds to both counters, so many times, until an addition fails.
func increment(ctx context.Context, t *testing.T, c *Client, rounds int) {
	for range rounds {
		bare := Exec(ctx, c.Retrying(), "UPDATE counter:bare SET n += 1", nil)
		tx := Exec(ctx, c.Retrying(), "BEGIN; LET $n = counter:tx.n; UPDATE counter:tx SET n = $n + 1; COMMIT", nil)
		if err := errors.Join(bare, tx); err != nil {
			t.Error(err)
			return
		}
	}
}
