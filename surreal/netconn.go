package surreal

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// writeBatch is how much is gathered before it goes out although more is waiting.
	writeBatch = 64 << 10
	// writeChunk is how much is handed to the kernel at once, so that progress on a slow link shows.
	writeChunk = 32 << 10
	// kernelBuffer is how much the kernel may hold of what was written. It is small so that a write that moves on
	// means that the peer takes bytes.
	kernelBuffer = 256 << 10
	// slowestLink is the speed, in bytes a second, at which a large request is assumed to be still on its way.
	slowestLink = 16 << 10
)

// netConn is the TCP connection below the WebSocket. It gathers frames until flush, notes when a byte last arrived,
// and gives up writing only when nothing at all moves for the stall time, however slow the link.
type netConn struct {
	net.Conn
	stall    time.Duration
	started  time.Time
	lastRead atomic.Int64 // nanoseconds after started
	excused  atomic.Int64 // until then nothing need arrive: a large request is on its way

	mu        sync.Mutex
	gathering bool
	pending   []byte
	fault     error
}

func newNetConn(conn net.Conn, stall time.Duration) *netConn {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(kernelBuffer)
	}
	return &netConn{Conn: conn, stall: stall, started: time.Now()}
}

// silence is for how long a byte could have arrived and none did. The server can't answer a large request before it
// has all of it, which takes time on a slow link; a small one makes no difference.
func (c *netConn) silence() time.Duration {
	since := max(c.lastRead.Load(), c.excused.Load())
	return max(0, time.Since(c.started)-time.Duration(since))
}

// excuse notes that so many bytes more are on their way.
func (c *netConn) excuse(bytes int) {
	now := int64(time.Since(c.started))
	until := max(now, c.excused.Load()) + int64(bytes)*int64(time.Second)/slowestLink
	c.excused.Store(min(until, now+kernelBuffer*int64(time.Second)/slowestLink))
}

func (c *netConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.lastRead.Store(int64(time.Since(c.started)))
	}
	return n, err
}

// gather makes Write collect instead of send: the handshake is over.
func (c *netConn) gather() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gathering = true
	_ = c.Conn.SetDeadline(time.Time{})
}

func (c *netConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gathering {
		return c.Conn.Write(p)
	}
	if c.fault != nil {
		return 0, c.fault
	}
	c.pending = append(c.pending, p...)
	if len(c.pending) >= writeBatch {
		return len(p), c.send()
	}
	return len(p), nil
}

// SetWriteDeadline is left to send once the handshake is over.
func (c *netConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gathering {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}

func (c *netConn) flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.send()
}

func (c *netConn) send() error {
	bulky := len(c.pending) > writeChunk
	for rest := c.pending; len(rest) > 0 && c.fault == nil; {
		n, err := c.write(rest[:min(len(rest), writeChunk)])
		if bulky {
			c.excuse(n)
		}
		rest = rest[n:]
		c.fault = err
	}
	c.pending = c.pending[:0]
	if cap(c.pending) > 4*writeBatch {
		c.pending = nil
	}
	return c.fault
}

// write sends a chunk, or a part of it when the stall time ended while bytes were moving.
func (c *netConn) write(chunk []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(chunk)
	if n > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return n, err
}
