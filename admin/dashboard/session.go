package dashboard

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// cookiePrefix is what the name of the session's cookie begins with.
	cookiePrefix = "spky_session_"
	// sessionLife is how long a session lives, maxSessions how many there are: of more the oldest ends.
	sessionLife = 12 * time.Hour
	maxSessions = 1000
)

// A session is somebody who signed in, in this process. It keeps his token, to ask again whether it counts.
type session struct {
	key   string
	csrf  string
	token string
	until time.Time

	mu    sync.Mutex
	flash *flash
}

// A flash is what came of an action, told once: on the page that it was asked for on, and only just after.
type flash struct {
	// at is the path of that page.
	at string
	// until is when it is old news.
	until time.Time
	// Kind is done or refused.
	Kind string
	// Text is what happened, Hint what can be done about it.
	Text, Hint string
}

// flashLife is how long a flash waits for its page, which may not be possible to be made at once.
const flashLife = time.Minute

// tell keeps a flash for its page.
func (s *session) tell(f flash) {
	f.until = time.Now().Add(flashLife)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flash = &f
}

// told is the flash that waits for the page at a path, which is told with that.
func (s *session) told(at string) *flash {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flash
	switch {
	case f == nil:
		return nil
	case time.Now().After(f.until):
		s.flash = nil
		return nil
	case f.at != at:
		return nil
	}
	s.flash = nil
	return f
}

// knows says whether a CSRF token is the session's.
func (s *session) knows(csrf string) bool {
	return subtle.ConstantTimeCompare([]byte(s.csrf), []byte(csrf)) == 1
}

// sessions are those of this process.
type sessions struct {
	mu  sync.Mutex
	all map[string]*session
}

func newSessions() *sessions { return &sessions{all: map[string]*session{}} }

// begin makes a session.
func (s *sessions) begin(token string) *session {
	one := &session{key: rand.Text(), csrf: rand.Text(), token: token, until: time.Now().Add(sessionLife)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= maxSessions {
		s.makeRoom()
	}
	s.all[one.key] = one
	return one
}

// makeRoom ends the sessions whose time has come, or else the oldest; the lock is held.
func (s *sessions) makeRoom() {
	var oldest *session
	for key, one := range s.all {
		if time.Now().After(one.until) {
			delete(s.all, key)
		} else if oldest == nil || one.until.Before(oldest.until) {
			oldest = one
		}
	}
	if len(s.all) >= maxSessions {
		delete(s.all, oldest.key)
	}
}

// of is the session that a request's cookie names, nil where there is none.
func (s *sessions) of(r *http.Request) *session {
	cookie, err := r.Cookie(cookieName(r))
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[cookie.Value]
	if one != nil && time.Now().After(one.until) {
		delete(s.all, one.key)
		return nil
	}
	return one
}

func (s *sessions) end(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, one.key)
}

// cookieName has the port in it: browsers keep one cookie of a name for all ports of a host, and there may be a
// process at each.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return cookiePrefix + "0"
	}
	return cookiePrefix + port
}

// cookie is what a browser keeps of a session; of none what makes it forget.
func cookie(r *http.Request, one *session) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // Secure wherever there is TLS; on loopback there is none
		Name: cookieName(r), Path: prefix, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	}
	if one == nil {
		c.MaxAge = -1
		return c
	}
	c.Value, c.MaxAge = one.key, int(sessionLife.Seconds())
	return c
}
