package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"sp00ky.cloud/spky/admin"
)

// maxForm bounds a form in bytes: the largest payload, escaped, and what is around it.
const maxForm = 4 << 20

// signedIn serves a page to whoever is signed in, and sends others to the login.
func (d *Dashboard) signedIn(serve page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one := d.sessions.of(r)
		if one == nil {
			d.toLogin(w, r)
			return
		}
		ctx, cancel := d.bounded(r)
		defer cancel()
		r = r.WithContext(ctx)
		who, err := d.cfg.API.Known(ctx, one.token)
		if errors.Is(err, admin.ErrToken) {
			d.sessions.end(one)
			http.SetCookie(w, cookie(r, nil))
			d.toLogin(w, r)
			return
		}
		v := &visit{w: w, r: r, session: one, who: who}
		if err == nil {
			err = d.serve(v, serve)
		}
		if err != nil {
			d.problem(v, err)
		}
	})
}

// streams says whether a request is for what a page is told by.
func streams(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, prefix+"/live/") }

// bounded is the context of a request that is no stream: whoever asks while the database is away does not wait for long
// before he is told.
func (d *Dashboard) bounded(r *http.Request) (context.Context, context.CancelFunc) {
	switch {
	case streams(r):
		return context.WithCancel(r.Context())
	case !d.cfg.Cluster.Connected():
		return context.WithTimeout(r.Context(), min(awayTimeout, d.cfg.Timeout))
	}
	return context.WithTimeout(r.Context(), d.cfg.Timeout)
}

// awayTimeout is how long whoever asks waits for a database that is away.
const awayTimeout = 2 * time.Second

// serve does a page's work in the name of whoever looks.
func (d *Dashboard) serve(v *visit, serve page) error {
	v.r = v.r.WithContext(admin.WithActor(v.ctx(), admin.Actor{Name: v.who.Name, Via: "dashboard"}))
	for _, part := range []string{v.id("id"), v.id("name"), v.id("binding")} {
		switch {
		case strings.ContainsRune(part, 0):
			return admin.NewInputError("there is a zero byte in the address, which no id and no name has")
		case len(part) > maxID:
			return admin.NewInputError("an id of that length cannot be asked for here; `spky jobs get` takes it")
		}
	}
	return serve(v)
}

// maxID bounds an id in an address, in bytes.
const maxID = 16 << 10

// checked serves a form of this page: one with the session's CSRF token. That it comes from this origin has
// been looked at before.
func (d *Dashboard) checked(act page) http.Handler {
	return d.signedIn(func(v *visit) error {
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
		if err := v.r.ParseForm(); err != nil {
			return admin.NewInputError("the form cannot be read, or has more than 4 MiB")
		}
		if !v.knows(v.r.PostForm.Get("csrf")) {
			return refusal{http.StatusForbidden, "This form is not of your session.", "Load the page again, and try again."}
		}
		return act(v)
	})
}

// acting serves a form that changes something.
func (d *Dashboard) acting(act page) http.Handler {
	return d.checked(func(v *visit) error {
		if !v.mayAct() {
			return refusal{http.StatusForbidden, "Your token's scope is read, and this changes something.", "Sign in with a token of scope full."}
		}
		return act(v)
	})
}

// toLogin sends somebody to the login, from where he comes back to what he asked for.
func (d *Dashboard) toLogin(w http.ResponseWriter, r *http.Request) {
	to := prefix + "/login"
	if r.Method == http.MethodGet && !streams(r) && r.URL.Path != prefix+"/" {
		to += "?next=" + url.QueryEscape(r.URL.RequestURI())
	}
	if streams(r) {
		http.Error(w, "the session has ended", http.StatusUnauthorized)
		return
	}
	if r.Header.Get("Hx-Request") == "true" {
		w.Header().Set("Hx-Redirect", to)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// local is an address of ours that somebody is to be sent to, else the overview: where the login leads is
// not for others to choose.
func local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(path.Clean(u.Path)+"/", prefix+"/") || strings.Contains(next, "\\") {
		return prefix + "/"
	}
	return u.RequestURI()
}
