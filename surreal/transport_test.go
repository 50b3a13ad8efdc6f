package surreal

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// fakeServer is a WebSocket that says what a test wants, for what no real server can be made to do. It lets everybody
// in; answer gets every other request.
type fakeServer struct {
	*httptest.Server
	answer  func(ws *fakeSocket, id uint64, method string)
	signIns bool // go to answer too, instead of being let in
	sockets sync.WaitGroup
}

type fakeSocket struct {
	*websocket.Conn
	mu sync.Mutex
}

func (s *fakeSocket) send(kind int, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.WriteMessage(kind, data)
}

// reply answers a request with an encoded value.
func (s *fakeSocket) reply(id uint64, value any) {
	raw, err := Marshal(map[string]any{"id": id, "result": value})
	if err != nil {
		panic(err)
	}
	s.send(websocket.BinaryMessage, raw)
}

func (s *fakeSocket) notify(live UUID, action string, record RecordID) {
	raw, err := Marshal(map[string]any{"result": map[string]any{
		"id": live, "action": action, "record": record, "result": map[string]any{"id": record},
	}})
	if err != nil {
		panic(err)
	}
	s.send(websocket.BinaryMessage, raw)
}

func (s *fakeSocket) killed(live UUID) {
	raw, err := Marshal(map[string]any{"result": map[string]any{
		"id": live, "action": "KILLED", "record": None, "result": None,
	}})
	if err != nil {
		panic(err)
	}
	s.send(websocket.BinaryMessage, raw)
}

// rows is the answer to a query.
func rows(results ...any) []any {
	list := []any{}
	for _, r := range results {
		list = append(list, map[string]any{"status": "OK", "time": "1µs", "result": r})
	}
	return list
}

func fake(t *testing.T, answer func(ws *fakeSocket, id uint64, method string)) Config {
	t.Helper()
	return fakeTB(t, answer)
}

// sendAnswer answers a request with an encoded value.
func (s *fakeSocket) sendAnswer(id uint64, result []byte) {
	e := encoder{}
	e.head(majorMap, 2)
	e.literal("id")
	e.int(int64(id))
	e.literal("result")
	s.send(websocket.BinaryMessage, append(e.out, result...))
}

func fakeTB(t testing.TB, answer func(ws *fakeSocket, id uint64, method string)) Config {
	t.Helper()
	return fakeOn(t, httptest.NewServer, answer)
}

func fakeOn(t testing.TB, start func(http.Handler) *httptest.Server, answer func(ws *fakeSocket, id uint64, method string)) Config {
	t.Helper()
	return (&fakeServer{answer: answer}).on(t, start)
}

func (s *fakeServer) on(t testing.TB, start func(http.Handler) *httptest.Server) Config {
	t.Helper()
	s.Server = start(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.Server.Close()
		s.sockets.Wait()
	})
	return Config{
		Endpoint: s.URL, Username: "u", Password: "p", MaxBackoff: 20 * time.Millisecond,
		PingInterval: 500 * time.Millisecond, PingTimeout: 2 * time.Second,
	}
}

func (s *fakeServer) serve(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{Subprotocols: []string{"cbor"}}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	s.sockets.Add(1)
	defer s.sockets.Done()
	defer conn.Close()
	ws := &fakeSocket{Conn: conn}
	for {
		_, frame, err := conn.ReadMessage()
		if err != nil {
			return
		}
		env, err := parseEnvelope(frame)
		if err != nil {
			return
		}
		var request struct{ Method string }
		if err := Unmarshal(frame, &request); err != nil {
			return
		}
		if request.Method == "signin" && !s.signIns {
			ws.reply(env.id, "token")
			continue
		}
		s.answer(ws, env.id, request.Method)
	}
}

func TestFramesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	bytesOf := func(s string) []byte {
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	deep := strings.Repeat("81", 100_000) + "00"
	cases := map[string]struct {
		kind    int
		frame   []byte
		ignored bool
	}{
		"neither id nor result": {websocket.BinaryMessage, bytesOf("a0"), true},
		"unknown id":            {websocket.BinaryMessage, bytesOf("a2 626964 1903e7 66726573756c74 01"), true},
		"id of another kind":    {websocket.BinaryMessage, bytesOf("a1 626964 80"), true},
		"result is no event":    {websocket.BinaryMessage, bytesOf("a1 66726573756c74 01"), true},
		"event of nobody":       {websocket.BinaryMessage, bytesOf("a1 66726573756c74 a2 626964 d82550 00112233445566778899aabbccddeeff 66616374696f6e 66435245415445"), true},
		"empty":                 {websocket.BinaryMessage, nil, false},
		"garbage":               {websocket.BinaryMessage, bytesOf("ffffffff"), false},
		"cut off":               {websocket.BinaryMessage, bytesOf("a2 626964 01 66726573756c74 9a ffffffff"), false},
		"two values":            {websocket.BinaryMessage, bytesOf("a0 a0"), false},
		"nested without end":    {websocket.BinaryMessage, append(bytesOf("a1 66726573756c74"), bytesOf(deep)...), false},
		"text":                  {websocket.TextMessage, []byte(`{"id":1,"result":[]}`), false},
		"a list":                {websocket.BinaryMessage, bytesOf("80"), false},
		"keys that are no text": {websocket.BinaryMessage, bytesOf("a1 01 01"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var once sync.Once
			cfg := fake(t, func(ws *fakeSocket, id uint64, method string) {
				if method == "query" {
					once.Do(func() { ws.send(tc.kind, tc.frame) })
				}
				ws.reply(id, rows(7))
			})
			c := connect(t, cfg)
			n, err := First[int](testContext(t), c, "RETURN 7", nil)
			switch {
			case tc.ignored && (n != 7 || err != nil):
				t.Errorf("got %v, %v", n, err)
			case !tc.ignored && !errors.Is(err, ErrDisconnected):
				t.Errorf("got %v, %v; want the connection dropped", n, err)
			}
			if n, err := First[int](testContext(t), c, "RETURN 7", nil); n != 7 || err != nil {
				t.Errorf("afterwards: %v, %v", n, err)
			}
		})
	}
}

func TestAnswersThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]any{
		"a number": 1, "a text": "x", "nothing": nil, "rows that are none": []any{1, 2},
		"status is no text": []any{map[string]any{"status": 1, "result": 1}},
		"failed, no cause":  []any{map[string]any{"status": "ERR"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, fake(t, func(ws *fakeSocket, id uint64, _ string) { ws.reply(id, answer) }))
			if results, err := c.Query(testContext(t), "RETURN 1", nil); err == nil {
				t.Errorf("no error but %v", results)
			}
		})
	}
}

func TestEncryptedConnection(t *testing.T) {
	t.Parallel()
	var authorities *x509.CertPool
	start := func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		authorities = x509.NewCertPool()
		authorities.AddCert(s.Certificate())
		return s
	}
	cfg := fakeOn(t, start, func(ws *fakeSocket, id uint64, _ string) { ws.reply(id, rows(7)) })
	if _, _, err := Connect(testContext(t), cfg); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority is trusted: %v", err)
	}
	cfg.tls = &tls.Config{RootCAs: authorities}
	c := connect(t, cfg)
	for range 3 {
		big := map[string]any{"x": strings.Repeat("x", 300_000)}
		if n, err := First[int](testContext(t), c, "RETURN 7", big); n != 7 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
}

func TestErrorWithoutIDEndsTheOnlyCall(t *testing.T) {
	t.Parallel()
	cfg := fake(t, func(ws *fakeSocket, id uint64, method string) {
		raw, _ := Marshal(map[string]any{"error": map[string]any{"code": -32700, "message": "Parse error"}})
		ws.send(websocket.BinaryMessage, raw)
	})
	cfg.PingInterval = patience
	c := connect(t, cfg)
	_, err := c.Query(testContext(t), "RETURN 1", nil)
	var e *QueryError
	if !errors.As(err, &e) || e.Code != -32700 || e.Message != "Parse error" {
		t.Errorf("got %v", err)
	}
}

func TestCloseFramesAreNoticed(t *testing.T) {
	t.Parallel()
	for _, code := range []int{websocket.CloseNormalClosure, websocket.CloseTryAgainLater} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			c := connect(t, fake(t, func(ws *fakeSocket, _ uint64, _ string) {
				ws.send(websocket.CloseMessage, websocket.FormatCloseMessage(code, "bye"))
			}))
			err := Exec(testContext(t), c, "RETURN 1", nil)
			if !errors.Is(err, ErrDisconnected) || !strings.Contains(err.Error(), fmt.Sprint(code)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A server that keeps the socket alive but answers nothing is as good as gone.
func TestServerThatOnlyPings(t *testing.T) {
	t.Parallel()
	pinged := make(chan struct{})
	var once sync.Once
	cfg := fake(t, func(ws *fakeSocket, _ uint64, method string) {
		if method == "ping" {
			once.Do(func() { close(pinged) })
		}
		ws.send(websocket.PingMessage, []byte("x"))
	})
	cfg.CallTimeout, cfg.PingInterval = 400*time.Millisecond, 50*time.Millisecond
	seen := watch(&cfg)
	connect(t, cfg)
	select {
	case <-pinged:
	case <-testContext(t).Done():
		t.Fatal("no ping came")
	}
	state := seen.until(t, func(s State) bool { return !s.Connected })
	if state.Err == nil || !strings.Contains(state.Err.Error(), "no byte came") && !strings.Contains(state.Err.Error(), "no answer came") {
		t.Errorf("got %v", state.Err)
	}
}

// A server that is busy with checking a password for longer than it takes to dial, and says that it is there.
func TestSigningInMayTakeItsTime(t *testing.T) {
	t.Parallel()
	cfg := (&fakeServer{signIns: true, answer: signsInLate()}).on(t, httptest.NewServer)
	cfg.DialTimeout, cfg.PingInterval = time.Second, 2*time.Second
	connect(t, cfg)
}

// signsInLate answers a sign-in when it has been asked for a sign of life.
func signsInLate() func(ws *fakeSocket, id uint64, method string) {
	var signIn atomic.Uint64
	return func(ws *fakeSocket, id uint64, method string) {
		if method == "signin" {
			signIn.Store(id)
			return
		}
		ws.reply(id, None)
		if method == "ping" {
			ws.reply(signIn.Load(), "token")
		}
	}
}

func TestServersPingsAreAnswered(t *testing.T) {
	t.Parallel()
	pongs := make(chan string, 1)
	c := connect(t, fake(t, func(ws *fakeSocket, id uint64, _ string) {
		ws.SetPongHandler(func(payload string) error {
			select {
			case pongs <- payload:
			default:
			}
			return nil
		})
		ws.send(websocket.PingMessage, []byte("are you there"))
		ws.reply(id, rows(1))
	}))
	exec(t, c, "RETURN 1", nil)
	select {
	case payload := <-pongs:
		if payload != "are you there" {
			t.Errorf("got %q", payload)
		}
	case <-testContext(t).Done():
		t.Error("no pong came")
	}
}

// Report 15: the server tells of a change before it tells the live query's id.
func TestEventBeforeTheRegistrationIsAnswered(t *testing.T) {
	t.Parallel()
	var mine, other UUID
	mine.UUID[15], other.UUID[15] = 1, 2
	c := connect(t, fake(t, func(ws *fakeSocket, id uint64, _ string) {
		ws.notify(mine, "CREATE", RecordID{Table: "job", ID: "early"})
		ws.notify(other, "CREATE", RecordID{Table: "job", ID: "foreign"})
		ws.reply(id, rows(mine))
		ws.notify(mine, "CREATE", RecordID{Table: "job", ID: "late"})
	}))
	live := openLive(t, c, LiveConfig{Statement: "LIVE SELECT * FROM job"})
	events := collect(t, live, func(events []Event) bool { return len(events) == 2 })
	if FormatID(events[0].Record) != "job:early" || FormatID(events[1].Record) != "job:late" {
		t.Errorf("got %v", events)
	}
	if feeds := &c.alive().feeds; feeds.early != nil || feeds.registering != 0 {
		t.Error("early events are still kept")
	}
}

func TestKilledByTheServer(t *testing.T) {
	t.Parallel()
	var id UUID
	id.UUID[15] = 1
	c := connect(t, fake(t, func(ws *fakeSocket, request uint64, method string) {
		ws.reply(request, rows(id))
		if method == "query" {
			ws.notify(id, "CREATE", RecordID{Table: "job", ID: "last"})
			ws.killed(id)
		}
	}))
	live := openLive(t, c, LiveConfig{Statement: "LIVE SELECT * FROM job"})
	expectKilled(t, live)
	if events, _ := live.Take(); len(events) != 1 {
		t.Errorf("the last event is gone: %v", events)
	}
}

// Killed before the registration was answered.
func TestKilledBeforeTheRegistrationIsAnswered(t *testing.T) {
	t.Parallel()
	var id UUID
	id.UUID[15] = 1
	c := connect(t, fake(t, func(ws *fakeSocket, request uint64, _ string) {
		ws.killed(id)
		ws.reply(request, rows(id))
	}))
	live := openLive(t, c, LiveConfig{Statement: "LIVE SELECT * FROM job"})
	if !errors.Is(live.Err(), ErrKilled) {
		t.Errorf("got %v", live.Err())
	}
}

// A call that was given up before it was written is never sent.
func TestGivenUpBeforeItWasSent(t *testing.T) {
	t.Parallel()
	cfg, err := Config{Endpoint: "ws://x", Username: "u"}.normalised()
	if err != nil {
		t.Fatal(err)
	}
	tr := newTransport(cfg, new(pools)) // not dialled: nobody writes
	ctx, cancel := context.WithCancel(testContext(t))
	failed := make(chan error, 1)
	go func() {
		_, err := tr.query(ctx, "RETURN 1", nil)
		failed <- err
	}()
	queued := <-tr.queue
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if state := queued.state.Load(); state != frameCancelled {
		t.Errorf("its frame is in state %d", state)
	}
}

func TestUnsentCallsAreSentOnTheNextConnection(t *testing.T) {
	t.Parallel()
	cfg, err := Config{Endpoint: "ws://x", Username: "u"}.normalised()
	if err != nil {
		t.Fatal(err)
	}
	tr := newTransport(cfg, new(pools))
	failed := make(chan error, 1)
	go func() {
		_, err := tr.query(testContext(t), "RETURN 1", nil)
		failed <- err
	}()
	<-tr.queue
	tr.calls.fail(lost(errors.New("gone")))
	if err := <-failed; !errors.Is(err, errUnsent) {
		t.Errorf("queued: %v", err)
	}
	if _, err := tr.query(testContext(t), "RETURN 1", nil); !errors.Is(err, errUnsent) {
		t.Errorf("afterwards: %v", err)
	}
}
