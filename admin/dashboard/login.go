package dashboard

import (
	"net/http"
	"strings"
)

// loginView is the login's content.
type loginView struct {
	Next, Message, Hint string
}

func (d *Dashboard) loginPage(w http.ResponseWriter, r *http.Request) {
	if d.sessions.of(r) != nil {
		http.Redirect(w, r, local(r.URL.Query().Get("next")), http.StatusSeeOther) //nolint:gosec // local leads nowhere else
		return
	}
	d.write(w, http.StatusOK, "login", view{Title: "Sign in", Content: loginView{Next: local(r.URL.Query().Get("next"))}})
}

// login begins a session for whoever brings a token that counts. There is no cookie before, and so no CSRF
// token: what protects it is that other origins are refused, and that it gives away nothing.
func (d *Dashboard) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	next := local(r.PostFormValue("next"))
	token := strings.TrimSpace(r.PostFormValue("token"))
	if _, err := d.cfg.API.SignIn(r, token); err != nil {
		p := d.cfg.API.ProblemOf(r, err)
		hint := "`spky token create` makes a token, and `spky dev` prints one."
		if p.RetryAfter != "" {
			w.Header().Set("Retry-After", p.RetryAfter)
			hint = "Try again in " + p.RetryAfter + " s."
		}
		d.write(w, p.Status, "login", view{Title: "Sign in", Content: loginView{Next: next, Message: sentence(p.Message), Hint: hint}})
		return
	}
	if old := d.sessions.of(r); old != nil {
		d.sessions.end(old)
	}
	http.SetCookie(w, cookie(r, d.sessions.begin(token)))
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // local leads nowhere else
}

func (d *Dashboard) logout(v *visit) error {
	d.sessions.end(v.session)
	http.SetCookie(v.w, cookie(v.r, nil))
	http.Redirect(v.w, v.r, prefix+"/login", http.StatusSeeOther)
	return nil
}
