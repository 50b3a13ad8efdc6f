package api

import (
	"context"
	"net/http"

	"sp00ky.cloud/spky/admin"
)

// What the dashboard needs of the server: its sign-in, its words for errors, its feeds, and a place.

// Mount serves what is below a path, which is not /admin/api/, with another handler, before Run or the
// first request. Who may ask is that handler's business; [Server.SignIn] helps. A panic of it is answered
// and logged as everywhere.
func (s *Server) Mount(path string, h http.Handler) {
	s.mux.Handle(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &seen{ResponseWriter: w, status: http.StatusOK}
		defer s.recovered(seen, r)
		h.ServeHTTP(seen, r)
	}))
}

// SignIn says whose a token is that a request brings in its own way. One that is not valid counts as a
// failed attempt of the request's address, and too many of them shut it out, here and everywhere else.
func (s *Server) SignIn(r *http.Request, token string) (Identity, error) {
	if err := s.admitted(r); err != nil {
		return Identity{}, err
	}
	return s.bearer(r, token)
}

// Known says whose a token is that was valid before; [admin.ErrToken] where it no longer is. It counts
// nothing.
func (s *Server) Known(ctx context.Context, token string) (Identity, error) {
	if who, ok := known(s.secrets, token); ok {
		return who, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	who, err := s.cfg.Tokens.Verify(ctx, token)
	return Identity{Name: who.Label, Scope: string(who.Scope)}, err
}

// CodeAway is the code of a [Problem] that is the database's, which does not answer.
const CodeAway = "database_unavailable"

// A Problem is an error as people are told of it.
type Problem struct {
	// Status is the HTTP status.
	Status int
	// Code is a stable word, Message what is wrong, Hint what to do about it.
	Code, Message, Hint string
	// Possible are the verbs that a state allows which forbade another.
	Possible []string
	// RetryAfter is the header of that name, "" for none.
	RetryAfter string
}

// ProblemOf puts an error of the operations, or of SignIn, into the API's words. What it does not know is
// logged, not told.
func (s *Server) ProblemOf(r *http.Request, err error) Problem {
	f := s.faultOf(r, err)
	return Problem{Status: f.status, Code: f.Code, Message: f.Message, Hint: f.Hint, Possible: f.Possible, RetryAfter: f.header.Get("Retry-After")}
}

// Watched is an instance as its streams have been told; false where there are none. It costs the database
// nothing.
func (s *Server) Watched(id string) (admin.Progress, bool) { return s.instances.latest(id) }
