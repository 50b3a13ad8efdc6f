package surreal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

func TestQueryGivesTheCauseOfAFailure(t *testing.T) {
	t.Parallel()
	c := open(t)
	exec(t, c, "DEFINE TABLE job; DEFINE TABLE k; DEFINE INDEX k ON k FIELDS k UNIQUE; DEFINE FIELD n ON job TYPE option<int>; DEFINE FIELD even ON job TYPE option<int> ASSERT $value = NONE OR $value % 2 = 0", nil)
	exec(t, c, "CREATE job:1; CREATE k:1 SET k = 'a'", nil)
	cases := map[string]struct {
		surql     string
		statement int
		is        func(error) bool
	}{
		"existing record":          {"CREATE job:1", 0, IsAlreadyExists},
		"existing record, in a tx": {"BEGIN; LET $a = 1; CREATE job:1; LET $b = 2; COMMIT", 2, IsAlreadyExists},
		"unique index":             {"CREATE k:2 SET k = 'a'", 0, IsUniqueViolation},
		"unique index, in a tx":    {"BEGIN; CREATE k:3 SET k = 'b'; CREATE k:2 SET k = 'a'; COMMIT", 2, IsUniqueViolation},
		"wrong type":               {"CREATE job:9 SET n = 'x'", 0, IsValueRefused},
		"wrong type, in a block":   {"RETURN { CREATE job:9 SET n = 'x' }", 0, IsValueRefused},
		"assertion":                {"CREATE job:9 SET even = 3", 0, IsValueRefused},
		"undefined table":          {"SELECT * FROM nowhere", 0, IsNotFound},
		"thrown":                   {"RETURN 1; THROW 'stop'", 1, func(err error) bool { s, ok := IsThrown(err); return ok && s == "stop" }},
		"thrown, in a tx":          {"BEGIN; CREATE job:5; THROW 'stop'; COMMIT", 2, func(err error) bool { s, ok := IsThrown(err); return ok && s == "stop" }},
		"syntax":                   {"SELEC 1", -1, func(err error) bool { return strings.Contains(err.Error(), "Parse error") }},
		"first of two failures":    {"THROW 'a'; THROW 'b'", 0, func(err error) bool { s, _ := IsThrown(err); return s == "a" }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results, err := c.Query(testContext(t), tc.surql, nil)
			var e *QueryError
			if !errors.As(err, &e) || results != nil {
				t.Fatalf("got %v, %v; want a QueryError alone", results, err)
			}
			if !tc.is(err) {
				t.Errorf("%v (kind %q, details %v) is not recognised", err, e.Kind, e.Details)
			}
			if e.Statement != tc.statement {
				t.Errorf("blames statement %d, want %d", e.Statement, tc.statement)
			}
			if takenAlong(e) {
				t.Errorf("%q is no cause", e.Message)
			}
			for what, is := range map[string]func(error) bool{"conflict": IsConflict, "auth": IsAuth, "unreachable": IsUnreachable} {
				if is(err) {
					t.Errorf("%v counts as %s", err, what)
				}
			}
		})
	}
}

func TestQueryKeepsKindAndDetails(t *testing.T) {
	t.Parallel()
	_, err := open(t).Query(testContext(t), "SELECT * FROM nowhere", nil)
	var e *QueryError
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if e.Kind != "NotFound" || !e.detail("Table") {
		t.Errorf("kind %q, details %v", e.Kind, e.Details)
	}
}

func TestQueryAnswersEveryStatement(t *testing.T) {
	t.Parallel()
	results, err := open(t).Query(testContext(t), "RETURN $a; BEGIN; RETURN 2; COMMIT; RETURN NONE", map[string]any{"a": 1})
	if err != nil {
		t.Fatal(err)
	}
	var none []bool
	for _, r := range results {
		none = append(none, r.IsNone())
	}
	if want := []bool{false, true, false, true, true}; !equal(none, want) {
		t.Errorf("NONE are %v, want %v", none, want)
	}
}

func equal[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestFirstAndLast(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), testContext(t)
	first, err := First[int](ctx, c, "RETURN 1; RETURN 2", nil)
	if err != nil || first != 1 {
		t.Errorf("First: %v, %v", first, err)
	}
	for surql, want := range map[string]int{
		"RETURN 1; RETURN 2":                              2,
		"BEGIN; 1; 2; COMMIT":                             2,
		"BEGIN; 1; 2; COMMIT;\n":                          2,
		"BEGIN; RETURN 2; 3; COMMIT":                      2, // RETURN skips the rest of a transaction
		"begin;\nreturn 2;\ncommit transaction;":          2,
		"BEGIN; RETURN 2; COMMIT;\n-- that was it\n":      2,
		"BEGIN; RETURN 1; COMMIT; RETURN 2":               2,
		"RETURN 7; BEGIN; LET $x = 1; RETURN NONE;COMMIT": 0, // NONE decodes to the zero value, it is not skipped
		"RETURN 'COMMIT'; RETURN 2 -- COMMIT":             2,
	} {
		last, err := Last[int](ctx, c, surql, nil)
		if err != nil || last != want {
			t.Errorf("Last of %q: %v, %v; want %d", surql, last, err, want)
		}
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), testContext(t)
	rows, err := Rows(ctx, c, "RETURN [{ n: 1 }, { n: 'x' }, { n: 3 }]", nil)
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	var sum int
	var failed []int
	for i, r := range rows {
		var row struct{ N int }
		if r.Decode(&row) != nil {
			failed = append(failed, i)
		}
		sum += row.N
	}
	if sum != 4 || !equal(failed, []int{1}) {
		t.Errorf("sum %d, failed %v", sum, failed)
	}
	if rows, err := Rows(ctx, c, "RETURN NONE", nil); err != nil || len(rows) != 0 {
		t.Errorf("NONE: %v, %v", rows, err)
	}
	for _, surql := range []string{"RETURN 1", "RETURN {}", "RETURN 'x'"} {
		if rows, err := Rows(ctx, c, surql, nil); err == nil {
			t.Errorf("%s: %v", surql, rows)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	values, err := open(t).Values(testContext(t), "RETURN 1; RETURN NONE; RETURN 'x'", nil)
	if err != nil || len(values) != 3 || values[0] != uint64(1) || values[1] != nil || values[2] != "x" {
		t.Errorf("%#v, %v", values, err)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	version, err := open(t).Version(testContext(t))
	if err != nil || !strings.Contains(version, "3.") {
		t.Errorf("%q, %v", version, err)
	}
}

func TestFirstReportsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), testContext(t)
	for surql, into := range map[string]func() error{
		"RETURN 'a'":       func() error { _, err := First[int](ctx, c, "RETURN 'a'", nil); return err },
		"RETURN [1, 'a']":  func() error { _, err := First[[]int](ctx, c, "RETURN [1, 'a']", nil); return err },
		"RETURN d'…'":      func() error { _, err := First[bool](ctx, c, "RETURN d'2020-01-01T00:00:00Z'", nil); return err },
		"RETURN 1s to int": func() error { _, err := First[int64](ctx, c, "RETURN 1s", nil); return err },
	} {
		if err := into(); err == nil {
			t.Errorf("%s: no error", surql)
		}
	}
	if _, err := c.Query(ctx, "RETURN 1", nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestLargeValues(t *testing.T) {
	t.Parallel()
	c := open(t)
	for name, size := range map[string]int{"1 MiB": 1 << 20, "20 MiB": 20 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := bytes.Repeat([]byte("0123456789abcdef"), size/16)
			text, err := First[string](testContext(t), c, "RETURN $x", map[string]any{"x": string(sent)})
			if err != nil || text != string(sent) {
				t.Errorf("text: %d bytes came back, %v", len(text), err)
			}
			got, err := First[[]byte](testContext(t), c, "RETURN $x", map[string]any{"x": sent})
			if err != nil || !bytes.Equal(got, sent) {
				t.Errorf("bytes: %d bytes came back, %v", len(got), err)
			}
		})
	}
}

// Longer than the SDK's decoder allows by itself.
func TestLongArray(t *testing.T) {
	t.Parallel()
	sent := make([]int, 1_100_000)
	for i := range sent {
		sent[i] = i
	}
	list, err := First[[]int](testContext(t), open(t), "RETURN $x", map[string]any{"x": sent})
	if err != nil || !equal(list, sent) {
		t.Errorf("%d numbers came back, %v", len(list), err)
	}
}

func TestTooLargeRequestIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.MaxMessage = 1 << 20
	c := connect(t, cfg)
	_, err := c.Query(testContext(t), "RETURN $x", map[string]any{"x": strings.Repeat("x", 1<<20)})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if state := c.State(); !state.Connected || state.Reconnects > 0 {
		t.Errorf("the connection suffered: %+v", state)
	}
}

// TestAnswersThatAreTooLargeEndTheirCallsAlone has calls beside it whose answers come on the same connection.
func TestAnswersThatAreTooLargeEndTheirCallsAlone(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.MaxMessage = 1 << 20
	c := connect(t, cfg)
	const large = "LET $x = string::repeat('x', 700000); RETURN [$x, $x]"
	var calls errgroup.Group
	for i := range 40 {
		calls.Go(func() error {
			if i%10 == 0 {
				_, err := c.Query(testContext(t), large, nil)
				if !errors.Is(err, ErrAnswerTooLarge) || IsUnreachable(err) || !strings.Contains(err.Error(), "at most 1048576") {
					return fmt.Errorf("a call that is answered with too much: %w", err)
				}
				return nil
			}
			n, err := First[int](testContext(t), c, "RETURN $i", map[string]any{"i": i})
			if n != i {
				err = fmt.Errorf("%d came for %d, %w", n, i, err)
			}
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		t.Error(err)
	}
	text, err := First[string](testContext(t), c, "RETURN string::repeat('x', 1000000)", nil) // fits
	if err != nil || len(text) != 1_000_000 {
		t.Errorf("afterwards: %d bytes, %v", len(text), err)
	}
	if state := c.State(); !state.Connected || state.Reconnects > 0 {
		t.Errorf("the connection suffered: %+v", state)
	}
}

// TestNotificationsThatAreTooLargeEndTheConnection: whoever listens would miss one otherwise.
func TestNotificationsThatAreTooLargeEndTheConnection(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	c := connect(t, cfg)
	exec(t, c, "DEFINE TABLE large SCHEMALESS", nil)
	cfg.MaxMessage = 1 << 20
	listener := connect(t, cfg)
	live := openLive(t, listener, LiveConfig{Statement: "LIVE SELECT * FROM large"})
	exec(t, c, "CREATE large SET x = [string::repeat('x', 700000), string::repeat('x', 700000)]", nil)
	<-live.C()
	if events, _ := live.Take(); len(events) > 0 {
		t.Errorf("%d notifications came", len(events))
	}
	if err := live.Err(); !errors.Is(err, ErrDisconnected) || !strings.Contains(err.Error(), "at most 1048576 are read") {
		t.Errorf("the live query ended with %v", err)
	}
}

func TestContextEndsACallAtOnce(t *testing.T) {
	t.Parallel()
	c := open(t)
	ctx, cancel := context.WithCancel(testContext(t))
	began := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		close(began)
		_, err := c.Query(ctx, "SLEEP 2s; RETURN 1", nil)
		failed <- err
	}()
	<-began
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// The late answer is dropped, the connection works on.
	if n, err := First[int](testContext(t), c, "RETURN 7", nil); n != 7 || err != nil {
		t.Errorf("afterwards: %v, %v", n, err)
	}
}

func TestCallTimeout(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.CallTimeout = 50 * time.Millisecond
	c := connect(t, cfg)
	_, err := c.Query(context.Background(), "SLEEP 5s", nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("got %v", err)
	}
	ctx := testContext(t) // a deadline of its own counts instead
	if err := Exec(ctx, c, "SLEEP 200ms", nil); err != nil {
		t.Errorf("with a deadline: %v", err)
	}
}

// Report 46: nothing is left of calls that have ended.
func TestManyCallsShareOneSocket(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), testContext(t)
	failures := make(chan error, 64)
	for i := range 64 {
		go func() {
			for j := range 50 {
				n, err := First[int](ctx, c, "RETURN $n", map[string]any{"n": i*1000 + j})
				if err == nil && n != i*1000+j {
					err = errors.New("somebody else's answer")
				}
				if err != nil {
					failures <- err
					return
				}
			}
			failures <- nil
		}()
	}
	for range 64 {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	tr := c.alive()
	tr.calls.mu.Lock()
	defer tr.calls.mu.Unlock()
	if len(tr.calls.waiting) > 1 || len(tr.queue) > 0 { // a ping may be
		t.Errorf("%d calls wait, %d are queued", len(tr.calls.waiting), len(tr.queue))
	}
}
