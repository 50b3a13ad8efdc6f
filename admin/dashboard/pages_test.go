package dashboard

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/wf"
)

// busyRig is a rig on which much has happened.
func busyRig(t testing.TB) *rig {
	t.Helper()
	r := newRig(t)
	r.running(workflows, answers, nightly()...)
	for n := range 24 {
		r.create("MAIL", fmt.Sprintf("mail-%02d", n), `{"to":"ann@example.com"}`)
	}
	r.create("INGEST", "gettysburg", `{"pages":4,"settle":"1500ms","failures":2}`)
	r.create("INGEST", "tyger", `{"pages":2,"broken":true}`)
	for n := range 30 {
		path := "/work"
		if n%7 == 3 {
			path = "/fail"
		}
		r.job(admin.NewJob{ID: fmt.Sprintf("doc%02d", n), Path: path, MaxRetries: 1, Payload: json.RawMessage(`{"document":"sonnet-18"}`)})
	}
	r.job(admin.NewJob{ID: "tomorrow", Path: "/work", Delay: 86_400_000})
	r.status("gettysburg", wf.Waiting)
	r.status("tyger", wf.Errored)
	r.status("mail-23", wf.Complete)
	r.ended("job:doc29", "success")
	run, err := r.dags.Trigger(r.ctx, "nightly")
	r.check(err)
	r.ran = run.Runs[0]
	r.runEnded(r.ran)
	return r
}

// TestPictures takes the pictures of the documentation, of a real run: go test ./admin/dashboard -run Pictures
// -screenshots writes them. With SPKY_PICTURES set to a directory it takes one of every page, to be looked at.
func TestPictures(t *testing.T) {
	t.Parallel()
	r := busyRig(t)
	b := r.browse()
	b.signIn(fullSecret)
	waves := 2
	if *screenshots {
		waves = 20
	}
	for n := range waves { // the charts are of what happens while somebody looks
		for job := range 3 + n*7%11 {
			path := "/work"
			if job%9 == 4 {
				path = "/fail"
			}
			r.job(admin.NewJob{Path: path, MaxRetries: 1})
		}
		b.await(fmt.Sprintf(`JSON.parse(document.querySelector(".plot").dataset.points).times.length > %d && document.querySelectorAll(".uplot canvas").length === 5`, n))
	}
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		for name, path := range map[string]string{"dashboard-overview": "/admin/", "dashboard-instance": "/admin/instances/gettysburg"} {
			b.open(path)
			b.await(`document.querySelector("#pulse").dataset.state === "live"`)
			b.picture(name + "-" + theme)
		}
	}
	b.theme("light")
	b.open(runAddress(r.ran))
	b.state("failed")
	b.picture("dashboard-run-light")
	if os.Getenv("SPKY_PICTURES") == "" {
		return
	}
	for _, theme := range []string{"light", "dark", "narrow"} {
		if theme == "narrow" {
			b.size(400, 860)
		} else {
			b.theme(theme)
		}
		for _, path := range slices.DeleteFunc(r.wholePages(), func(path string) bool { return path == "/admin/nowhere" }) {
			b.open(path)
			b.await(`document.querySelector("#pulse").dataset.state === "live" || !document.querySelector("#feed")`)
			b.picture(strings.NewReplacer("/admin", "page", "/", "-", "?", "-", ":", "-").Replace(path) + "-" + theme)
		}
	}
}
