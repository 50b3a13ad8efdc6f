//go:build unix

package typescript_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"sp00ky.cloud/spky/surreal"
)

const (
	here  = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	there = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
)

// A tracedOutput is what a run of the workflow TRACED found.
type tracedOutput struct {
	Run   map[string]string `json:"run"`
	Trace map[string]string `json:"trace"`
	Shown []string          `json:"shown"`
	Child string            `json:"child"`
}

// traceparent is what an instance's row keeps of its creation.
func (r *rig) traceparent(id string) string {
	r.t.Helper()
	return read[[]struct {
		Traceparent string `json:"traceparent"`
	}](r, "SELECT traceparent FROM $id", map[string]any{"id": surreal.NewRecordID("_00_wf_instance", id)})[0].Traceparent
}

// found is what the run of an instance found, once it is complete.
func (r *rig) found(id string) (out tracedOutput) {
	r.t.Helper()
	text, err := json.Marshal(r.untilStatus(id, "complete").Output)
	check(r.t, err)
	check(r.t, json.Unmarshal(text, &out))
	return out
}

// TestTraces: an instance belongs to the trace that it is created in, its runs are told, and what they create belongs to
// it too.
func TestTraces(t *testing.T) {
	t.Parallel()
	build(t)
	r := newRig(t)
	base := r.spawn("build/features/traces.js", nil).base
	create := func(wish string, header ...string) (ids []string) {
		r.callWith(http.MethodPost, base, wish, &ids, header...)
		return ids
	}

	alone := create(`{}`, "Traceparent", here)[0]
	var ran struct{ State string }
	r.callWith(http.MethodPost, base+"/__spky/workflow/TRACED", `{"instance": "`+alone+`"}`, &ran, "Traceparent", there, "Tracestate", "a=b")
	r.Equal("what a run is told", r.untilStatus(alone, "complete").Output, json.RawMessage(`{"run": {"traceparent": "`+there+`", "tracestate": "a=b"}, "trace": {"traceparent": "`+there+`", "tracestate": "a=b"}, "shown": ["step", "attempt", "config"], "child": null}`))

	r.StartNode(base)
	for _, c := range []struct{ wish, header, want string }{
		{`{}`, here, here},
		{`{"outside": true}`, here, here},
		{`{"batch": true}`, here, here},
		{`{"given": {"traceparent": "` + there + `"}, "program": {"traceparent": "` + here + `"}}`, here, there},
		{`{"program": {"traceparent": "` + there + `"}}`, here, there},
		{`{"given": {}, "program": {"traceparent": "00-x"}}`, here, here},
		{`{"params": {"child": true}}`, here, here},
		{`{}`, "rubbish", ""},
		{`{"params": {"child": true}}`, "", ""},
	} {
		for _, id := range create(c.wish, "Traceparent", c.header) {
			if got := r.traceparent(id); got != c.want {
				t.Errorf("%s in a request of %q: the row has %q, want %q", c.wish, c.header, got, c.want)
			}
			out := r.found(id)
			run := out.Run["traceparent"]
			if run != out.Trace["traceparent"] || len(run) != len(here) || c.want != "" && run != c.want {
				t.Errorf("%s in a request of %q: the run is told %v, its step %v", c.wish, c.header, out.Run, out.Trace)
			}
			if out.Child != "" && r.traceparent(out.Child) != run {
				t.Errorf("%s in a request of %q: the run in %s creates one in %q", c.wish, c.header, run, r.traceparent(out.Child))
			}
			if strings.Contains(c.wish, "child") != (out.Child != "") {
				t.Errorf("%s: the child is %q", c.wish, out.Child)
			}
		}
	}
}

// TestTraceInWorkerd: with the flag that the document names, requests are told apart in workerd, too.
func TestTraceInWorkerd(t *testing.T) {
	t.Parallel()
	build(t)
	r := newRig(t)
	base := r.spawnWith("build/samples/workerd.js", []string{"ported", "nodejs_compat"}, nil).base
	for id, header := range map[string]string{"traced": here, "other": there, "untraced": ""} {
		r.callWith(http.MethodPost, base+"/FANOUT/"+id, `{"numbers": [1]}`, nil, "Traceparent", header)
		if got := r.traceparent(id); got != header {
			t.Errorf("%s: the row has %q, want %q", id, got, header)
		}
	}
}
