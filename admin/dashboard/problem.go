package dashboard

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
)

// A refusal is what the pages themselves say no to.
type refusal struct {
	status     int
	text, hint string
}

func (r refusal) Error() string { return r.text }

// awayHeader of an answer without content tells a script of ours that the database does not answer, and in what words:
// what the page shows stays. Statuses that say so are written to the browser's console, each time.
const awayHeader = "Spky-Away"

// problem shows an error as a page.
func (d *Dashboard) problem(v *visit, err error) {
	p := d.problemOf(v, err)
	away := p.Code == api.CodeAway
	switch {
	case away && v.htmx():
		v.w.Header().Set(awayHeader, p.Message)
		v.w.WriteHeader(http.StatusNoContent)
	case away && streams(v.r): // nobody knows whether the session is still good: the page asks again
		v.w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(v.w, "retry: 2000\n\n") // the client may have gone
	default:
		page := d.view(v, "", http.StatusText(p.Status), p)
		page.Away = away && v.r.Method == http.MethodGet
		d.write(v.w, p.Status, "problem", page)
	}
}

func (d *Dashboard) problemOf(v *visit, err error) api.Problem {
	var no refusal
	if errors.As(err, &no) {
		return api.Problem{Status: no.status, Message: no.text, Hint: no.hint}
	}
	p := d.cfg.API.ProblemOf(v.r, err)
	if input := (*admin.InputError)(nil); errors.As(err, &input) { // it names the field, and what is allowed there
		p.Hint = ""
		if v.r.Method == http.MethodPost {
			p.Hint = "nothing was changed"
		}
	}
	p.Message, p.Hint = sentence(p.Message), sentence(p.Hint)
	return p
}

// meant is the error of a list without what is wrong with its filters, which the list itself tells beside them.
func meant(err error) (wrong string, rest error) {
	var input *admin.InputError
	if !errors.As(err, &input) {
		return "", err
	}
	return sentence(input.Error()), nil
}

// nowhere answers where there is no page.
func (d *Dashboard) nowhere(*visit) error {
	return refusal{http.StatusNotFound, "There is no such page.", "The menu lists those that there are."}
}

// back tells what came of an action on the page that it was asked for on. That the database is away is told at once:
// that page cannot be made, and later it would be untrue.
func (d *Dashboard) back(v *visit, to, done string, err error) error {
	f := flash{Kind: "done", Text: done}
	if err != nil {
		p := d.problemOf(v, err)
		if p.Code == api.CodeAway {
			return err
		}
		f = flash{Kind: "refused", Text: p.Message, Hint: p.Hint}
	}
	if page, err := url.Parse(to); err == nil {
		f.at = page.Path
	}
	v.tell(f)
	if at, err := url.Parse(v.r.Header.Get("Hx-Current-Url")); v.htmx() && (err != nil || at.EscapedPath() != to) { // a part of that page will not do
		v.w.Header().Set("Hx-Redirect", to)
		return nil
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// sentence is a text of ours that begins with a capital and ends with a dot.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
