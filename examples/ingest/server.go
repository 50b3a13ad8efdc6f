package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// maxBody bounds a request in bytes: the longest text, escaped, and what is around it.
const maxBody = 6*maxText + 4<<10

// server answers the routes of openapi.yml.
type server struct {
	store    *store
	workflow *wf.Workflow[material]
	token    [sha256.Size]byte
	log      *slog.Logger
}

// newServer makes the handler of all routes, those of the engine's workflows among them. Every request but
// the health check has to bring token.
func newServer(store *store, engine *wf.Engine, token string, log *slog.Logger) http.Handler {
	s := &server{store: store, token: sha256.Sum256([]byte(token)), log: log}
	s.workflow = wf.Register(engine, ingestBinding, store.ingest)
	mux := http.NewServeMux()
	mux.Handle("POST /materials", s.job(s.material))
	mux.Handle("POST /documents/index", s.job(s.index))
	mux.Handle("POST /documents/summary", s.job(s.summary))
	mux.HandleFunc("GET /healthz", s.health)
	return engine.Handler(mux)
}

// job serves one kind of job: it checks who asks, and turns what do returns into an answer.
func (s *server) job(do func(ctx context.Context, call call) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.authorised(r) {
			reply(w, http.StatusUnauthorized, fault{Code: "unauthorized", Message: "the bearer token is missing or wrong"})
			return
		}
		call, err := readCall(http.MaxBytesReader(w, r.Body, maxBody), r.Header)
		if err == nil {
			var answer any
			if answer, err = do(r.Context(), call); err == nil {
				s.log.Info("job done", "route", r.URL.Path, "job", call.job, "attempt", call.attempt)
				reply(w, http.StatusOK, answer)
				return
			}
		}
		f := faultOf(err)
		s.log.Warn("job failed", "route", r.URL.Path, "job", call.job, "attempt", call.attempt, "status", f.status, "error", err)
		reply(w, f.status, f)
	})
}

// authorised compares hashes, so that the time it takes says nothing about the token.
func (s *server) authorised(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	have := sha256.Sum256([]byte(token))
	return ok && subtle.ConstantTimeCompare(have[:], s.token[:]) == 1
}

// health fails while the database is away: spky then holds jobs back instead of wasting attempts.
func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	if state := s.store.client.State(); !state.Connected {
		reply(w, http.StatusServiceUnavailable, fault{Code: "database", Message: "not connected to the database"})
		return
	}
	reply(w, http.StatusOK, map[string]string{"status": "ok"})
}

// A fault is an error that says how to answer.
type fault struct {
	status  int
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (f fault) Error() string { return f.Message }

func badRequest(message string) error {
	return fault{status: http.StatusBadRequest, Code: "bad_request", Message: message}
}

// faultOf decides whether trying again makes sense: 5xx says that it does, 4xx that it does not.
func faultOf(err error) fault {
	var f fault
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &tooLarge):
		return fault{status: http.StatusRequestEntityTooLarge, Code: "too_large", Message: "the request is too large"}
	case surreal.IsUnreachable(err):
		return fault{status: http.StatusServiceUnavailable, Code: "database", Message: "the database is away"}
	}
	return fault{status: http.StatusInternalServerError, Code: "internal", Message: err.Error()}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have gone
}

// decode reads the one JSON object of a body, in which every field has to be known.
func decode(body []byte, into any) error {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return badRequest("the body is not what openapi.yml says: " + err.Error())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badRequest("there is something after the body's JSON")
	}
	return nil
}
