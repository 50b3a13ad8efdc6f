package devdb_test

import (
	"testing"

	"github.com/fxamacker/cbor/v2"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

// pipeline sends requests without waiting for replies in between.
func pipeline(t *testing.T, c *client, requests []request) []<-chan reply {
	t.Helper()
	replies := make([]<-chan reply, len(requests))
	for i, req := range requests {
		ch, err := c.start(req)
		if err != nil {
			t.Fatal(err)
		}
		replies[i] = ch
	}
	return replies
}

func TestSessionChangesAreOrdered(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	c := dial(t, target.Endpoint)
	query := func(text string) request { return request{Method: "query", Params: []any{text}} }
	requests := []request{
		query("RETURN 1"),
		{Method: "signin", Params: []any{map[string]any{"user": target.User, "pass": target.Password}}},
		{Method: "use", Params: []any{target.Namespace, target.Database}},
	}
	for i := range 50 {
		requests = append(requests, request{Method: "let", Params: []any{"x", i}}, query("RETURN $x"), query("SLEEP 1ms; RETURN $x"))
	}
	requests = append(requests, request{Method: "unset", Params: []any{"x"}}, query("RETURN $x"),
		request{Method: "invalidate"}, query("RETURN 1"))
	replies := pipeline(t, c, requests)

	_, err := c.await(replies[0])
	refused(t, err, "NotAllowed")
	for i, req := range requests[1 : len(requests)-3] {
		result, err := c.await(replies[i+1])
		if err != nil {
			t.Fatalf("%s: %v", req.Method, err)
		}
		if req.Method != "query" {
			continue
		}
		rows, err := c.rows(result, nil)
		if err != nil {
			t.Fatal(err)
		}
		var x int
		if err := cbor.Unmarshal(rows[len(rows)-1].Result, &x); err != nil || x != (i-2)/3 {
			t.Fatalf("query %d saw %d (%v), want %d", i, x, err, (i-2)/3)
		}
	}
	_, err = c.await(replies[len(replies)-1])
	refused(t, err, "NotAllowed")
}

func TestQueriesRunSideBySide(t *testing.T) {
	t.Parallel()
	c := signedIn(t, devdbtest.Fresh(t))
	slow, err := c.start(request{Method: "query", Params: []any{"SLEEP 2s"}})
	if err != nil {
		t.Fatal(err)
	}
	c.query(nil, "RETURN 1")
	select {
	case <-slow:
		t.Error("a slow query held back a quick one")
	default:
	}
	if _, err := c.await(slow); err != nil {
		t.Error(err)
	}
}

// TestASignOfLifeHasNoOrder asks for one while others have to wait, for a sign-in that waits itself.
func TestASignOfLifeHasNoOrder(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	c := signedIn(t, target)
	replies := pipeline(t, c, []request{
		{Method: "query", Params: []any{"SLEEP 1m"}},
		{Method: "signin", Params: []any{map[string]any{"user": target.User, "pass": target.Password}}},
		{Method: "ping"},
	})
	if _, err := c.await(replies[2]); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-replies[1]:
		t.Errorf("the sign-in did not wait for the query before it: %+v", got)
	default:
	}
}
