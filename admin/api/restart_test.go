package api

import (
	"net/http"
	"strings"
	"testing"
)

// TestRestartFrom posts where to begin again from, and what can't be meant.
func TestRestartFrom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.instance("i")
	r.exec(`UPDATE _00_wf_instance:i SET status = 'complete', runs = 1, steps_done = 2, finished_at = time::now();
		FOR $n IN [1, 2] {
			CREATE type::record('_00_wf_step', ['i', 0, 'do', 's' + <string>$n, 1]) SET instance = _00_wf_instance:i, seq = $n, kind = 'do', name = 's' + <string>$n,
				occurrence = 1, status = 'complete', attempts = [], started_at = time::now(), finished_at = time::now()
		}`, nil)
	for body, want := range map[string]struct {
		status int
		says   string
	}{
		`{"from": {"name": "s3"}}`:                       {http.StatusNotFound, `"code":"step_not_found"`},
		`{"from": {"name": "s1", "count": 2}}`:           {http.StatusNotFound, `step \"s1\" #2 not found in execution history`},
		`{"from": {"name": "s1", "type": "sleep"}}`:      {http.StatusNotFound, "the list of the instance's steps"},
		`{"from": {}}`:                                   {http.StatusUnprocessableEntity, "the name of the step is missing"},
		`{"from": {"name": "s1", "count": 0}}`:           {http.StatusUnprocessableEntity, "count 0 of step"},
		`{"from": {"name": "s1", "count": -3}}`:          {http.StatusUnprocessableEntity, "count -3 of step"},
		`null`:                                           {http.StatusUnprocessableEntity, "it is null"},
		` null `:                                         {http.StatusUnprocessableEntity, "it is null"},
		`{"from": null}`:                                 {http.StatusUnprocessableEntity, "from is null"},
		`{"from": {"name": "s1"}, "FROM": null}`:         {http.StatusUnprocessableEntity, "FROM is null"},
		`{"from": {"name": null}}`:                       {http.StatusUnprocessableEntity, "from.name is null"},
		`{"from": {"name": "s1", "count": null}}`:        {http.StatusUnprocessableEntity, "from.count is null"},
		`{"from": {"name": "s1", "count": "1"}}`:         {http.StatusUnprocessableEntity, "from.count"},
		`{"from": {"name": "s1", "count": 1.5}}`:         {http.StatusUnprocessableEntity, "from.count"},
		`{"from": {"name": 1}}`:                          {http.StatusUnprocessableEntity, "from.name"},
		`{"from": {"name": "s1", "type": "step"}}`:       {http.StatusUnprocessableEntity, "allowed: do, sleep, waitForEvent"},
		`{"from": {"name": "s1", "occurrence": 1}}`:      {http.StatusUnprocessableEntity, "occurrence"},
		`{"form": {"name": "s1"}}`:                       {http.StatusUnprocessableEntity, "form"},
		`{"from": "s1"}`:                                 {http.StatusUnprocessableEntity, "from"},
		`{"from": {"name": "` + long(257) + `"}}`:        {http.StatusUnprocessableEntity, "longer than 256"},
		`{"from": {"name": "s1"}} {"from": {"name": 1}}`: {http.StatusBadRequest, "more after"},
	} {
		if got := r.post("/durable/instances/i/restart", body); got.status != want.status || !strings.Contains(got.text, want.says) {
			t.Errorf("%.60s: %d %s", body, got.status, got.text)
		}
	}
	if i, err := r.durable.Get(r.ctx, "i"); err != nil || i.Status != "complete" || i.Incarnation != 0 {
		t.Errorf("what was refused made it %+v, %v", i, err)
	}
	if got := r.post("/durable/instances/i/restart", `{"from": {"name": "s2", "count": 1, "type": "do"}}`); got.status != http.StatusOK || !strings.Contains(got.text, `"was":"complete"`) {
		t.Errorf("from s2: %d %s", got.status, got.text)
	}
	if i, err := r.durable.Get(r.ctx, "i"); err != nil || i.Status != "queued" || i.StepsDone != 1 {
		t.Errorf("it is %+v, %v", i, err)
	}
	if got := r.post("/durable/instances/i/restart", ""); got.status != http.StatusOK {
		t.Errorf("from the start: %d %s", got.status, got.text)
	}
	if i, err := r.durable.Get(r.ctx, "i"); err != nil || i.StepsDone != 0 || i.Incarnation != 2 {
		t.Errorf("it is %+v, %v", i, err)
	}
	if got := r.post("/durable/instances/none/restart", `{"from": {"name": "s2"}}`); got.status != http.StatusNotFound || !strings.Contains(got.text, `"not_found"`) {
		t.Errorf("of none: %d %s", got.status, got.text)
	}
}

func long(n int) string { return strings.Repeat("x", n) }
