package backend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
)

// A Task is a job's payload.
type Task struct {
	Kind   string `json:"kind"`
	N      int    `json:"n"`
	Fails  int    `json:"fails"`
	WorkMS int    `json:"work_ms"`
	Tenant int    `json:"tenant"`
	// Of a DAG's: the row of forEach, and the answers that the step was waiting for.
	Input *plan.Item     `json:"input,omitempty"`
	Steps map[string]any `json:"steps,omitempty"`
}

// denials is how many jobs of a step have to fail for good.
func (t Task) denials() int {
	if t.Input != nil {
		return t.Input.Denials
	}
	return t.N
}

// given journals what a job of a DAG was told of those before it.
func (p *process) given(r *http.Request, t Task) {
	text, err := json.Marshal(t.Steps)
	if err != nil {
		panic(err) // it was JSON
	}
	p.journal.Write(journal.Entry{What: journal.Given, Job: jobOf(r), Nonce: nonceOf(r.Context()), Text: string(text)})
}

// doJob does what the plan says of this kind of job.
func (p *process) doJob(w http.ResponseWriter, r *http.Request) {
	var t Task
	if !decode(w, r, &t) {
		return
	}
	attempt, _ := strconv.Atoi(r.Header.Get("Spky-Attempt"))
	nonce := nonceOf(r.Context())
	if t.Steps != nil {
		p.given(r, t)
	}
	switch {
	case t.Kind == plan.JobSlow && !p.pause(r.Context(), time.Duration(t.WorkMS)*time.Millisecond):
		return
	case t.Kind == plan.JobFlaky && attempt <= t.Fails:
		status := []int{http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusTooManyRequests}[t.N%3]
		reply(w, status, map[string]string{"nonce": nonce, "error": "not yet"})
		return
	case t.Kind == plan.JobTorn && attempt <= t.Fails:
		w.Header().Set("X-Chaos-Torn", "1")
	case t.Kind == plan.JobHang && attempt == 1:
		<-r.Context().Done()
		return
	case t.Kind == plan.JobText:
		_, _ = fmt.Fprintf(w, "done %d nonce=%s;", t.N, nonce)
		return
	case t.Kind == plan.JobDeny, t.Kind == plan.JobAgain && plan.Retried(jobOf(r)) < t.denials():
		reply(w, http.StatusBadRequest, map[string]string{"nonce": nonce, "error": "denied"})
		return
	case t.Kind == plan.JobExhaust:
		reply(w, http.StatusInternalServerError, map[string]string{"nonce": nonce, "error": "as ever"})
		return
	}
	reply(w, http.StatusOK, map[string]any{"nonce": nonce, "n": t.N})
}
