//go:build unix

package typescript_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A sample is an instance of one of the workflows that were written for Cloudflare.
type sample struct {
	binding, id string
	params      string
	event       string // the payload of an approval, "" for none
}

func samples() []sample {
	return []sample{
		{binding: "CART", id: "never-bought", params: `{"cart": "c1", "items": [{"name": "tea", "cents": 350}, {"name": "pot", "cents": 1250}], "persuadedBy": 9}`},
		{binding: "CART", id: "bought", params: `{"cart": "c2", "items": [], "persuadedBy": 1}`},
		{binding: "INGEST", id: "approved", params: `{"name": "a", "text": "One two. Three. Four five six"}`, event: `{"ok": true, "by": "ada"}`},
		{binding: "INGEST", id: "rejected", params: `{"name": "b", "text": "One"}`, event: `{"ok": false, "by": "bob"}`},
		{binding: "INGEST", id: "unanswered", params: `{"name": "c", "text": "One"}`},
		{binding: "INGEST", id: "empty", params: `{"name": "d", "text": ""}`},
		{binding: "FANOUT", id: "squares", params: `{"numbers": [1, 2, -3, 4]}`},
	}
}

// A performance is what an engine made of a sample.
type performance struct {
	Status string
	Output any
	// Calls of the steps' functions: name, occurrence, attempt.
	Calls []string
}

// perform runs one sample after the other on the engine behind an address, so that calls can be told apart.
func (r *rig) performAll(base string) map[string]performance {
	r.t.Helper()
	all := map[string]performance{}
	for _, s := range samples() {
		path := base + "/" + s.binding + "/" + s.id
		r.call(http.MethodPost, path, s.params, nil)
		if s.event != "" {
			r.call(http.MethodPut, path, s.event, nil)
		}
		var p performance
		r.Poll(s.id+" ends", func() (bool, any) {
			r.call(http.MethodGet, path, "", &p)
			return p.Status == "complete" || p.Status == "errored", p
		})
		r.call(http.MethodGet, base+"/calls", "", &p.Calls)
		all[s.id] = p
	}
	return all
}

func (r *rig) call(method, url, body string, into any) {
	r.t.Helper()
	r.callWith(method, url, body, into)
}

// callWith is call with headers, names and values in turns.
func (r *rig) callWith(method, url, body string, into any, headers ...string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, url, bytes.NewReader([]byte(body)))
	check(r.t, err)
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	resp, err := http.DefaultClient.Do(req)
	check(r.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	check(r.t, err)
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s %s: %s: %s", method, url, resp.Status, data)
	}
	if into != nil {
		check(r.t, json.Unmarshal(data, into))
	}
}

// TestSamples runs three workflows that were written for Cloudflare on the engine that Cloudflare's miniflare has in it,
// and, with other imports and another default export, on ours: in a Node.js process, and as a Worker inside workerd. What
// they come to, which functions were called, and how often, is the same.
func TestSamples(t *testing.T) {
	t.Parallel()
	build(t)
	ours := map[string][]string{"on Node.js": {"build/samples/serve.js"}, "in workerd": {"build/samples/workerd.js", "ported"}}
	cloudflare := newRig(t)
	want := cloudflare.performAll(cloudflare.spawnWith("build/samples/workerd.js", []string{"cloudflare"}, nil).base)
	for id, p := range want {
		t.Logf("%s: %+v", id, p)
	}
	for name, command := range ours {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			base := r.spawnWith(command[0], command[1:], nil).base
			r.StartNode(base)
			for id, got := range r.performAll(base) {
				if !reflect.DeepEqual(got, want[id]) {
					t.Errorf("%s is\n%+v on ours, and on Cloudflare's\n%+v", id, got, want[id])
				}
				r.on(t).Consistent(id)
				if named, called := r.stepNames(id), callNames(got.Calls); !slices.Equal(named, called) {
					t.Errorf("%s has the steps %v, and called %v", id, named, called)
				}
			}
		})
	}
}

// TestManyInWorkerd: runs of many instances at the same time, each in a request of its own, none of which may wait for
// what another has opened.
func TestManyInWorkerd(t *testing.T) {
	t.Parallel()
	build(t)
	r := newRig(t)
	base := r.spawnWith("build/samples/workerd.js", []string{"ported"}, nil).base
	r.StartNode(base)
	var ids []string
	for n := range 25 {
		id := fmt.Sprintf("many-%d", n)
		ids = append(ids, id)
		r.call(http.MethodPost, base+"/FANOUT/"+id, `{"numbers": [1, 2, -3, 4, 5, 6]}`, nil)
	}
	for _, id := range ids {
		row := r.untilStatus(id, "complete")
		if row.Runs != 1 || row.StepsDone != 9 {
			t.Errorf("%s took %d runs for %d steps", id, row.Runs, row.StepsDone)
		}
		r.Consistent(id)
	}
}

// stepNames are the rows of steps with functions, as name-occurrence.
func (r *rig) stepNames(id string) (names []string) {
	for _, s := range r.Steps(id) {
		if s.Kind == "do" {
			names = append(names, fmt.Sprintf("%s-%d", s.Name, s.Occurrence))
		}
	}
	slices.Sort(names)
	return names
}

func callNames(calls []string) (names []string) {
	for _, call := range calls {
		names = append(names, call[:strings.LastIndex(call, " attempt ")])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestPortedSamplesDifferAsPromised: porting changes imports and the default export, and nothing else.
func TestPortedSamplesDifferAsPromised(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("samples/cloudflare/*.ts")
	check(t, err)
	for _, file := range files {
		before, after := lines(t, file), lines(t, strings.Replace(file, "cloudflare", "ported", 1))
		before, after = slices.DeleteFunc(before, promised), slices.DeleteFunc(after, promised)
		if !slices.Equal(before, after) {
			t.Errorf("%s and what was ported differ by more than imports and the default export", file)
		}
	}
}

func promised(line string) bool {
	return strings.HasPrefix(line, "export default ") || strings.HasPrefix(line, "import ") &&
		(strings.Contains(line, `from "cloudflare:`) || strings.Contains(line, `from "@spooky-sync/backend"`))
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	check(t, err)
	return strings.Split(string(data), "\n")
}
