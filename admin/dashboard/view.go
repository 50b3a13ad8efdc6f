package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed templates
var templateFiles embed.FS

// A view is what a page is made of.
type view struct {
	// Title is the page's, Section the entry of the menu that it belongs to.
	Title, Section string
	// Who looks, "" on the login; May says that he may change something.
	Who, CSRF string
	May       bool
	Flash     *flash
	// Live is the address of the stream that says when to look again, "" where nothing moves.
	Live string
	// Moves is how often to look where something moves that nothing announces, 0 where nothing does.
	Moves time.Duration
	// Away says that this is shown instead of the page, until the database is back.
	Away bool
	// Self is the page's own address.
	Self    string
	Now     time.Time
	Version string
	Content any
}

// view is what all pages of somebody who is signed in have.
func (d *Dashboard) view(v *visit, section, title string, content any) view {
	return view{
		Title: title, Section: section, Who: v.who.Name, CSRF: v.csrf, May: v.mayAct(), Self: v.r.URL.RequestURI(),
		Now: d.now(), Version: d.cfg.Version, Content: content,
	}
}

// watching is a view that moves with a topic.
func (w view) watching(of, key string) view {
	w.Live = prefix + "/live/" + of
	if key != "" {
		w.Live += "?key=" + template.URLQueryEscaper(key)
	}
	return w
}

// Times at which pages look of themselves.
const (
	// growing is for what is drawn longer the longer it runs, pondering for what also depends on things that the page
	// does not listen to: why something does not run, and whether a node is still heard of.
	growing   = 2 * time.Second
	pondering = 10 * time.Second
)

// moving is a view that looks every so often while something is so.
func (w view) moving(so bool, often time.Duration) view {
	if so && (w.Moves == 0 || often < w.Moves) {
		w.Moves = often
	}
	return w
}

// show answers with a page.
func (d *Dashboard) show(v *visit, name string, w view) error {
	if !v.looks() { // a page that only looks again does not show it
		w.Flash = v.told(v.r.URL.Path)
	}
	d.write(v.w, http.StatusOK, name, w)
	return nil
}

// write answers with a page made of a template. It is made as a whole before a byte of it is sent.
func (d *Dashboard) write(w http.ResponseWriter, status int, name string, content view) {
	if content.Now.IsZero() {
		content.Now, content.Version = d.now(), d.cfg.Version
	}
	var text bytes.Buffer
	if err := d.pages[name].ExecuteTemplate(&text, "layout", content); err != nil {
		d.log.Error("a page cannot be made", "page", name, "error", err)
		http.Error(w, "This page cannot be made; the log of this spky has the cause.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(straight(text.Bytes())) // the client may have gone
}

// part answers with a part of a page, for a script of ours.
func (d *Dashboard) part(v *visit, name string, content view) error {
	var text bytes.Buffer
	if err := d.pages[name].ExecuteTemplate(&text, "content", content); err != nil {
		return fmt.Errorf("make part %s: %w", name, err)
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = v.w.Write(straight(text.Bytes())) // the client may have gone
	return nil
}

// parse reads the templates: each page beside the layout and what pages share.
func (d *Dashboard) parse() (map[string]*template.Template, error) {
	shared, err := template.New("").Funcs(d.funcs()).ParseFS(templateFiles, "templates/shared/*.html")
	if err != nil {
		return nil, fmt.Errorf("read the dashboard's templates: %w", err)
	}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("read the dashboard's templates: %w", err)
	}
	pages := map[string]*template.Template{}
	for _, file := range names {
		page, err := shared.Clone()
		if err == nil {
			page, err = page.ParseFS(templateFiles, file)
		}
		if err != nil {
			return nil, fmt.Errorf("read the dashboard's templates: %w", err)
		}
		pages[strings.TrimSuffix(path.Base(file), ".html")] = page
	}
	return pages, nil
}
