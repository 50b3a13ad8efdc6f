//go:build unix

package typescript_test

import (
	"io"
	"net/http"
	"sync"
)

// Lives are the processes of a backend of which each follows the one that died, behind one address.
type lives struct {
	rig      *rig
	start    func() *backend
	stepwise bool // gives every run a budget that lets it take one step

	mu     sync.Mutex
	now    *backend
	deaths int
	over   bool // the test ends: nobody follows
}

func (r *rig) newLives(start func() *backend) *lives {
	l := &lives{rig: r, start: start, now: start()}
	r.t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.over = true
	})
	return l
}

func (l *lives) current() *backend {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// bury starts the process that follows a dead one.
func (l *lives) bury(dead *backend) {
	<-dead.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == dead && !l.over {
		l.deaths++
		l.now = l.start()
	}
}

// kill ends the present process with SIGKILL.
func (l *lives) kill() {
	b := l.current()
	b.kill()
	l.bury(b)
}

// ServeHTTP hands a request to the present process, as a proxy does: one that dies over it is a 502.
func (l *lives) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	b := l.current()
	answer, err := l.forward(b, req)
	if err != nil && req.Context().Err() != nil {
		return // whoever asked is gone
	}
	if err != nil {
		l.bury(b)
		l.rig.Pass(req.Header.Get("Spky-Job-Id"))
		http.Error(w, "bad gateway", http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	for key, values := range answer.Header {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body) // whoever asked may be gone
}

func (l *lives) forward(b *backend, req *http.Request) (*http.Response, error) {
	out, err := http.NewRequestWithContext(req.Context(), req.Method, b.base+req.URL.RequestURI(), req.Body)
	if err != nil {
		return nil, err
	}
	out.Header = req.Header.Clone()
	if l.stepwise {
		out.Header.Set("Spky-Timeout-Ms", "1")
	}
	transport := &http.Transport{DisableKeepAlives: true} // a connection of a process that died is no request to the next
	return transport.RoundTrip(out)
}
