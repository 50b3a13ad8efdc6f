package api

import (
	"net/http"
	"strings"
	"testing"
)

// TestWhatIsGivenAndSaysNothing sends nulls, zeros and empty texts where what is left out means all, or the default:
// each is refused in words, and nothing is done.
func TestWhatIsGivenAndSaysNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.schedules("nightly")
	r.job("kept")
	r.exec("UPDATE job:kept SET status = 'success'", nil)
	jobs := r.json("SELECT id, status FROM job", nil)
	for _, c := range []struct{ path, body, says string }{
		{"/jobs", `{"path": "/work", "max_retries": 0}`, "max_retries is 0; allowed: 1 to 100"},
		{"/jobs", `{"path": "/work", "max_retries": 101}`, "max_retries is 101; allowed: 1 to 100"},
		{"/jobs", `{"path": "/work", "max_retries": null}`, "max_retries is null"},
		{"/jobs", `{"path": "/work", "timeout": 0}`, "timeout is 0; allowed: 1 to 3600"},
		{"/jobs", `{"path": "/work", "id": null}`, "id is null"},
		{"/jobs/clear", `null`, "it is null"},
		{"/jobs/clear", `{"table": null}`, "table is null"},
		{"/jobs/clear", `{"table": ""}`, "table is empty; leave it out for all of them"},
		{"/tokens", `{"label": "a", "scope": "read", "ttl_days": 0}`, "ttl_days is 0; allowed: 1 to 365"},
		{"/tokens", `{"label": "a", "scope": "read", "ttl_days": -1}`, "ttl_days is -1; allowed: 1 to 365"},
		{"/tokens", `{"label": "a", "scope": "read", "ttl_days": null}`, "ttl_days is null"},
		{"/schedules/nightly/release", `{"key": null}`, "key is null"},
		{"/schedules/nightly/release", `{"key": ""}`, "key is empty; leave it out for all of them"},
		{"/durable/workflows/ALPHA/instances", `{"id": null}`, "id is null"},
		{"/durable/workflows/ALPHA/instances", `{"owner": null}`, "owner is null"},
	} {
		got := r.post(c.path, c.body)
		if f := got.fault(t); got.status != http.StatusUnprocessableEntity || f.Code != "invalid" || !strings.Contains(got.text, c.says) {
			t.Errorf("%s %s: %d %s", c.path, c.body, got.status, got.text)
		}
	}
	if got := r.json("SELECT id, status FROM job", nil); got != jobs {
		t.Errorf("what was refused made of the jobs %s", got)
	}
	if got := r.json("SELECT * FROM _00_admin_token", nil) + r.json("SELECT * FROM _00_wf_instance", nil); got != "[][]" {
		t.Errorf("what was refused made %s", got)
	}
	for path, body := range map[string]string{
		"/durable/workflows/ALPHA/instances": `{"params": null}`, "/jobs": `{"path": "/work", "payload": null}`, // JSON like any other
	} {
		if got := r.post(path, body); got.status != http.StatusCreated {
			t.Errorf("%s %s: %d %s", path, body, got.status, got.text)
		}
	}
}

// TestRunsOfNoDAG are not an empty list.
func TestRunsOfNoDAG(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runs("there")
	for query, want := range map[string]int{
		"workflow=nope": http.StatusNotFound, "workflow=nope&status=failed": http.StatusNotFound, "workflow=there": http.StatusOK, "workflow=there&status=failed": http.StatusOK,
	} {
		if got := r.get("/workflows/runs?" + query); got.status != want {
			t.Errorf("%s: %d %s", query, got.status, got.text)
		}
	}
}
