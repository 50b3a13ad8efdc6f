package api

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Limits of failed sign-ins.
const (
	maxFailures   = 10
	failureWindow = 5 * time.Minute
	// maxAddresses bounds the addresses that are remembered; the oldest is forgotten first.
	maxAddresses = 10_000
)

// attempts counts the failed sign-ins of addresses.
type attempts struct {
	mu   sync.Mutex
	now  func() time.Time
	of   map[netip.Prefix]*failures
	most int
}

type failures struct {
	since time.Time
	count int
}

func newAttempts() *attempts {
	return &attempts{now: time.Now, of: map[netip.Prefix]*failures{}, most: maxAddresses}
}

// shut says for how long an address is shut out, 0 for not at all.
func (a *attempts) shut(address netip.Prefix) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.of[address]
	if f == nil || f.count < maxFailures {
		return 0
	}
	return max(f.since.Add(failureWindow).Sub(a.now()), 0)
}

// failed notes a failure, and says whether it is the one that shuts the address out.
func (a *attempts) failed(address netip.Prefix) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	f := a.of[address]
	if f == nil || now.Sub(f.since) >= failureWindow {
		if f == nil {
			a.makeRoom(now)
		}
		f = &failures{since: now}
		a.of[address] = f
	}
	f.count++
	return f.count == maxFailures
}

// makeRoom forgets what has lapsed, and, where that is not enough, the oldest.
func (a *attempts) makeRoom(now time.Time) {
	if len(a.of) < a.most {
		return
	}
	var oldest netip.Prefix
	var since time.Time
	for address, f := range a.of {
		if now.Sub(f.since) >= failureWindow {
			delete(a.of, address)
			continue
		}
		if since.IsZero() || f.since.Before(since) {
			oldest, since = address, f.since
		}
	}
	if len(a.of) >= a.most {
		delete(a.of, oldest)
	}
}

// addressOf is where a request comes from: an IPv4 address, or the 64 bits of an IPv6 address that one
// customer has. What headers say of it is not believed.
func addressOf(r *http.Request) netip.Prefix {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{} // all that have none share one
	}
	address = address.Unmap().WithZone("")
	bits := 32
	if address.Is6() {
		bits = 64
	}
	prefix, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
