package dev

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp"
)

// slowAfter is when to say what everybody waits for.
const slowAfter = 10 * time.Second

// welcome shows where everything is, and, once all of it works, how to send the
// first job.
func (s *session) welcome(ctx context.Context, node *ssp.Node) {
	s.showAddresses(node != nil, s.adminAddress(ctx))
	if node == nil {
		s.say("no backend takes jobs yet: `spky add api` adds one")
		return
	}
	waiting := func(what string) func() {
		timer := time.AfterFunc(slowAfter, func() { s.say("still waiting for %s", what) })
		return func() { timer.Stop() }
	}
	stop := waiting("the runner to be ready")
	select {
	case <-node.Ready():
		stop()
	case <-ctx.Done():
		stop()
		return
	}
	for _, b := range s.cfg.Runnable() {
		if b.Dev == nil || !isLocal(b.BaseURL) {
			continue
		}
		stop := waiting(fmt.Sprintf("%s to listen at %s", b.Name, b.BaseURL))
		up := awaitListener(ctx, net.JoinHostPort(b.BaseURL.Hostname(), s.basePort(b)))
		stop()
		if !up {
			return
		}
	}
	s.showFirstJob(s.cfg.Runnable()[0])
}

func (s *session) basePort(b config.Backend) string {
	if port := b.BaseURL.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[b.BaseURL.Scheme]
}

// awaitListener waits until something accepts connections; false where ctx ended
// first.
func awaitListener(ctx context.Context, address string) bool {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
			return true
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false
		}
	}
}

func (s *session) showAddresses(runner bool, admin string) {
	var b strings.Builder
	line := func(name, where, note string) {
		fmt.Fprintf(&b, "  %-10s %s  %s\n", name, where, s.o.Style.Dim(note))
	}
	b.WriteString("\n")
	db := s.cfg.SurrealDB
	line("database", withScheme(db.Endpoint, "ws", "wss"), fmt.Sprintf("%s; %s/%s, user %s", s.db.kind, db.Namespace, db.Database, db.Username))
	if runner {
		line("runner", "http://"+s.cfg.Listen, "/health /ready /metrics")
	}
	if admin != "" {
		line("admin API", "http://"+admin, "token "+s.token)
		line("dashboard", "http://"+admin+"/admin/", "sign in with that token")
	}
	for _, backend := range s.cfg.Backends {
		if backend.BaseURL != nil {
			line(backend.Name, backend.BaseURL.String(), "jobs of table "+backend.Table)
		}
	}
	b.WriteString("\n")
	fmt.Fprint(s.sink, b.String())
}

func (s *session) showFirstJob(b config.Backend) {
	path, payload := example(b.Spec)
	table := ""
	if len(s.cfg.Runnable()) > 1 {
		table = " --table " + b.Table
	}
	fmt.Fprintf(s.sink, `
%s Send a job from a second terminal:

  %s jobs create%s --path %s --payload %s --wait

%s

`, s.o.Style.Green("Ready."), s.o.Command(s.cfg.SurrealDB.Endpoint), table, quoteIfNeeded(path), quote(payload), s.o.Style.Dim("Ctrl-C stops everything."))
}
