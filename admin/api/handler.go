package api

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/propagation"

	"sp00ky.cloud/spky/admin"
)

// writeTimeout bounds an answer that is no stream, from the request's header on.
const writeTimeout = time.Minute

// build makes the handler of all paths.
func (s *Server) build() http.Handler {
	mux := http.NewServeMux()
	for path, routes := range byPath(s.routes) {
		mux.Handle(prefix+path, s.serve(routes))
	}
	mux.Handle(prefix+"/", s.serve(nil))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { noRoute().write(w) })
	s.mountNode(mux)
	s.mux = mux
	return secured(mux)
}

func noRoute() *fault {
	return refuse(http.StatusNotFound, "no_route", "/admin/api/openapi.json lists the paths", "there is no such path")
}

// mountNode mounts what the node answers itself; what tells more than that it lives needs a token here.
func (s *Server) mountNode(mux *http.ServeMux) {
	guarded := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := s.authenticate(r); err != nil {
				s.faultOf(r, err).write(w)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
	if !s.cfg.NoMetrics {
		mux.Handle("GET /metrics", guarded(s.metrics.handler(s.cfg.Metrics)))
	}
	if s.cfg.Node == nil {
		say := func(what any) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, what) }
		}
		mux.Handle("GET /health", say(map[string]string{"status": "ready"}))
		mux.Handle("GET /version", say(map[string]string{"version": s.cfg.Version}))
		return
	}
	mux.Handle("GET /health", s.cfg.Node)
	mux.Handle("GET /ready", s.cfg.Node)
	mux.Handle("GET /version", s.cfg.Node)
	mux.Handle("GET /info", guarded(s.cfg.Node))
}

// secured puts the headers on every answer that keep browsers from doing anything with it.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // of this answer, not of the connection
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		next.ServeHTTP(w, r)
	})
}

// serve answers the requests of one path.
func (s *Server) serve(routes []route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		seen := &seen{ResponseWriter: w, status: http.StatusOK}
		route, ok := pick(routes, r.Method)
		defer s.recovered(seen, r)
		if err := s.admit(seen, r, routes, route, ok); err != nil {
			s.faultOf(r, err).write(seen)
		}
		name := route.name
		if name == "" {
			name = "none"
		}
		s.metrics.served(name, seen.status, time.Since(begun), route.streams != nil || route.raw != nil)
	})
}

// recovered makes a panic of whoever serves a request an error like others.
func (s *Server) recovered(w *seen, r *http.Request) {
	what := recover()
	switch what {
	case nil:
		return
	case http.ErrAbortHandler:
		panic(what)
	}
	s.log.Error("a request panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(what), "stack", string(debug.Stack()))
	if w.wrote {
		panic(http.ErrAbortHandler) // half an answer must not look like one
	}
	refuse(http.StatusInternalServerError, "internal", "the log of this spky has the cause", "the request failed").write(w)
}

// admit lets a request through to its route, or says why not.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, routes []route, route route, ok bool) error {
	who := Identity{}
	if !ok || route.scope != scopeOpen { // whether something exists is nobody's business without a token
		var err error
		if who, err = s.authenticate(r); err != nil {
			return err
		}
	}
	switch {
	case len(routes) == 0:
		return noRoute()
	case !ok:
		return refuse(http.StatusMethodNotAllowed, "method_not_allowed", "allowed: "+methods(routes), "%s is not allowed here", r.Method).with("Allow", methods(routes))
	case route.scope == scopeFull && !who.May(scopeFull):
		return refuse(http.StatusForbidden, "forbidden", "use a token of scope full", "the token's scope is %s, and this changes something", who.Scope)
	}
	return s.handle(w, by(r, who, route), route)
}

// by is a request with who it comes from, for the audit too; and with the trace that it names, for what it
// creates.
func by(r *http.Request, who Identity, route route) *http.Request {
	surface := via(r)
	if route.tag == "mcp" {
		surface = "mcp"
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx = context.WithValue(ctx, identityKey{}, who)
	return r.WithContext(admin.WithActor(ctx, admin.Actor{Name: who.Name, Via: surface}))
}

// handle serves a request that may be.
func (s *Server) handle(w http.ResponseWriter, r *http.Request, route route) error {
	if route.raw != nil {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // it may stream
		route.raw.ServeHTTP(w, r)
		return nil
	}
	query, err := checkQuery(r.URL.RawQuery, route.query)
	if err != nil {
		return err
	}
	for _, name := range route.variables() {
		if value := r.PathValue(name); len(value) > maxID || strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
			if len(value) > maxID {
				return refuse(http.StatusNotFound, "not_found", "check the id; `spky jobs` against the database itself takes longer ones", "an id of more than %d bytes cannot be asked for here", maxID)
			}
			return refuse(http.StatusNotFound, "not_found", "check the id", "there is nothing with that id")
		}
	}
	c := &call{w: w, r: r, query: query}
	if like := route.takes(); like != nil {
		if c.body, err = readBody(w, r, like, maxBody); err != nil {
			return err
		}
	}
	if route.streams != nil {
		return s.stream(c, route)
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
	defer cancel()
	c.r = r.WithContext(ctx)
	answer, err := route.serve(c)
	if err != nil {
		return err
	}
	if route.success() == http.StatusNoContent {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	writeJSON(w, route.success(), answer)
	return nil
}

// maxBody bounds a request's body in bytes: the largest payload, and what is around it.
const maxBody = 4 << 20

// open begins a stream, if there may be one more; free has to be called at its end.
func (s *Server) open(w http.ResponseWriter) (out *stream, free func(), err error) {
	select {
	case s.slots <- struct{}{}:
	default:
		return nil, nil, refuse(http.StatusServiceUnavailable, "too_many_streams", "close some, or try again later", "there are %d streams already", s.cfg.MaxStreams).with("Retry-After", "10")
	}
	s.metrics.streams.Inc()
	return newStream(w), func() { s.metrics.streams.Dec(); <-s.slots }, nil
}

// stream serves a stream. What goes wrong after its beginning is its last event.
func (s *Server) stream(c *call, route route) error {
	out, free, err := s.open(c.w)
	if err != nil {
		return err
	}
	defer free()
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	c.r = c.r.WithContext(ctx)
	err = route.streams(c, out)
	switch {
	case err == nil, ctx.Err() != nil: // the client or the server has gone
		return nil
	case !out.begun:
		return err
	}
	_ = out.event("error", "", s.faultOf(c.r, err)) // the client may have gone
	return nil
}

// seen is an answer whose status is noted.
type seen struct {
	http.ResponseWriter
	status int
	wrote  bool
}

func (s *seen) Write(p []byte) (int, error) {
	s.wrote = true
	return s.ResponseWriter.Write(p)
}

func (s *seen) WriteHeader(status int) {
	if !s.wrote {
		s.status, s.wrote = status, true
	}
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap lets [http.ResponseController] find what is below.
func (s *seen) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Flush is for those who do not know [http.ResponseController].
func (s *seen) Flush() {
	_ = http.NewResponseController(s.ResponseWriter).Flush() // as far as it can
}
