package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"sp00ky.cloud/spky/admin"
)

// An Identity is who a request comes from.
type Identity struct {
	// Name is the token's label.
	Name string `json:"name"`
	// Scope is read or full.
	Scope string `json:"scope"`
}

// May says whether the identity's scope is enough.
func (i Identity) May(scope string) bool { return scope != scopeFull || i.Scope == scopeFull }

// A Secret is a token that the configuration or the environment gives.
type Secret struct {
	// Name is what the audit calls its bearer.
	Name string
	// Scope is read or full.
	Scope string
	// Token is the secret itself.
	Token string
}

// A secret is a Secret as it is kept: hashed.
type secret struct {
	Identity
	hash [sha256.Size]byte
}

func hashed(all []Secret) []secret {
	var kept []secret
	for _, s := range all {
		if s.Token != "" {
			kept = append(kept, secret{Identity{Name: s.Name, Scope: s.Scope}, sha256.Sum256([]byte(s.Token))})
		}
	}
	return kept
}

// known compares a token with every secret, each in constant time, so that neither content nor length
// shows in the time taken.
func known(secrets []secret, token string) (Identity, bool) {
	have := sha256.Sum256([]byte(token))
	who, ok := Identity{}, false
	for _, s := range secrets {
		if subtle.ConstantTimeCompare(have[:], s.hash[:]) == 1 {
			who, ok = s.Identity, true
		}
	}
	return who, ok
}

type identityKey struct{}

// IdentityOf is who the request of a context comes from; the zero Identity outside of one.
func IdentityOf(ctx context.Context) Identity {
	who, _ := ctx.Value(identityKey{}).(Identity)
	return who
}

// unauthorised makes the answer to a request without a valid token. It says the same whatever is
// wrong with the token.
func unauthorised(message string) *fault {
	return refuse(http.StatusUnauthorized, "unauthorized",
		"send Authorization: Bearer <token>; `spky token create` makes one, `spky dev` prints one", "%s", message).with("WWW-Authenticate", `Bearer realm="spky"`)
}

// admitted refuses a request of an address that is shut out.
func (s *Server) admitted(r *http.Request) error {
	wait := s.attempts.shut(addressOf(r))
	if wait <= 0 {
		return nil
	}
	seconds := int(wait.Seconds()) + 1
	return refuse(http.StatusTooManyRequests, "rate_limited", "try again in "+strconv.Itoa(seconds)+" s with a valid token",
		"too many failed sign-ins from this address").with("Retry-After", strconv.Itoa(seconds))
}

// authenticate finds out who a request comes from.
func (s *Server) authenticate(r *http.Request) (Identity, error) {
	if err := s.admitted(r); err != nil {
		return Identity{}, err
	}
	header := r.Header.Get("Authorization")
	if header == "" {
		return Identity{}, unauthorised("there is no token")
	}
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return Identity{}, s.failed(r, "the Authorization header holds no bearer token")
	}
	return s.bearer(r, token)
}

// bearer finds out whose token a request brings, and counts one that is not valid.
func (s *Server) bearer(r *http.Request, token string) (Identity, error) {
	if token == "" || len(token) > maxToken {
		return Identity{}, s.failed(r, "that is no token: it is empty, or too long")
	}
	who, err := s.Known(r.Context(), token)
	if errors.Is(err, admin.ErrToken) {
		return Identity{}, s.failed(r, "the token is not valid: unknown, expired or revoked")
	}
	return who, err
}

// maxToken bounds a token in bytes.
const maxToken = 1024

func (s *Server) failed(r *http.Request, message string) *fault {
	address := addressOf(r)
	out := s.attempts.failed(address)
	s.metrics.failures.Inc()
	s.log.Warn("a sign-in failed", "address", address.Addr().String(), "path", r.URL.Path)
	if out {
		s.shutOut(r, address.String())
	}
	return unauthorised(message)
}

// shutOut writes into the audit that an address is shut out. Single failures are in the log only: whoever
// has no token must not be able to fill a table.
func (s *Server) shutOut(r *http.Request, address string) {
	if s.cfg.Audit == nil {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
	defer cancel()
	ctx = admin.WithActor(ctx, admin.Actor{Name: address, Via: via(r)})
	if err := s.cfg.Audit.Record(ctx, "sign-in", address, "refused: shut out", fmt.Sprintf("%d failures within %s", maxFailures, failureWindow)); err != nil {
		s.log.Warn("the audit does not have that an address is shut out", "address", address, "error", err)
	}
}

// via is the surface that a request comes from: the API itself unless the caller says which of ours.
func via(r *http.Request) string {
	switch said := r.Header.Get("Spky-Via"); said {
	case "cli", "dashboard", "mcp":
		return said
	}
	return "api"
}
