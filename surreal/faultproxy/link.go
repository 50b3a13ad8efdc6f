package faultproxy

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is one connection: the client's half and the server's.
type link struct {
	client, server net.Conn
	once           sync.Once
	ended          chan struct{}
	half           atomic.Bool // what the server sends is dropped
}

// end closes both halves; prepare sees them first.
func (l *link) end(prepare func(net.Conn)) {
	l.once.Do(func() {
		close(l.ended)
		for _, conn := range []net.Conn{l.client, l.server} {
			if conn != nil {
				prepare(conn)
				_ = conn.Close()
			}
		}
	})
}

func (l *link) close() { l.end(func(net.Conn) {}) }

func (l *link) reset() {
	l.end(func(conn net.Conn) {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	})
}

func (l *link) halfClose() {
	l.half.Store(true)
	if tcp, ok := l.client.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

// piece is bytes on their way and when they may arrive.
type piece struct {
	data []byte
	due  time.Time
}

// carry moves bytes from one half to the other. A second goroutine delivers, so that a delay holds up no later bytes.
// At most 256 KiB are between the two, so that a slow link is felt by the sender.
func (p *Proxy) carry(l *link, to, from net.Conn) {
	pieces := make(chan piece, 32)
	var delivering sync.WaitGroup
	delivering.Go(func() { p.deliver(l, to, pieces) })
	defer delivering.Wait()
	defer close(pieces)
	buf := make([]byte, 8<<10)
	for {
		n, err := from.Read(buf)
		f, _ := p.now()
		if n > 0 && !f.blackhole {
			select {
			case pieces <- piece{append([]byte(nil), buf[:n]...), time.Now().Add(f.delay)}:
			case <-l.ended:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// deliver writes pieces when they are due and as fast as they may go, and hands on the end of the stream.
func (p *Proxy) deliver(l *link, to net.Conn, pieces <-chan piece) {
	for next := range pieces {
		if !p.pause(l, time.Until(next.due)) {
			continue
		}
		p.dribble(l, to, next.data)
	}
	if f, _ := p.now(); f.blackhole {
		return
	}
	if tcp, ok := to.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

func (p *Proxy) dribble(l *link, to net.Conn, data []byte) {
	for len(data) > 0 {
		f, _ := p.now()
		n := len(data)
		if f.rate > 0 {
			n = min(n, max(1, f.rate/50))
			if !p.pause(l, time.Duration(n)*time.Second/time.Duration(f.rate)) {
				return
			}
		}
		if f.blackhole {
			return
		}
		if _, err := to.Write(data[:n]); err != nil {
			if !l.half.Load() {
				l.close()
			}
			return
		}
		data = data[n:]
	}
}

// pause waits for d, less when the faults change meanwhile; it reports whether the link is still there.
func (p *Proxy) pause(l *link, d time.Duration) bool {
	_, changed := p.now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-l.ended:
		return false
	}
	return true
}
