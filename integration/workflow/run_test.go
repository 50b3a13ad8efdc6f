package workflow_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"testing"

	"sp00ky.cloud/spky/integration/internal/durable"
	"sp00ky.cloud/spky/surreal"
)

// A reply is the answer to a request for a run.
type reply struct {
	Code  int    `json:"-"`
	Retry string `json:"-"`
	State string `json:"state"`
	Error string `json:"error"`
	Text  string `json:"message"`
}

// ask requests a run from a backend, as the sync processor does, without waiting for the job to be due.
func (r *rig) ask(address, binding, id string, job surreal.RecordID) reply {
	req := runRequest(r.t, "http://"+address, binding, id, job)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{Text: err.Error()}
	}
	defer func() { _ = resp.Body.Close() }()
	out := reply{Code: resp.StatusCode, Retry: resp.Header.Get("Spky-Retry")}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		r.t.Errorf("the answer: %v", err)
	}
	return out
}

// run requests a run from a handler in the way of a node, which claims the job and settles it.
func (r *rig) run(handler http.Handler, binding, id string) reply {
	r.t.Helper()
	job := r.Instance(id).Job
	vars := map[string]any{"job": job}
	r.Exec("UPDATE $job SET status = 'processing', run_at = NONE WHERE status = 'pending' RETURN NONE", vars)
	got := r.serveRun(handler, runRequest(r.t, "", binding, id, job))
	if got.Code == http.StatusOK {
		r.Exec("UPDATE $job SET status = 'success' WHERE status = 'processing' RETURN NONE", vars)
	} else {
		r.Exec("UPDATE $job SET status = 'pending', run_at = time::now() WHERE status = 'processing' RETURN NONE", vars)
	}
	return got
}

func (r *rig) serveRun(handler http.Handler, req *http.Request) reply {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	out := reply{Code: w.Code, Retry: w.Header().Get("Spky-Retry")}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		r.t.Errorf("the answer %q: %v", w.Body.String(), err)
	}
	return out
}

func runRequest(t *testing.T, base, binding, id string, job surreal.RecordID) *http.Request {
	body := bytes.NewReader(durable.Must(json.Marshal(map[string]string{"instance": id})))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/__spky/workflow/"+binding, body)
	check(t, err)
	req.Header.Set("Spky-Timeout-Ms", "60000")
	if job.Table != "" {
		req.Header.Set("Spky-Job-Id", url.PathEscape(surreal.FormatID(job)))
	}
	return req
}

// A snapshot is everything that a run could write.
type snapshot map[string]any

func (r *rig) snapshot() snapshot {
	r.t.Helper()
	s := snapshot{}
	for _, table := range []string{"_00_wf_instance", "_00_wf_step", "_00_wf_event", r.Table, "_00_signal"} {
		s[table] = read[any](r, fmt.Sprintf("SELECT * FROM %s ORDER BY id", table), nil)
	}
	return s
}

// fingerprint is short for a snapshot.
func (r *rig) fingerprint() string {
	r.t.Helper()
	return read[string](r, "RETURN crypto::sha256(<string>[(SELECT * FROM _00_wf_instance), (SELECT * FROM _00_wf_step), (SELECT * FROM _00_wf_event), (SELECT * FROM _00_signal), (SELECT * FROM type::table($jobs))])",
		map[string]any{"jobs": r.Table})
}

// unchanged compares with an earlier snapshot.
func (r *rig) unchanged(what string, before snapshot) {
	r.t.Helper()
	after := r.snapshot()
	for table := range before {
		if !reflect.DeepEqual(before[table], after[table]) {
			r.t.Errorf("%s changed %s from\n%v\nto\n%v", what, table, before[table], after[table])
		}
	}
}

// lapse lets the time pass that an instance's lease lasts.
func (r *rig) lapse(id string) {
	r.t.Helper()
	r.Exec("UPDATE $id SET lease_until = time::now() - 1s WHERE lease_token != NONE RETURN NONE", map[string]any{"id": instanceKey(id)})
}
