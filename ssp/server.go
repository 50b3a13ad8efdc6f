package ssp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sp00ky.cloud/spky/surreal"
)

// maxIngest bounds the body of POST /ingest in bytes.
const maxIngest = 4 << 20

// A httpServer is one of the node's own HTTP servers.
type httpServer struct {
	server *http.Server
	done   chan struct{}
}

// listen opens the node's addresses and serves them until stop.
func (n *Node) listen() (stop func(), err error) {
	server, err := n.listenOn(n.cfg.Listen, n.Handler(), "--listen")
	if err != nil {
		return nil, err
	}
	if n.cfg.NoMetrics {
		return server.close, nil
	}
	metrics, err := n.listenOn(n.cfg.MetricsListen, n.metricsHandler(), "metrics.listen in the configuration")
	if err != nil {
		server.close()
		return nil, err
	}
	return func() { metrics.close(); server.close() }, nil
}

// listenOn serves an address until close; without one it does nothing.
func (n *Node) listenOn(address string, handler http.Handler, setting string) (*httpServer, error) {
	s := &httpServer{done: make(chan struct{})}
	if address == "" {
		close(s.done)
		return s, nil
	}
	listener, err := net.Listen("tcp", address) //nolint:noctx // at start, returns at once
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; is another spky running there? choose another address with %s", address, err, setting)
	}
	s.server = &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: time.Minute}
	go func() {
		defer close(s.done)
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			n.log.Error("the HTTP server ended", "error", err)
		}
	}()
	n.log.Info("listening", "address", listener.Addr().String())
	return s, nil
}

func (s *httpServer) close() {
	if s.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := s.server.Shutdown(ctx); err != nil {
			_ = s.server.Close() // whoever is still connected has had two seconds
		}
	}
	<-s.done
}

// Handler serves the node's HTTP routes:
//
//	GET  /health   200 while the node lives and its loops move, else 503; says what state it is in
//	GET  /ready    200 while it can work: database reachable, schema applied, feeds up, not draining
//	GET  /version  the program's version
//	GET  /info     what the node tells of itself, as an array of one
//	GET  /metrics  Prometheus, unless Config says elsewhere or nowhere
//	POST /ingest   a hint that a row changed: {table, op, id}; needs the secret where one is set
func (n *Node) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", n.serveHealth)
	mux.HandleFunc("GET /ready", n.serveReady)
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"version": n.cfg.Version, "mode": "streaming"})
	})
	mux.HandleFunc("GET /info", n.serveInfo)
	if n.cfg.MetricsListen == "" && !n.cfg.NoMetrics {
		mux.Handle("GET /metrics", n.metricsHandler())
	}
	mux.HandleFunc("POST /ingest", n.serveIngest)
	return mux
}

// metricsHandler serves /metrics alone.
func (n *Node) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{}))
	return mux
}

// troubles lists what keeps the node from working now.
func (n *Node) troubles() []string {
	var found []string
	for name, client := range n.clients() {
		if state := client.State(); !state.Connected {
			found = append(found, fmt.Sprintf("database connection %q is down: %v", name, state.Err))
		}
	}
	if !n.prepared.Load() {
		found = append(found, "the schema has not been applied yet")
	}
	for _, l := range n.lanes {
		if !l.feed.hears() {
			found = append(found, "no live feed of table "+l.backend.Table+"; jobs start by the sweep")
		}
		if err := l.refusal.standing(); err != nil {
			found = append(found, "table "+l.backend.Table+" refuses the runner's writes: "+cut(err.Error(), 300))
		}
		if !l.swept.Load() {
			found = append(found, "table "+l.backend.Table+" has not been looked through yet")
		}
	}
	if last := n.lastBeat.Load(); n.prepared.Load() && (last == nil || time.Since(*last) > freshness) {
		found = append(found, "the last heartbeat is too old to claim jobs")
	}
	return found
}

// serveHealth answers whether the process lives. A database that is away does not make it unhealthy:
// restarting the node would not bring it back.
func (n *Node) serveHealth(w http.ResponseWriter, _ *http.Request) {
	if stuck := n.stuck(); stuck != "" {
		answer(w, http.StatusServiceUnavailable, map[string]any{"status": "failed", "reason": "the lane of backend " + stuck + " does not move"})
		return
	}
	status := "ready"
	troubles := n.troubles()
	switch {
	case n.draining.Load():
		status = "draining"
	case !n.prepared.Load():
		status = "bootstrapping"
	case len(troubles) > 0:
		status = "degraded"
	}
	answer(w, http.StatusOK, map[string]any{"status": status, "troubles": troubles})
}

func (n *Node) serveReady(w http.ResponseWriter, _ *http.Request) {
	troubles := n.troubles()
	switch {
	case n.draining.Load():
		answer(w, http.StatusServiceUnavailable, map[string]any{"ready": false, "troubles": append(troubles, "shutting down")})
	case len(troubles) > 0:
		answer(w, http.StatusServiceUnavailable, map[string]any{"ready": false, "troubles": troubles})
	default:
		answer(w, http.StatusOK, map[string]any{"ready": true})
	}
}

func (n *Node) serveInfo(w http.ResponseWriter, _ *http.Request) {
	row := n.row()
	row["entity"], row["id"] = "ssp", n.cfg.ID
	if n.cfg.Listen == "" {
		row["listen"] = nil
	}
	answer(w, http.StatusOK, []any{row})
}

// serveIngest takes a change that somebody announces. Nothing of it is executed: the row is read anew.
func (n *Node) serveIngest(w http.ResponseWriter, r *http.Request) {
	if !n.authorised(r) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var hint struct{ Table, Op, ID string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxIngest)).Decode(&hint); err != nil {
		refuseIngest(w, err)
		return
	}
	switch hint.Op {
	case "CREATE", "UPDATE", "DELETE":
	default:
		answer(w, http.StatusBadRequest, map[string]any{
			"code": "BAD_REQUEST", "message": fmt.Sprintf("op is %q; allowed: CREATE, UPDATE, DELETE", hint.Op), "hint": "send op in capitals; " + ingestShape,
		})
		return
	}
	for _, l := range n.lanes {
		if l.backend.Table != hint.Table || hint.Op == "DELETE" {
			continue
		}
		if id, err := surreal.ParseID(hint.ID); err == nil && id.Table == hint.Table {
			l.offer(id, n.clock.now())
		}
	}
	w.WriteHeader(http.StatusOK)
}

// ingestShape is what a hint looks like.
const ingestShape = `a body is for instance {"table":"job","op":"CREATE","id":"job:1"}`

// refuseIngest answers a body that could not be read.
func refuseIngest(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		answer(w, http.StatusRequestEntityTooLarge, map[string]any{
			"code": "TOO_LARGE", "message": fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit), "hint": "leave the row out, it is read anew; " + ingestShape,
		})
		return
	}
	answer(w, http.StatusBadRequest, map[string]any{"code": "BAD_REQUEST", "message": "the body is no JSON object: " + err.Error(), "hint": ingestShape})
}

// authorised compares hashes, so that neither content nor length of the secret shows in the time taken.
func (n *Node) authorised(r *http.Request) bool {
	if n.cfg.AuthSecret == "" {
		return true
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	have, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(n.cfg.AuthSecret))
	return ok && subtle.ConstantTimeCompare(have[:], want[:]) == 1
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have gone
}
