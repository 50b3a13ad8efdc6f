package devdb_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/gorilla/websocket"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

// FuzzFrames sends any frame on a connection that is signed in as root, and on one that is not: each is
// answered or ends the connection, a stranger's does nothing, and the server lives.
func FuzzFrames(f *testing.F) {
	session := cbor.Tag{Number: 37, Content: make([]byte, 16)}
	for _, v := range []any{
		request{ID: 1, Method: "ping"},
		request{ID: "x", Method: "use", Params: []any{"a", "b"}},
		request{ID: -1, Method: "query", Params: []any{"RETURN 1"}},
		request{ID: 1.5, Method: "version", Session: session},
		request{ID: []any{1}, Method: "attach", Session: session},
		request{ID: "x", Method: "begin"},
		request{ID: "x", Method: "commit", Params: []any{uuid{1}}},
		request{ID: "x", Method: "kill", Params: []any{uuid{1}}},
		request{ID: "x", Method: "query", Params: []any{"RETURN $v", map[string]any{"v": []any{1, "two", 3.0, cbor.Tag{Number: 8, Content: []any{"t", 1}}}}}, Txn: uuid{}},
		map[string]any{"id": 1, "method": "query", "params": "RETURN 1"},
		[]any{1, 2},
		"text", nil,
		map[int]int{1: 2},
	} {
		frame, err := cbor.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
	}
	for _, raw := range []string{"", "\xff", "\xbf", "\xbb\xff\xff\xff\xff\xff\xff\xff\xff", "\xbf\x62id\x01\x66method\x64ping\xff", "\xa3\x62id\x01\x66method\x65query\x66params\x9f\x7f\x61a\xff\xff"} {
		f.Add([]byte(raw))
	}
	target := devdbtest.Fresh(f)
	signedIn(f, target).query(nil, "CREATE kept:1")
	root, stranger, bystander := &socket{endpoint: target.Endpoint}, &socket{endpoint: target.Endpoint}, &socket{endpoint: target.Endpoint}
	for _, params := range []request{
		{ID: "s", Method: "signin", Params: []any{map[string]any{"user": target.User, "pass": target.Password}}},
		{ID: "s", Method: "use", Params: []any{target.Namespace, target.Database}},
	} {
		frame, err := cbor.Marshal(params)
		if err != nil {
			f.Fatal(err)
		}
		root.greeting, bystander.greeting = append(root.greeting, frame), append(bystander.greeting, frame)
	}
	f.Cleanup(func() { root.close(); stranger.close(); bystander.close() })
	kept, err := cbor.Marshal(request{ID: "kept", Method: "query", Params: []any{"SELECT VALUE id FROM kept"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		stranger.ask(t, frame)
		root.ask(t, frame)
		if r, _ := bystander.ask(t, kept); r.Error != nil || !strings.Contains(string(r.Result), "kept") {
			t.Fatalf("the row is gone: %+v", r)
		}
	})
}

// A socket is a connection that is made anew whenever it has ended.
type socket struct {
	endpoint string
	greeting [][]byte // what it says first
	ws       *websocket.Conn
}

func (s *socket) close() {
	if s.ws != nil {
		_ = s.ws.Close()
	}
	s.ws = nil
}

// ask sends a frame and requires an answer, or a close frame: then ok is false.
func (s *socket) ask(t *testing.T, frame []byte) (r reply, ok bool) {
	t.Helper()
	if s.ws == nil {
		dialer := websocket.Dialer{Subprotocols: []string{"cbor"}, HandshakeTimeout: patience}
		ws, res, err := dialer.Dial(s.endpoint+"/rpc", nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		s.ws = ws
		for _, hello := range s.greeting {
			if r, _ := s.ask(t, hello); r.Error != nil {
				t.Fatal(r.Error)
			}
		}
	}
	if err := s.ws.WriteMessage(websocket.BinaryMessage, frame); err != nil {
		t.Fatal(err)
	}
	for r.ID == nil { // what has none is a notification
		answer, err := answer(s.ws)
		if err != nil {
			t.Fatal(err)
		}
		if answer == nil {
			s.close()
			return reply{}, false
		}
		if err := cbor.Unmarshal(answer, &r); err != nil {
			t.Fatalf("answered %x", answer)
		}
	}
	return r, true
}

// answer reads one, or nil where the connection ends by a close frame.
func answer(ws *websocket.Conn) ([]byte, error) {
	if err := ws.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	_, answer, err := ws.ReadMessage()
	var closed *websocket.CloseError
	if errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("neither an answer nor a close frame: %w", err)
	}
	return answer, nil
}
