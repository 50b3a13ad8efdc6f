package dashboard

import (
	"context"
	"net/http"
	"strings"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
)

// prefix is where the pages are.
const prefix = "/admin"

// build makes the handler of all pages.
func (d *Dashboard) build() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /admin/assets/{name...}", d.assets)
	mux.HandleFunc("GET /admin/login", d.loginPage)
	mux.HandleFunc("POST /admin/login", d.login)
	for pattern, serve := range map[string]page{
		"/admin/{$}":                  d.overview,
		"/admin/jobs":                 d.jobs,
		"/admin/jobs/{id}":            d.job,
		"/admin/jobs/{id}/value":      d.jobValue,
		"/admin/workflows":            d.workflows,
		"/admin/workflows/{binding}":  d.workflow,
		"/admin/instances":            d.instances,
		"/admin/instances/{id}":       d.instance,
		"/admin/instances/{id}/step":  d.step,
		"/admin/instances/{id}/value": d.instanceValue,
		"/admin/schedules":            d.schedules,
		"/admin/schedules/{name}":     d.schedule,
		"/admin/dags":                 d.dags,
		"/admin/dags/{name}":          d.dag,
		"/admin/runs/{id}":            d.run,
		"/admin/nodes":                d.nodes,
		"/admin/audit":                d.audit,
		"/admin/live/{of}":            d.live,
		"/admin/":                     d.nowhere,
	} {
		mux.Handle("GET "+pattern, d.signedIn(serve))
	}
	for pattern, act := range map[string]page{
		"/admin/bulk/jobs/{verb}":              d.bulkJobs,
		"/admin/jobs/{id}/{verb}":              d.actOnJob,
		"/admin/bulk/instances/{verb}":         d.bulkInstances,
		"/admin/instances/{id}/{verb}":         d.actOnInstance,
		"/admin/workflows/{binding}/instances": d.createInstance,
		"/admin/dags/{name}/{verb}":            d.actOnDAG,
		"/admin/runs/{id}/{verb}":              d.actOnRun,
		"/admin/schedules/{name}/{verb}":       d.actOnSchedule,
	} {
		mux.Handle("POST "+pattern, d.acting(act))
	}
	mux.Handle("POST /admin/logout", d.checked(d.logout))
	return d.secured(mux)
}

// policy is the pages' Content-Security-Policy: everything comes from here, and nothing is inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secured puts the headers on every answer. Other origins are refused whatever they POST.
func (d *Dashboard) secured(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "another page asked for this", http.StatusForbidden)
	}))
	return guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	}))
}

// A page answers a request of somebody who is signed in. What it fails at becomes a page that says so.
type page func(*visit) error

// A visit is a request of somebody who is signed in.
type visit struct {
	w http.ResponseWriter
	r *http.Request
	*session

	who api.Identity
}

func (v *visit) ctx() context.Context { return v.r.Context() }

// id is a value in the path, text one of the query or the form, without blanks around it.
func (v *visit) id(name string) string { return v.r.PathValue(name) }

func (v *visit) text(name string) string { return strings.TrimSpace(v.r.FormValue(name)) }

// mayAct says whether whoever looks may change something.
func (v *visit) mayAct() bool { return v.who.May(string(admin.ScopeFull)) }

// htmx says that a script of ours asks, for a part of the page.
func (v *visit) htmx() bool { return v.r.Header.Get("Hx-Request") == "true" }

// looks says that a page of ours looks again, as a whole.
func (v *visit) looks() bool { return v.r.Header.Get("Spky-Look") != "" }
