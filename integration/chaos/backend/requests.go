package backend

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
)

// A trouble is what a process does to its answers for a while.
type trouble struct {
	mu     sync.Mutex
	kind   plan.Kind
	amount int
	until  time.Time
}

// Trouble is the driver's request for one.
type Trouble struct {
	Kind   plan.Kind `json:"kind"`
	Amount int       `json:"amount"`
	ForMS  int64     `json:"for_ms"`
}

func (p *process) beTroubled(w http.ResponseWriter, r *http.Request) {
	var t Trouble
	if !decode(w, r, &t) {
		return
	}
	p.trouble.mu.Lock()
	defer p.trouble.mu.Unlock()
	p.trouble.kind, p.trouble.amount = t.Kind, t.Amount
	p.trouble.until = time.Now().Add(time.Duration(t.ForMS) * time.Millisecond)
	reply(w, http.StatusOK, t)
}

func (t *trouble) now() (plan.Kind, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Now().After(t.until) {
		return "", 0
	}
	return t.kind, t.amount
}

// nonceKey is under what a request's nonce stands in its context.
type nonceKey struct{}

func nonceOf(ctx context.Context) string {
	nonce, _ := ctx.Value(nonceKey{}).(string)
	return nonce
}

// noted journals every request of a node, and does to its answer what the present trouble wants.
func (p *process) noted(work http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nonce := p.nonce()
		job := jobOf(r)
		attempt, _ := strconv.Atoi(r.Header.Get("Spky-Attempt")) // 0 fits no claim, so the checker says so
		node := r.PathValue("node")
		p.journal.Write(journal.Entry{What: journal.Request, Job: job, Node: node, Attempt: attempt, Nonce: nonce})
		r = r.WithContext(context.WithValue(r.Context(), nonceKey{}, nonce))
		status := p.troubled(w, r, http.StripPrefix("/"+node, work))
		p.journal.Write(journal.Entry{What: journal.Answer, Job: job, Node: node, Attempt: attempt, Nonce: nonce, Status: status})
	})
}

// jobOf is the id of the job that a request is for.
func jobOf(r *http.Request) string {
	job, err := url.PathUnescape(r.Header.Get("Spky-Job-Id"))
	if err != nil {
		return r.Header.Get("Spky-Job-Id")
	}
	return job
}

// torn is the status that the journal has for an answer that broke off.
const torn = 1

func (p *process) troubled(w http.ResponseWriter, r *http.Request, work http.Handler) int {
	nonce := nonceOf(r.Context())
	kind, amount := p.trouble.now()
	switch kind {
	case plan.Full:
		return full(w, nonce)
	case plan.Broken:
		return page(w, http.StatusInternalServerError, nonce)
	case plan.Slow:
		p.pause(r.Context(), time.Duration(int(p.asked.Load())*7919%amount)*time.Millisecond)
	}
	answer := httptest.NewRecorder()
	work.ServeHTTP(answer, r)
	switch {
	case kind == plan.Truncated || answer.Header().Get("X-Chaos-Torn") != "":
		return tear(w, answer)
	case kind == plan.Garbage && answer.Code < 300:
		return page(w, http.StatusOK, nonce)
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // the node may be gone
	return answer.Code
}

// full answers like a backend that is full: one half with 429, some of it without saying for how long.
func full(w http.ResponseWriter, nonce string) int {
	status := http.StatusServiceUnavailable
	if nonce[len(nonce)-1]%2 == 0 {
		status = http.StatusTooManyRequests
	}
	if nonce[len(nonce)-1]%3 != 0 {
		w.Header().Set("Retry-After", "1")
	}
	reply(w, status, map[string]string{"nonce": nonce, "error": "full"})
	return status
}

// page answers like a proxy in front of the backend.
func page(w http.ResponseWriter, status int, nonce string) int {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<html><body>nonce=%s;</body>", nonce)
	return status
}

// tear sends the beginning of an answer that says it is longer, and breaks the connection off.
func tear(w http.ResponseWriter, answer *httptest.ResponseRecorder) int {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic("chaos: a connection that can't be broken")
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return torn // it is broken already
	}
	defer func() { _ = conn.Close() }()
	body := answer.Body.String()
	var head strings.Builder
	fmt.Fprintf(&head, "HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", answer.Code, len(body)+10, body[:len(body)/2])
	_, _ = conn.Write([]byte(head.String()))
	return torn
}

// pause waits, or until the request is given up; false then.
func (p *process) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
