package integration_test

import (
	"io"
	"net"
	"net/url"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	"sp00ky.cloud/spky/surreal"
)

// A relay carries connections between a node and its database and knows which of them carries
// notifications, so that a test can break that one alone. It can also swallow what one side says while
// the other is heard.
type relay struct {
	target   string
	listener net.Listener
	muted    atomic.Bool // nothing that the database sends arrives
	deaf     atomic.Bool // nothing that the node sends arrives
	running  sync.WaitGroup

	mu    sync.Mutex
	lines map[*line]bool
}

// A line is one connection.
type line struct {
	client, server *net.TCPConn
	live           atomic.Bool // has carried a notification
	dead           atomic.Bool // carries nothing any more, but stays
}

// relayed puts a relay between a node and its database.
func relayed(tb testing.TB, cfg surreal.Config) (*relay, surreal.Config) {
	tb.Helper()
	endpoint, err := url.Parse(cfg.Endpoint)
	if err != nil {
		tb.Fatal(err)
	}
	r := &relay{target: endpoint.Host, lines: map[*line]bool{}}
	if r.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		tb.Fatal(err)
	}
	r.running.Go(r.accept)
	tb.Cleanup(func() {
		_ = r.listener.Close() // ends accept
		r.each(func(l *line) { l.close() })
		r.running.Wait()
	})
	cfg.Endpoint = "ws://" + r.listener.Addr().String()
	return r, cfg
}

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &line{client: client.(*net.TCPConn), server: server.(*net.TCPConn)}
		r.mu.Lock()
		r.lines[l] = true
		r.mu.Unlock()
		r.running.Go(func() { r.carry(l) })
	}
}

func (r *relay) carry(l *line) {
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(l.server, readerFunc(func(p []byte) (int, error) { return r.pass(l, l.client, p, false) }))
	})
	both.Go(func() {
		_, _ = io.Copy(l.client, readerFunc(func(p []byte) (int, error) { return r.pass(l, l.server, p, true) }))
	})
	both.Wait()
	r.mu.Lock()
	delete(r.lines, l)
	r.mu.Unlock()
}

// notification is what only a live query's event has: the key action and its value, in CBOR.
var notification = regexp.MustCompile(`factionf(CREATE|UPDATE|DELETE)`)

// pass reads from one end what may reach the other. Its end takes the whole line down.
func (r *relay) pass(l *line, from io.Reader, p []byte, answer bool) (int, error) {
	for {
		n, err := from.Read(p)
		if err != nil {
			l.close()
			return 0, io.EOF
		}
		if answer && notification.Match(p[:n]) {
			l.live.Store(true)
		}
		if l.dead.Load() || answer && r.muted.Load() || !answer && r.deaf.Load() {
			continue
		}
		return n, nil
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func (l *line) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

func (r *relay) each(do func(l *line)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.lines {
		do(l)
	}
}

// strikeLive does something to the one connection that carries notifications.
func (r *relay) strikeLive(tb testing.TB, do func(l *line)) {
	tb.Helper()
	eventually(tb, "one connection carries notifications", func() (bool, any) {
		var live []*line
		r.each(func(l *line) {
			if l.live.Load() && !l.dead.Load() {
				live = append(live, l)
			}
		})
		if len(live) == 1 {
			do(live[0])
		}
		return len(live) == 1, len(live)
	})
}

// reset breaks the line with a TCP reset.
func (l *line) reset() {
	_ = l.client.SetLinger(0)
	l.close()
}

// fade makes the line swallow everything from now on.
func (l *line) fade() { l.dead.Store(true) }
