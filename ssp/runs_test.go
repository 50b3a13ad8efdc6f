package ssp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sp00ky.cloud/spky/surreal"
)

// instance writes an instance and its first job, as a backend's engine does.
func (r *rig) instance(id string, traceparent any) {
	r.tb.Helper()
	r.exec("fn::spky::wf::create($new)", map[string]any{"new": map[string]any{
		"id": id, "binding": "FLOW", "params": map[string]any{}, "owner": surreal.None, "backend": "api", "job_table": "job", "version": surreal.None, "traceparent": traceparent,
	}})
}

// TestRunsAreCountedByWhatTheyCameTo answers runs in all kinds of ways.
func TestRunsAreCountedByWhatTheyCameTo(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	answers := make(chan string, 10)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		switch answer := <-answers; answer {
		case "busy":
			w.Header().Set("Spky-Retry", "busy")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "failed":
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = fmt.Fprintf(w, `{"state": %q}`, answer)
		}
	})
	n := r.start(s.backends())
	for i, answer := range []string{"complete", "suspended", "whatever\n", "failed", "busy"} {
		state := answer
		if i == 2 {
			state = "other"
		}
		answers <- answer
		r.instance(fmt.Sprint("i", i), surreal.None)
		r.eventually("a run is counted as "+state, func() bool { return n.metric("spky_workflow_runs_total", "api", state) == 1 })
	}
	answers <- "complete" // the busy one comes again
	r.eventually("the last one is complete", func() bool { return n.metric("spky_workflow_runs_total", "api", "complete") == 2 })
	answers <- "complete"
	r.settled(r.job("plain", "/x", nil), "success") // answered like a run, and is none
	if got := n.metric("spky_workflow_runs_total"); got != 6 {
		t.Errorf("%v runs are counted", got)
	}
}

// TestRunsOfOneInstanceAreInOneTrace looks at what two runs send: of an instance whose creator was in a
// trace, and of one whose creator was in none.
func TestRunsOfOneInstanceAreInOneTrace(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]any{"of its creator": creator, "of its own": surreal.None} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newJobs(t)
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"state": "suspended"}`) })
			r.start(s.backends())
			r.instance("one", from)
			r.eventually("it ran", func() bool { return len(s.requests()) == 1 })
			r.exec("fn::spky::wf::restart('one')", nil)
			r.eventually("it ran again", func() bool { return len(s.requests()) == 2 })
			first, second := s.requests()[0].Header, s.requests()[1].Header
			if first.Get("Spky-Job-Id") == second.Get("Spky-Job-Id") || first.Get("Traceparent")[:35] != second.Get("Traceparent")[:35] {
				t.Errorf("two runs sent %v and %v", first, second)
			}
			if _, known := from.(string); known != strings.HasPrefix(creator, first.Get("Traceparent")[:35]) {
				t.Errorf("sent %s", first.Get("Traceparent"))
			}
		})
	}
}
