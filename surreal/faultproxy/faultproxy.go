// Package faultproxy is a TCP proxy that breaks connections the ways networks do, for tests.
//
// A [Proxy] stands between a client and its server and is transparent until told otherwise:
//
//	Reset      every connection gets a TCP reset
//	Fin        every connection is closed in order, as by a server that exits
//	HalfClose  the client sees the end, its own bytes still go through
//	Blackhole  bytes vanish, connections stay; new ones are accepted and get no answer
//	Delay      bytes arrive later
//	Dribble    bytes arrive slowly
//	Cut        everything is reset, new connections too
//	Restore    transparent again; what vanished stays lost
//
// All methods may be called from any goroutine.
package faultproxy

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy is a running proxy. Make it with [Listen] and end it with [Proxy.Close].
type Proxy struct {
	target   string
	listener net.Listener
	accepted atomic.Int64
	running  sync.WaitGroup

	mu      sync.Mutex
	links   map[*link]struct{}
	faults  faults
	changed chan struct{} // closed and replaced when faults change
	closed  bool
}

// faults is what the proxy does to bytes.
type faults struct {
	blackhole bool
	cut       bool
	delay     time.Duration
	rate      int // bytes a second in each direction, 0 for no limit
}

// Listen starts a proxy on a free port of 127.0.0.1. The target is host:port or any URL with a host and a port.
func Listen(target string) (*Proxy, error) {
	if strings.Contains(target, "://") {
		u, err := url.Parse(target)
		if err != nil {
			return nil, fmt.Errorf("fault proxy: %w", err)
		}
		target = u.Host
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	p := &Proxy{target: target, listener: listener, links: make(map[*link]struct{}), changed: make(chan struct{})}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is the proxy's own host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Accepted counts the connections clients have made, those that were cut included.
func (p *Proxy) Accepted() int { return int(p.accepted.Load()) }

// Active counts the connections that are open now.
func (p *Proxy) Active() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Reset resets every open connection, towards both ends.
func (p *Proxy) Reset() { p.each((*link).reset) }

// Fin closes every open connection in order, towards both ends.
func (p *Proxy) Fin() { p.each((*link).close) }

// HalfClose lets every client see the end of what the server sends; what the clients send still arrives.
func (p *Proxy) HalfClose() { p.each((*link).halfClose) }

// Blackhole makes all bytes vanish, or stops doing so.
func (p *Proxy) Blackhole(on bool) { p.change(func(f *faults) { f.blackhole = on }) }

// Delay holds bytes back for d, in each direction.
func (p *Proxy) Delay(d time.Duration) { p.change(func(f *faults) { f.delay = d }) }

// Dribble lets at most so many bytes a second pass in each direction; 0 means no limit.
func (p *Proxy) Dribble(bytesPerSecond int) { p.change(func(f *faults) { f.rate = bytesPerSecond }) }

// Cut resets every connection, and every new one at once, until Restore.
func (p *Proxy) Cut() {
	p.change(func(f *faults) { f.cut = true })
	p.Reset()
}

// Restore makes the proxy transparent again.
func (p *Proxy) Restore() { p.change(func(f *faults) { *f = faults{} }) }

// Close ends the proxy and its connections, and waits for everything it started.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.each((*link).close)
	p.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *Proxy) change(set func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set(&p.faults)
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) now() (faults, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults, p.changed
}

func (p *Proxy) each(do func(*link)) {
	p.mu.Lock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		do(l)
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.accepted.Add(1)
		p.running.Go(func() { p.serve(client) })
	}
}

// serve carries one connection until both directions have ended.
func (p *Proxy) serve(client net.Conn) {
	l := &link{client: client, ended: make(chan struct{})}
	if f, _ := p.now(); f.cut {
		l.reset()
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		l.reset()
		return
	}
	l.server = server
	if !p.add(l) {
		l.reset()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.carry(l, server, client) })
	both.Go(func() { p.carry(l, client, server) })
	both.Wait()
	l.close()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// add makes the link known, unless it was cut while the target was dialled.
func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.faults.cut {
		return false
	}
	p.links[l] = struct{}{}
	return true
}
