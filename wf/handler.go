package wf

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// route is where runs are asked for.
const route = "/__spky/workflow/"

// maxRequest bounds the body of a request for a run.
const maxRequest = 64 << 10

// defaultAttempt is an attempt's timeout where the request does not say.
const defaultAttempt = 10 * time.Second

// Handler adds POST /__spky/workflow/{binding} to next, which gets every other request as it is.
// The answers are 200 with {"state": …} whatever the workflow came to, 503 with Spky-Retry: busy
// while another run holds the instance, 404 for an unknown binding, 401 without [Config.AuthToken],
// and 500 where the database was not reached: the job is then tried again.
func (e *Engine) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, route) {
			next.ServeHTTP(w, r)
			return
		}
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			refuse(w, http.StatusMethodNotAllowed, "bad_request", "runs are asked for with POST")
			return
		}
		e.serveRun(w, r)
	})
}

func (e *Engine) serveRun(w http.ResponseWriter, r *http.Request) {
	binding := strings.TrimPrefix(r.URL.Path, route)
	def, ok := e.lookup(binding)
	switch {
	case !e.authorised(r):
		refuse(w, http.StatusUnauthorized, "unauthorized", "the bearer token is missing or wrong")
		return
	case !ok:
		refuse(w, http.StatusNotFound, "unknown_workflow", fmt.Sprintf("no workflow is registered as %q in this backend", binding))
		return
	}
	id, err := requested(w, r)
	if err != nil {
		refuse(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	if !e.admit() {
		w.Header().Set("Spky-Retry", "busy")
		refuse(w, http.StatusServiceUnavailable, "shutting_down", "this process shuts down")
		return
	}
	defer e.runs.Done()
	job := r.Header.Get("Spky-Job-Id")
	if text, err := url.PathUnescape(job); err == nil { // a broken one fits no instance
		job = text
	}
	res, err := e.pass(asked(r), def, binding, id, job, attemptTimeout(r))
	e.answer(w, id, res, err)
}

func (e *Engine) answer(w http.ResponseWriter, id string, res result, err error) {
	switch {
	case err != nil && surreal.IsNotFound(err):
		refuse(w, http.StatusInternalServerError, "database", "the database lacks the platform's schema; run `spky migrate apply`: "+err.Error())
	case err != nil:
		e.log.Warn("no run", "instance", id, "error", err)
		refuse(w, http.StatusInternalServerError, "database", err.Error())
	case res.State == "busy":
		w.Header().Set("Spky-Retry", "busy")
		refuse(w, http.StatusServiceUnavailable, "busy", "another run holds the instance")
	case res.State == "missing":
		refuse(w, http.StatusNotFound, "unknown_instance", "no such instance of this workflow")
	default:
		reply(w, http.StatusOK, res)
	}
}

func requested(w http.ResponseWriter, r *http.Request) (string, error) {
	var body struct {
		Instance string `json:"instance"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&body); err != nil {
		return "", fmt.Errorf("the body is not {\"instance\": …}: %w", err)
	}
	if !instanceID.MatchString(body.Instance) {
		return "", errors.New("the body names no instance")
	}
	return body.Instance, nil
}

func attemptTimeout(r *http.Request) time.Duration {
	ms, err := strconv.ParseInt(r.Header.Get("Spky-Timeout-Ms"), 10, 32)
	if err != nil || ms <= 0 {
		return defaultAttempt
	}
	return time.Duration(ms) * time.Millisecond
}

// authorised compares hashes, so that the time taken tells nothing of the token.
func (e *Engine) authorised(r *http.Request) bool {
	if e.cfg.AuthToken == "" {
		return true
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	have, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(e.cfg.AuthToken))
	return ok && subtle.ConstantTimeCompare(have[:], want[:]) == 1
}

// refuse answers with a code for programs and a message for people.
func refuse(w http.ResponseWriter, status int, code, message string) {
	reply(w, status, map[string]string{"code": code, "message": message})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // whoever asked may be gone
}
