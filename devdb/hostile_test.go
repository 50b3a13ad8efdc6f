package devdb_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/gorilla/websocket"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

// attached attaches a session to a connection and signs it in.
func attached(t *testing.T, c *client, target devdbtest.Target, name uuid) {
	t.Helper()
	for _, req := range []request{
		{Method: "attach"},
		{Method: "signin", Params: []any{map[string]any{"user": target.User, "pass": target.Password}}},
		{Method: "use", Params: []any{target.Namespace, target.Database}},
	} {
		req.Session = name
		if _, err := c.do(req); err != nil {
			t.Fatalf("%s: %v", req.Method, err)
		}
	}
}

func TestSessionsOfOthersCannotBeNamed(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	victim := signedIn(t, target)
	name := uuid{1, 2, 3}
	attached(t, victim, target, name)
	// The engine's own name for the victim's session is no secret: the victim can read it.
	var own string
	victim.query(&own, "RETURN <string>$session.id")

	attacker := dial(t, target.Endpoint)
	for _, session := range []any{name, own, cbor.Tag{Number: 9, Content: own}} {
		for _, method := range []string{"query", "invalidate", "reset", "detach", "signin", "use", "begin"} {
			_, err := attacker.do(request{Method: method, Params: []any{"RETURN 1"}, Session: session})
			refused(t, err, "NotFound")
		}
	}

	// The same name on another connection is another session.
	other := signedIn(t, target)
	if _, err := other.do(request{Method: "attach", Session: name}); err != nil {
		t.Fatal(err)
	}
	_, err := other.do(request{Method: "query", Params: []any{"RETURN 1"}, Session: name})
	refused(t, err, "NotAllowed")
	if _, err := other.do(request{Method: "detach", Session: name}); err != nil {
		t.Fatal(err)
	}
	if _, err := victim.do(request{Method: "query", Params: []any{"RETURN 1"}, Session: name}); err != nil {
		t.Errorf("the victim's session is gone: %v", err)
	}

	var sessions []uuid
	if err := cbor.Unmarshal(other.must("sessions"), &sessions); err != nil || len(sessions) != 0 {
		t.Errorf("another connection lists sessions %x (%v)", sessions, err)
	}
	if err := cbor.Unmarshal(victim.must("sessions"), &sessions); err != nil || len(sessions) != 1 || sessions[0] != name {
		t.Errorf("the victim lists sessions %x (%v), want %x", sessions, err, name)
	}
}

func TestTransactionsOfOthersCannotBeNamed(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	victim, attacker := signedIn(t, target), signedIn(t, target)
	victim.query(nil, "DEFINE TABLE t")
	var txn uuid
	if err := cbor.Unmarshal(victim.must("begin"), &txn); err != nil {
		t.Fatal(err)
	}
	inTxn := request{Method: "query", Params: []any{"CREATE t:1"}, Txn: txn}
	if _, err := victim.rows(victim.do(inTxn)); err != nil {
		t.Fatal(err)
	}

	_, err := attacker.do(inTxn)
	refused(t, err, "Validation")
	for _, method := range []string{"commit", "cancel"} {
		_, err := attacker.call(method, txn)
		refused(t, err, "Validation")
		_, err = attacker.call(method, uuid{}, txn)
		refused(t, err, "Validation")
	}

	victim.must("commit", txn)
	var ids []cbor.RawMessage
	victim.query(&ids, "SELECT VALUE id FROM t")
	if len(ids) != 1 {
		t.Errorf("the transaction left %d rows, want 1", len(ids))
	}
	_, err = victim.call("commit", txn)
	refused(t, err, "Validation")
}

// A field given twice might be read differently by the wall and by the engine.
func TestFieldsGivenTwice(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	ws := dialSocket(t, target.Endpoint)
	for _, fields := range [][]string{
		{"id", "1", "method", "ping", "method", "query"},
		{"method", "ping", "id", "1", "params", "RETURN 1", "params", "RETURN 2"},
		{"id", "1", "method", "ping", "session", "", "session", ""},
	} {
		frame := []byte{0xa0 | byte(len(fields)/2)}
		for _, text := range fields {
			frame = append(append(frame, 0x60|byte(len(text))), text...)
		}
		if err := ws.WriteMessage(websocket.BinaryMessage, frame); err != nil {
			t.Fatal(err)
		}
		refused(t, readReply(t, ws), "Validation")
	}
}

func readReply(t *testing.T, ws *websocket.Conn) error {
	t.Helper()
	_, frame, err := ws.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	var r reply
	if err := cbor.Unmarshal(frame, &r); err != nil {
		t.Fatal(err)
	}
	if r.Error == nil {
		return nil
	}
	return r.Error
}

func nested(open byte, depth int, inner string) []byte {
	return append(bytes.Repeat([]byte{open}, depth), inner...)
}

func TestGarbageEndsOnlyItsConnection(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	bystander := signedIn(t, target)
	valid, err := cbor.Marshal(request{ID: "x", Method: "ping"})
	if err != nil {
		t.Fatal(err)
	}
	call := func(method, params string) []byte {
		return []byte("\xa3\x62id\x01\x66method" + string(rune(0x60+len(method))) + method + "\x66params" + params)
	}
	frames := map[string][]byte{
		"empty":                  {},
		"not a map":              []byte("\x01"),
		"a break":                {0xff},
		"reserved":               {0xbc, 0xbd, 0xbe},
		"truncated":              valid[:len(valid)-1],
		"half a head":            {0xbb, 0, 0},
		"endless":                {0xbf},
		"endless text":           {0xbf, 0x7f},
		"a map of 2^64 entries":  {0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"text of 2^64 bytes":     {0xa1, 0x7b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"a key that is a number": {0xa1, 0x01, 0x01},
		"no method":              []byte("\xa1\x62id\x01"),
		"a method of bytes":      []byte("\xa2\x62id\x01\x66method\x44ping"),
		"a session of 3 bytes":   []byte("\xa3\x62id\x01\x66method\x64ping\x67session\xd8\x25\x43abc"),
		"invalid UTF-8":          call("query", "\x81\x62\xff\xfe"),
		"params of text":         call("query", "\x61a"),
		"use of text":            call("use", "\x61a"),
		"use of endless text":    call("use", "\x81\x7f\x61a\xff"),
		"commit of nothing":      call("commit", "\x80"),
		"arrays in arrays":       call("query", string(nested(0x81, 100_000, "\x01"))),
		"tags of tags":           call("query", string(nested(0xc6, 100_000, "\x01"))),
		"endless in endless":     call("query", string(nested(0x9f, 100_000, ""))),
		"maps of maps":           bytes.Repeat([]byte("\xa1\x61a"), 100_000),
		"more than a request":    append(append([]byte{}, valid...), "garbage"...),
	}
	for name, frame := range frames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			survives(t, target, websocket.BinaryMessage, frame)
		})
	}
	t.Run("text", func(t *testing.T) {
		t.Parallel()
		survives(t, target, websocket.TextMessage, []byte(`{"id":1,"method":"ping"}`))
	})
	t.Cleanup(func() { bystander.query(nil, "RETURN 1") })
}

// survives sends a frame and requires an answer or the connection's end.
func survives(t *testing.T, target devdbtest.Target, kind int, frame []byte) {
	t.Helper()
	ws := dialSocket(t, target.Endpoint)
	if err := ws.WriteMessage(kind, frame); err != nil {
		t.Fatal(err)
	}
	got, err := answer(ws)
	if err != nil {
		t.Error(err)
	}
	var r reply
	if got != nil && (cbor.Unmarshal(got, &r) != nil || r.ID == nil) {
		t.Errorf("answered %x", got)
	}
}

// Frames made by damaging good ones: most are near the edge between request and garbage.
func TestDamagedFrames(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	bystander := signedIn(t, target)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	rnd := rand.New(rand.NewChaCha8(key))
	good, err := cbor.Marshal(request{
		ID: "x", Method: "query", Session: uuid{}, Txn: uuid{},
		Params: []any{"RETURN $v", map[string]any{"v": []any{1, "two", 3.0, cbor.Tag{Number: 8, Content: []any{"t", 1}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ws := signedInSocket(t, target)
	for range 1500 {
		frame := damage(rnd, good)
		if err := ws.WriteMessage(websocket.BinaryMessage, frame); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ws.ReadMessage(); err != nil {
			var closed *websocket.CloseError
			if !errors.As(err, &closed) || closed.Code == websocket.CloseAbnormalClosure {
				t.Fatalf("frame %x: %v", frame, err)
			}
			ws = signedInSocket(t, target)
		}
	}
	bystander.query(nil, "RETURN 1")
}

func damage(rnd *rand.Rand, good []byte) []byte {
	frame := bytes.Clone(good)
	for range 1 + rnd.IntN(3) {
		at := rnd.IntN(len(frame))
		switch rnd.IntN(4) {
		case 0:
			frame[at] = byte(rnd.Uint32())
		case 1:
			frame[at] ^= 1 << rnd.IntN(8)
		case 2:
			frame = append(frame[:at], frame[min(len(frame), at+1+rnd.IntN(4)):]...)
		default:
			frame = append(frame[:at], append([]byte{byte(rnd.Uint32())}, frame[at:]...)...)
		}
		if len(frame) == 0 {
			return frame
		}
	}
	return frame
}

// signedInSocket is a raw socket whose session is root's.
func signedInSocket(t *testing.T, target devdbtest.Target) *websocket.Conn {
	t.Helper()
	ws := dialSocket(t, target.Endpoint)
	message, err := cbor.Marshal(request{ID: "s", Method: "signin", Params: []any{map[string]any{"user": target.User, "pass": target.Password}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := ws.WriteMessage(websocket.BinaryMessage, message); err != nil {
		t.Fatal(err)
	}
	if err := readReply(t, ws); err != nil {
		t.Fatal(err)
	}
	return ws
}

func TestMessagesUpToTheLimit(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	c := signedIn(t, target)
	text := strings.Repeat("x", 100<<20)
	var size int
	c.query(&size, "RETURN string::len($text)", map[string]any{"text": text})
	if size != len(text) {
		t.Errorf("the database got %d bytes, want %d", size, len(text))
	}
	var back string
	c.query(&back, "RETURN $text", map[string]any{"text": text})
	if back != text {
		t.Errorf("%d bytes came back, want %d", len(back), len(text))
	}

	ch, err := c.start(request{Method: "query", Params: []any{"RETURN 1", map[string]any{"text": strings.Repeat("x", 129<<20)}}})
	if err == nil {
		_, err = c.await(ch)
	}
	if err == nil {
		t.Error("a message over the limit was taken")
	}
	<-c.ended
	dial(t, target.Endpoint).must("ping")
}
