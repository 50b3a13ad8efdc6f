package ssp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// probeTimeout bounds one health check.
const probeTimeout = 3 * time.Second

// A prober asks backends for their health: one whose circuit is open until it answers, and one that
// gives reason to doubt it, once. Backends without a health check are tried with a job instead.
type prober struct {
	node *Node
	wake chan struct{} // capacity 1

	mu       sync.Mutex
	suspects map[*lane]time.Time // when they were last asked
	asked    map[*lane]bool
}

func newProber(n *Node) *prober {
	return &prober{node: n, wake: make(chan struct{}, 1), suspects: map[*lane]time.Time{}, asked: map[*lane]bool{}}
}

// suspect asks for a look at the lane's backend.
func (p *prober) suspect(l *lane) {
	p.mu.Lock()
	p.asked[l] = true
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run probes until ctx ends.
func (p *prober) run(ctx context.Context) {
	for {
		var probes errgroup.Group
		for _, l := range p.due() {
			probes.Go(func() error { p.probe(ctx, l); return nil })
		}
		_ = probes.Wait() // probes only end
		timer := time.NewTimer(probeEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-p.wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// due lists the lanes to probe now: each at most once every probeEvery.
func (p *prober) due() []*lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lanes []*lane
	for _, l := range p.node.lanes {
		if l.backend.Healthcheck == "" || !(p.asked[l] || l.circuit.open()) || time.Since(p.suspects[l]) < probeEvery {
			continue
		}
		p.suspects[l], p.asked[l] = time.Now(), false
		lanes = append(lanes, l)
	}
	return lanes
}

func (p *prober) probe(ctx context.Context, l *lane) {
	_ = p.ask(ctx, l, time.Now()) // ask tells the circuit
}

// trust is how long an answer that the backend is well also speaks for what happened after it.
const trust = 100 * time.Millisecond

// A checkup is what a backend's last health check said.
type checkup struct {
	mu      sync.Mutex
	started time.Time
	err     error
}

// ask says what is wrong with the lane's backend, nil where it is well, and tells its circuit. Whoever
// asks about something that happened at when shares the answer of a check that was made later, or
// shortly before. Where ctx ends first nothing is known, and nil the answer.
func (p *prober) ask(ctx context.Context, l *lane, when time.Time) error {
	l.checkup.mu.Lock()
	defer l.checkup.mu.Unlock()
	age := when.Sub(l.checkup.started)
	if age < trust || l.checkup.err != nil && age < probeEvery {
		return l.checkup.err
	}
	started := time.Now()
	err := p.check(ctx, l)
	if ctx.Err() != nil {
		return nil
	}
	l.checkup.started, l.checkup.err = started, err
	changed := false
	if err != nil {
		changed = l.circuit.trip(err)
	} else {
		changed = l.circuit.report(nil)
	}
	if changed {
		l.noticeCircuit()
	}
	return err
}

func (p *prober) check(ctx context.Context, l *lane) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	where := below(l.backend.BaseURL, l.backend.Healthcheck)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), nil)
	if err != nil {
		return fmt.Errorf("health check: %w", err)
	}
	req.Header.Set("User-Agent", "spky/"+p.node.cfg.Version)
	resp, err := p.node.http.Do(req)
	if err != nil {
		return fmt.Errorf("health check: %s", plain(err))
	}
	defer func() { _ = resp.Body.Close() }() // nothing is to be done about it
	discard(resp.Body)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("health check: %s answered %d", where.Path, resp.StatusCode)
	}
	return nil
}

// below is the URL of a path below a backend's base.
func below(base *url.URL, path string) *url.URL {
	where := *base
	where.Path = strings.TrimSuffix(base.Path, "/") + "/" + strings.TrimPrefix(path, "/")
	where.RawPath = ""
	return &where
}
