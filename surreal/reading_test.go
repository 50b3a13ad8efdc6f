package surreal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestWhatIsOnlyReadWritesNothing has requests that read and write: they see what they wrote, and nobody else does.
func TestWhatIsOnlyReadWritesNothing(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), testContext(t)
	exec(t, c, "CREATE note:1 SET n = 1; DEFINE FUNCTION fn::add() { UPDATE note:1 SET n += 1; RETURN (SELECT VALUE n FROM ONLY note:1) };", nil)
	for surql, want := range map[string]int{
		"RETURN { UPDATE note:1 SET n = 7; RETURN (SELECT VALUE n FROM ONLY note:1) }": 7,
		"RETURN fn::add()": 2,
		"RETURN array::len((SELECT * FROM (CREATE note, other)))": 2,
		"RETURN $a": 5,
	} {
		got, err := First[int](ctx, c.Reading(), surql, map[string]any{"a": 5})
		if err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", surql, got, err, want)
		}
	}
	if _, err := First[any](ctx, c.Reading(), "RETURN { CREATE note:3; THROW 'no' }", nil); err == nil {
		t.Error("what was thrown is no error")
	} else if why, ok := IsThrown(err); !ok || why != "no" {
		t.Errorf("thrown: %v", err)
	}
	if _, err := First[any](ctx, c.Reading(), "SELECT * FORM note", nil); err == nil {
		t.Error("what does not parse is no error")
	}
	rows, err := First[[]map[string]any](ctx, c, "SELECT * FROM note", nil)
	if err != nil || len(rows) != 1 || fmt.Sprint(rows[0]["n"]) != "1" {
		t.Errorf("left behind: %v, %v", rows, err)
	}
}

// TestReadingGivesUpInTime has a request that takes longer than its caller waits, beside others on the same connection.
func TestReadingGivesUpInTime(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), testContext(t)
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := First[any](short, c.Reading(), "RETURN { CREATE slow:1; SLEEP 2s; RETURN 1 }", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("slow: %v", err)
		}
	})
	for range 20 {
		if n, err := First[int](ctx, c.Reading(), "RETURN 3", nil); err != nil || n != 3 {
			t.Errorf("beside it: %d, %v", n, err)
		}
	}
	wg.Wait()
	exec(t, c, "CREATE slow:1", nil) // not there, and not in the way
}
