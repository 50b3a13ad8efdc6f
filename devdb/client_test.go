package devdb_test

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/gorilla/websocket"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

// patience bounds what must happen; nothing that does happen waits for it.
const patience = 2 * time.Minute

// client is a raw client: what it sends is exactly what the test says.
type client struct {
	tb testing.TB
	ws *websocket.Conn

	write  sync.Mutex
	nextID int

	mu      sync.Mutex
	waiting map[string]chan reply
	end     error // why the connection ended

	notes chan notification
	ended chan struct{}
}

type reply struct {
	ID     cbor.RawMessage `cbor:"id"`
	Result cbor.RawMessage `cbor:"result"`
	Error  *rpcError       `cbor:"error"`
}

type rpcError struct {
	Code    int    `cbor:"code"`
	Kind    string `cbor:"kind"`
	Message string `cbor:"message"`
}

func (e *rpcError) Error() string { return e.Kind + ": " + e.Message }

type notification struct {
	ID      uuid            `cbor:"id"`
	Action  string          `cbor:"action"`
	Record  cbor.RawMessage `cbor:"record"`
	Result  cbor.RawMessage `cbor:"result"`
	Session cbor.RawMessage `cbor:"session"`
}

// uuid is SurrealDB's: tag 37 over 16 bytes.
type uuid [16]byte

func (u uuid) MarshalCBOR() ([]byte, error) {
	return cbor.Marshal(cbor.Tag{Number: 37, Content: u[:]})
}

func (u *uuid) UnmarshalCBOR(b []byte) error {
	var tag cbor.Tag
	if err := cbor.Unmarshal(b, &tag); err != nil {
		return err
	}
	raw, ok := tag.Content.([]byte)
	if !ok || tag.Number != 37 || len(raw) != 16 {
		return fmt.Errorf("%x is not a uuid", b)
	}
	copy(u[:], raw)
	return nil
}

// request is a message of the protocol. Fields that are nil are left out.
type request struct {
	ID      any    `cbor:"id,omitempty"`
	Method  string `cbor:"method"`
	Params  []any  `cbor:"params,omitempty"`
	Session any    `cbor:"session,omitempty"`
	Txn     any    `cbor:"txn,omitempty"`
}

// dial opens a connection that ends with the test.
func dial(tb testing.TB, endpoint string) *client {
	tb.Helper()
	c := &client{
		tb: tb, ws: dialSocket(tb, endpoint), waiting: map[string]chan reply{}, notes: make(chan notification, 1024),
		ended: make(chan struct{}),
	}
	go c.read()
	tb.Cleanup(func() {
		c.ws.Close()
		<-c.ended
	})
	return c
}

// dialSocket opens a WebSocket of which the test reads and writes every frame.
func dialSocket(tb testing.TB, endpoint string) *websocket.Conn {
	tb.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{"cbor"}, HandshakeTimeout: patience}
	ws, res, err := dialer.Dial(endpoint+"/rpc", nil)
	if err != nil {
		tb.Fatalf("connect to %s: %v", endpoint, err)
	}
	res.Body.Close()
	tb.Cleanup(func() { ws.Close() })
	return ws
}

// signedIn opens a connection as root that uses the target's database.
func signedIn(tb testing.TB, target devdbtest.Target) *client {
	tb.Helper()
	c := dial(tb, target.Endpoint)
	c.must("signin", map[string]any{"user": target.User, "pass": target.Password})
	c.must("use", target.Namespace, target.Database)
	return c
}

func (c *client) read() {
	defer close(c.ended)
	for {
		_, frame, err := c.ws.ReadMessage()
		if err != nil {
			c.fail(err)
			return
		}
		var r reply
		if err := cbor.Unmarshal(frame, &r); err != nil {
			c.fail(fmt.Errorf("decode %x: %w", frame, err))
			return
		}
		if r.ID == nil {
			c.notify(r.Result)
			continue
		}
		c.mu.Lock()
		ch := c.waiting[string(r.ID)]
		delete(c.waiting, string(r.ID))
		c.mu.Unlock()
		if ch != nil {
			ch <- r
		}
	}
}

func (c *client) notify(result cbor.RawMessage) {
	var n notification
	if err := cbor.Unmarshal(result, &n); err != nil {
		c.tb.Errorf("decode a notification %x: %v", result, err)
		return
	}
	c.notes <- n
}

// fail ends every call in flight.
func (c *client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = err
	for id, ch := range c.waiting {
		close(ch)
		delete(c.waiting, id)
	}
}

var errEnded = errors.New("the connection ended")

// start sends a request and returns where its reply comes.
func (c *client) start(req request) (<-chan reply, error) {
	c.write.Lock()
	defer c.write.Unlock()
	if req.ID == nil {
		c.nextID++
		req.ID = fmt.Sprintf("r%d", c.nextID)
	}
	id, err := cbor.Marshal(req.ID)
	if err != nil {
		return nil, err
	}
	message, err := cbor.Marshal(req)
	if err != nil {
		return nil, err
	}
	ch := make(chan reply, 1)
	c.mu.Lock()
	if c.end != nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("%w: %w", errEnded, c.end)
	}
	c.waiting[string(id)] = ch
	c.mu.Unlock()
	return ch, c.ws.WriteMessage(websocket.BinaryMessage, message)
}

// do sends a request and waits for its reply.
func (c *client) do(req request) (cbor.RawMessage, error) {
	ch, err := c.start(req)
	if err != nil {
		return nil, err
	}
	return c.await(ch)
}

func (c *client) await(ch <-chan reply) (cbor.RawMessage, error) {
	select {
	case r, ok := <-ch:
		switch {
		case !ok:
			return nil, errEnded
		case r.Error != nil:
			return nil, r.Error
		}
		return r.Result, nil
	case <-time.After(patience):
		return nil, errors.New("no reply")
	}
}

func (c *client) call(method string, params ...any) (cbor.RawMessage, error) {
	return c.do(request{Method: method, Params: params})
}

func (c *client) must(method string, params ...any) cbor.RawMessage {
	c.tb.Helper()
	result, err := c.call(method, params...)
	if err != nil {
		c.tb.Fatalf("%s: %v", method, err)
	}
	return result
}

// row is a statement's result.
type row struct {
	Status string          `cbor:"status"`
	Result cbor.RawMessage `cbor:"result"`
}

// query runs statements, all of which have to succeed, and decodes the last one's result into out, if that is not nil.
func (c *client) query(out any, text string, vars ...any) {
	c.tb.Helper()
	rows, err := c.rows(c.do(request{Method: "query", Params: append([]any{text}, vars...)}))
	if err != nil {
		c.tb.Fatalf("query %q: %v", text, err)
	}
	if out == nil {
		return
	}
	if err := cbor.Unmarshal(rows[len(rows)-1].Result, out); err != nil {
		c.tb.Fatalf("query %q: decode into %v: %v", text, reflect.TypeOf(out), err)
	}
}

// rows decodes a query's result; a failed statement is an error.
func (c *client) rows(result cbor.RawMessage, err error) ([]row, error) {
	if err != nil {
		return nil, err
	}
	var rows []row
	if err := cbor.Unmarshal(result, &rows); err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.Status != "OK" {
			var text string
			_ = cbor.Unmarshal(r.Result, &text)
			return rows, errors.New(text)
		}
	}
	return rows, nil
}

// next waits for a notification.
func (c *client) next() notification {
	c.tb.Helper()
	select {
	case n := <-c.notes:
		return n
	case <-time.After(patience):
		c.tb.Fatal("no notification")
		return notification{}
	}
}

// refused requires an error of a kind.
func refused(tb testing.TB, err error, kind string) {
	tb.Helper()
	var rpc *rpcError
	if !errors.As(err, &rpc) {
		tb.Fatalf("got %v, want an RPC error of kind %s", err, kind)
	}
	if rpc.Kind != kind {
		tb.Fatalf("got %v, want kind %s", rpc, kind)
	}
}
