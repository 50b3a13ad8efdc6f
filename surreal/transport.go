package surreal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/gorilla/websocket"
)

const (
	// queueSize is how many requests wait for the socket before callers wait for the queue.
	queueSize = 1024
	// copyLimit is the answer size above which the read buffer is given away instead of copied.
	copyLimit = 128 << 10
	// closeGrace is how long a close waits for what is queued and for its own close frame to go out.
	closeGrace = time.Second
)

// transport is one WebSocket from dial to drop. It is never dialled twice.
//
// Three goroutines live as long as it does: the reader hands answers to their callers and events to their feeds and
// waits for neither; the writer sends what is queued, as much as there is at once; the pulse asks an idle server for a
// sign of life. Whichever notices the end calls fail, which ends the others, all calls and all feeds.
type transport struct {
	cfg   Config
	log   *slog.Logger
	pools *pools

	ws    *websocket.Conn
	conn  *netConn
	queue chan *call
	pongs chan []byte

	calls callTable
	feeds feedTable
	ids   atomic.Uint64

	running   sync.WaitGroup
	failOnce  sync.Once
	dead      atomic.Bool   // set by fail: new calls need not try
	gone      chan struct{} // closed by fail, after fault is set
	fault     error
	closeOnce sync.Once
	closing   chan struct{} // closed by close: the writer says goodbye and leaves
	written   chan struct{} // closed when the writer has left
}

// newTransport takes a normalised Config.
func newTransport(cfg Config, shared *pools) *transport {
	return &transport{
		cfg:     cfg,
		log:     cfg.Logger,
		pools:   shared,
		queue:   make(chan *call, queueSize),
		pongs:   make(chan []byte, 1),
		calls:   callTable{waiting: make(map[uint64]*call)},
		feeds:   feedTable{lives: make(map[[16]byte]*Live)},
		gone:    make(chan struct{}),
		closing: make(chan struct{}),
		written: make(chan struct{}),
	}
}

// dial opens the WebSocket and starts the goroutines. Nobody is signed in yet.
func (t *transport) dial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.DialTimeout)
	defer cancel()
	dialer := websocket.Dialer{
		Proxy: http.ProxyFromEnvironment,
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			t.conn = newNetConn(conn, t.cfg.PingInterval+t.cfg.PingTimeout)
			return t.conn, nil
		},
		TLSClientConfig:  t.cfg.tls,
		HandshakeTimeout: t.cfg.DialTimeout,
		ReadBufferSize:   32 << 10,
		WriteBufferSize:  16 << 10,
		Subprotocols:     []string{"cbor"},
	}
	ws, res, err := dialer.DialContext(ctx, t.cfg.Endpoint, nil) //nolint:bodyclose // there is none, as gorilla documents
	if err != nil {
		return dialError(t.cfg.Endpoint, res, err)
	}
	t.ws = ws
	t.conn.gather()
	ws.SetPingHandler(t.pong)
	ws.SetCloseHandler(func(int, string) error { return nil })
	t.running.Go(t.read)
	t.running.Go(t.write)
	t.running.Go(t.pulse)
	return nil
}

// pong leaves the answer to a server's ping to the writer. A second ping before that needs no answer of its own.
func (t *transport) pong(payload string) error {
	select {
	case t.pongs <- []byte(payload):
	default:
	}
	return nil
}

// fail ends the transport; the first reason stays, unless we are leaving anyway. Calls in flight end with it at once.
func (t *transport) fail(reason error) {
	t.failOnce.Do(func() {
		select {
		case <-t.closing:
			reason = ErrClosed
		default:
		}
		t.fault = reason
		t.dead.Store(true)
		close(t.gone)
		_ = t.ws.Close()
		t.calls.fail(reason)
		t.feeds.fail(reason)
	})
}

// reason is why the transport ended. It is known once dead is set.
func (t *transport) reason() error {
	<-t.gone
	return t.fault
}

// lost is the reason of a transport that did not end by its own will.
func lost(cause error) error { return fmt.Errorf("%w: %w", ErrDisconnected, cause) }

// close sends what is queued and a close frame, for as long as ctx and closeGrace allow, and waits for the goroutines.
func (t *transport) close(ctx context.Context) {
	if t.ws == nil {
		return
	}
	t.closeOnce.Do(func() { close(t.closing) })
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-t.written:
	case <-t.gone:
	case <-ctx.Done():
	case <-grace.C:
	}
	t.fail(ErrClosed)
	t.running.Wait()
}

// read is the reader. It decodes no more of a frame than whom it is for.
func (t *transport) read() {
	var buf []byte
	for {
		kind, r, err := t.ws.NextReader()
		if err == nil && kind != websocket.BinaryMessage {
			err = errors.New("a text frame came; is this a SurrealDB?")
		}
		whole := true
		if err == nil {
			buf, whole, err = readUpTo(r, buf[:0], t.cfg.MaxMessage)
		}
		if err == nil && !whole {
			if err, buf = t.skip(buf, r), nil; err == nil {
				continue
			}
		}
		if err != nil {
			t.fail(lost(readError(err)))
			return
		}
		kept, err := t.receive(buf)
		if err != nil {
			t.fail(lost(err))
			return
		}
		if kept || cap(buf) > copyLimit {
			buf = nil
		}
	}
}

// readUpTo is io.ReadAll into a buffer that is used again, and says whether that was all: it stops a little after limit.
func readUpTo(r io.Reader, buf []byte, limit int64) (read []byte, whole bool, err error) {
	for int64(len(buf)) <= limit {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, int64(len(buf)) <= limit, nil
		}
		if err != nil {
			return buf, false, err
		}
	}
	return buf, false, nil
}

// skipped is how many times MaxMessage a frame may have that is passed over. One that is larger ends the connection.
const skipped = 16

// skip passes over the rest of a frame that is too large. Where it is an answer that ends its call alone; a notification
// must not be missed.
func (t *transport) skip(begin []byte, rest io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(rest, skipped*t.cfg.MaxMessage))
	if err != nil {
		return err
	}
	size := n + int64(len(begin))
	id, ok := answered(begin)
	if !ok || n == skipped*t.cfg.MaxMessage {
		return fmt.Errorf("a message of %d bytes came, or more; at most %d are read", size, t.cfg.MaxMessage)
	}
	if c, ok := t.calls.take(id); ok {
		c.finish(nil, fmt.Errorf("%w: %d bytes, at most %d", ErrAnswerTooLarge, size, t.cfg.MaxMessage))
	}
	return nil
}

// receive handles one frame. kept means that the frame's memory now belongs to a caller.
func (t *transport) receive(frame []byte) (kept bool, err error) {
	env, err := parseEnvelope(frame)
	if err != nil {
		return false, fmt.Errorf("an undecodable frame came: %w", err)
	}
	switch {
	case env.hasID:
		return t.deliver(env, len(frame) > copyLimit), nil
	case env.fault != nil:
		t.orphanFault(env.fault)
	case env.result != nil:
		if note, err := parseNotification(env.result); err == nil {
			t.feeds.publish(note)
		}
	}
	return false, nil
}

// deliver hands an answer to its caller. Nobody waits for the late answer to a call that was given up.
func (t *transport) deliver(env envelope, keep bool) bool {
	c, ok := t.calls.take(env.id)
	switch {
	case !ok:
		return false
	case env.fault != nil:
		c.finish(nil, requestError(env.fault))
		return false
	case keep:
		c.finish(env.result, nil)
		return true
	}
	c.finish(append(make(cbor.RawMessage, 0, len(env.result)), env.result...), nil)
	return false
}

// orphanFault is an error without an id: the server could not read some request. With one call waiting it is clear
// which; with more, that call ends by its timeout.
func (t *transport) orphanFault(fault []byte) {
	err := requestError(fault)
	t.log.Warn("the server could not read a request", "error", err)
	if c, ok := t.calls.only(); ok {
		c.finish(nil, err)
	}
}

// write is the writer. Frames are flushed when nothing more is waiting.
func (t *transport) write() {
	defer close(t.written)
	for {
		var err error
		select {
		case <-t.gone:
			return
		case <-t.closing:
			t.sayGoodbye()
			return
		case payload := <-t.pongs:
			err = t.ws.WriteMessage(websocket.PongMessage, payload)
		case c := <-t.queue:
			err = t.writeCalls(c)
		}
		if err == nil {
			err = t.conn.flush()
		}
		if err != nil {
			t.fail(lost(fmt.Errorf("write: %w", err)))
			return
		}
	}
}

// writeCalls writes c and whatever else is queued by now.
func (t *transport) writeCalls(c *call) error {
	for {
		frame := c.frame // once it counts as written, an answer may send c to its next use
		if c.state.CompareAndSwap(frameQueued, frameWritten) {
			err := t.ws.WriteMessage(websocket.BinaryMessage, frame.out)
			t.pools.release(frame)
			if err != nil {
				return err
			}
		}
		select {
		case c = <-t.queue:
		default:
			return nil
		}
	}
}

func (t *transport) sayGoodbye() {
	select {
	case c := <-t.queue:
		if t.writeCalls(c) != nil {
			return
		}
	default:
	}
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	if t.ws.WriteMessage(websocket.CloseMessage, bye) == nil {
		_ = t.conn.flush()
	}
}

// pulse drops a connection on which nothing arrives although the server was asked, or whose server sends bytes but
// answers nothing for as long as any call may take.
func (t *transport) pulse() {
	limit := t.cfg.PingInterval + t.cfg.PingTimeout
	timer := time.NewTimer(t.cfg.PingInterval)
	defer timer.Stop()
	var ping *call
	var asked time.Time
	for {
		select {
		case <-t.gone:
			return
		case <-timer.C:
		}
		if ping != nil && len(ping.done) > 0 {
			<-ping.done
			ping = nil
		}
		silence := t.conn.silence()
		switch {
		case silence >= limit:
			t.fail(lost(fmt.Errorf("no byte came for %s", limit)))
			return
		case ping != nil && time.Since(asked) > max(t.cfg.CallTimeout, limit):
			t.fail(lost(fmt.Errorf("no answer came for %s", time.Since(asked).Round(time.Second))))
			return
		case ping == nil && silence >= t.cfg.PingInterval:
			ping, asked = t.ping(), time.Now()
		}
		timer.Reset(nextBeat(silence, t.cfg.PingInterval, limit))
	}
}

// nextBeat is when to look again: when a ping is due, or when the silence has lasted too long.
func nextBeat(silence, interval, limit time.Duration) time.Duration {
	if silence < interval {
		return interval - silence
	}
	return max(limit-silence, time.Millisecond)
}

// ping asks for a sign of life without waiting for it. A full queue is no reason to add to it.
func (t *transport) ping() *call {
	c := &call{id: t.ids.Add(1), frame: t.pools.encoder(), done: make(chan struct{}, 1)}
	beginRequest(c.frame, c.id, "ping", 0)
	if t.calls.add(c) != nil {
		return nil
	}
	select {
	case t.queue <- c:
		return c
	default:
		t.calls.take(c.id)
		return nil
	}
}
