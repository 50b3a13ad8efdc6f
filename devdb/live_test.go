package devdb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/gorilla/websocket"

	"sp00ky.cloud/spky/devdb"
	"sp00ky.cloud/spky/devdb/devdbtest"
)

// live starts a live query and returns its id.
func live(c *client, text string) uuid {
	c.tb.Helper()
	var id uuid
	c.query(&id, text)
	return id
}

func TestNotificationsGoToTheirSession(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	root := signedIn(t, target)
	root.query(nil, accounts)
	ann, bob := user(t, target, "ann"), user(t, target, "bob")
	ids := map[*client]uuid{}
	for _, c := range []*client{root, ann, bob} {
		ids[c] = live(c, "LIVE SELECT * FROM note")
	}
	ann.query(nil, "CREATE note:a SET text = 'of ann'")
	bob.query(nil, "CREATE note:b SET text = 'of bob'")
	ann.query(nil, "UPDATE note:a SET text = 'done'")

	got := map[*client][]string{}
	for c, count := range map[*client]int{root: 3, ann: 2, bob: 1} {
		for range count {
			n := c.next()
			if n.ID != ids[c] {
				t.Errorf("got a notification of %x, want %x", n.ID, ids[c])
			}
			var value struct{ Text string }
			if err := cbor.Unmarshal(n.Result, &value); err != nil {
				t.Fatal(err)
			}
			got[c] = append(got[c], n.Action+" "+value.Text)
		}
	}
	if s := strings.Join(got[ann], ", "); s != "CREATE of ann, UPDATE done" && s != "UPDATE done, CREATE of ann" {
		t.Errorf("ann was told %q", s)
	}
	if s := strings.Join(got[bob], ", "); s != "CREATE of bob" {
		t.Errorf("bob was told %q", s)
	}
	for name, c := range map[string]*client{"root": root, "ann": ann, "bob": bob} {
		// What else was on its way would have come before these answers.
		c.query(nil, "RETURN 1")
		if len(c.notes) > 0 {
			t.Errorf("%s was told more: %v", name, <-c.notes)
		}
	}
}

// A session attached to a connection has notifications of its own, under the client's name for it.
func TestNotificationsNameTheSession(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	c := signedIn(t, target)
	c.query(nil, "DEFINE TABLE t")
	name := uuid{7, 7, 7}
	in := func(method string, params ...any) cbor.RawMessage {
		t.Helper()
		result, err := c.do(request{Method: method, Params: params, Session: name})
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		return result
	}
	in("attach")
	in("signin", map[string]any{"user": target.User, "pass": target.Password})
	in("use", target.Namespace, target.Database)
	in("query", "LIVE SELECT * FROM t")
	c.query(nil, "CREATE t:1")
	var session uuid
	if err := cbor.Unmarshal(c.next().Session, &session); err != nil || session != name {
		t.Errorf("the notification is of session %x (%v), want %x", session, err, name)
	}

	live(c, "LIVE SELECT * FROM t")
	in("detach")
	c.query(nil, "CREATE t:2")
	if n := c.next(); string(n.Session) != "\xc6\xf6" {
		t.Errorf("the connection's own session is named %x, want NONE", n.Session)
	}
	c.query(nil, "RETURN 1")
	if len(c.notes) > 0 {
		t.Error("a detached session was told more")
	}
}

// A client that stops reading costs nobody else anything, and not more than a fixed amount of memory.
func TestStalledReaderIsDropped(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	writer, reader := signedIn(t, target), signedIn(t, target)
	writer.query(nil, "DEFINE TABLE t")
	live(reader, "LIVE SELECT id FROM t")
	stalled := stall(t, target, "LIVE SELECT * FROM t")

	const size, count = 1 << 20, 120
	text := strings.Repeat("x", size)
	for i := range count {
		writer.query(nil, "CREATE type::record('t', $i) SET text = $text", map[string]any{"i": i, "text": text})
		reader.next()
	}

	received := 0
	for {
		_, frame, err := stalled.ReadMessage()
		if err != nil {
			break
		}
		received += len(frame)
	}
	if limit := 96 << 20; received >= limit {
		t.Errorf("%d MiB were kept for a client that did not read", received>>20)
	}
	writer.query(nil, "RETURN 1")
}

// stall starts a live query on a connection that is then left unread.
func stall(t *testing.T, target devdbtest.Target, text string) *websocket.Conn {
	t.Helper()
	ws := dialSocket(t, target.Endpoint)
	for i, req := range []request{
		{Method: "signin", Params: []any{map[string]any{"user": target.User, "pass": target.Password}}},
		{Method: "use", Params: []any{target.Namespace, target.Database}},
		{Method: "query", Params: []any{text}},
	} {
		req.ID = fmt.Sprint(i)
		message, err := cbor.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.WriteMessage(websocket.BinaryMessage, message); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ws.ReadMessage(); err != nil {
			t.Fatal(err)
		}
	}
	return ws
}

// A client that does not answer does not hold up the end.
func TestStalledReaderDoesNotDelayTheEnd(t *testing.T) {
	t.Parallel()
	db := start(t, devdb.Config{StopTimeout: patience})
	target := targetOf(db)
	writer := signedIn(t, target)
	writer.query(nil, "DEFINE TABLE t")
	stall(t, target, "LIVE SELECT * FROM t")
	writer.query(nil, "CREATE t SET text = $text", map[string]any{"text": strings.Repeat("x", 16<<20)})
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
