package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
)

const (
	pending    = "pending"
	processing = "processing"
	success    = "success"
	failed     = "failed"
)

// plannedJob checks that a job exists and came to what it should.
func (c *checker) plannedJob(j plan.Job) {
	key := j.Key()
	row, ok := c.jobs[key]
	switch {
	case !ok:
		c.find("lost", key, "the job does not exist")
	case row.Status == pending || row.Status == processing:
		c.find("stuck", key, "the job is %s", row.Status)
	case row.Status == "cancelled" && c.done(key, plan.ActCancelJob) > 0: // an operator wanted it
	case !slices.Contains(j.Ends(), row.Status):
		c.find("outcome", key, "a job of kind %s ended as %s", j.Kind, row.Status)
	case row.Status == success:
		c.result(j, row)
	case row.Status == failed:
		c.failure(j, row)
	}
}

// jobOver says whether a job in this state runs no more.
func jobOver(status string) bool {
	return status == success || status == failed || status == "cancelled"
}

// planned says whether a job is the plan's own, and not one that runs a workflow.
func planned(key string) bool {
	return strings.HasPrefix(key, "job:") || strings.HasPrefix(key, "part_job:")
}

// tenants checks that no tenant ever had more jobs running than it may.
func (c *checker) tenants() {
	of := map[string]int{}
	for _, j := range c.Plan.Jobs {
		if j.Tenant > 0 {
			of[j.Key()] = j.Tenant
		}
	}
	running := map[int]map[string]bool{}
	for _, e := range c.JobLog {
		tenant := of[e.Key]
		if tenant == 0 {
			continue
		}
		if running[tenant] == nil {
			running[tenant] = map[string]bool{}
		}
		if e.After == nil || e.After.Status != processing {
			delete(running[tenant], e.Key)
			continue
		}
		if running[tenant][e.Key] = true; len(running[tenant]) > plan.TenantConcurrency {
			c.find("partition", e.Key, "at %s tenant %d has %d jobs running: %v", clock(&e.At), tenant, len(running[tenant]), sorted(running[tenant], map[string]bool{}))
		}
	}
}

// failure checks why a job failed.
func (c *checker) failure(j plan.Job, row jobRow) {
	if j.Kind == plan.JobExhaust && row.Retries < j.MaxRetries {
		c.find("outcome", row.key(), "it failed after %d of %d attempts", row.Retries, j.MaxRetries)
	}
	if j.Kind == plan.JobDeny && (len(row.Errors) == 0 || number(row.Errors[len(row.Errors)-1].Code) != 400) {
		c.find("outcome", row.key(), "it failed, and its last error is not the answer 400 but %+v", row.Errors)
	}
}

// wasCancelled says whether somebody was told for sure that he cancelled the job before it ran.
func (c *checker) wasCancelled(key string) bool {
	return slices.ContainsFunc(c.verbs[key], func(e journal.Entry) bool {
		return e.Attempt == 1 && strings.Contains(e.Text, "found pending, changed true")
	})
}

var nonceText = regexp.MustCompile(`nonce"?[=:]\s*"?([A-Za-z0-9.-]+)`)

// nonceIn is the nonce of the request whose answer this is, "" for none.
func nonceIn(value any) string {
	if object, ok := value.(map[string]any); ok {
		nonce, _ := object["nonce"].(string)
		return nonce
	}
	if text, ok := value.(string); ok {
		if found := nonceText.FindStringSubmatch(text); found != nil {
			return found[1]
		}
	}
	return ""
}

// result checks that the result is the backend's answer to a request for this job.
func (c *checker) result(j plan.Job, row jobRow) {
	key := row.key()
	if nonce := nonceIn(row.Result); nonce == "" || c.byNonce[nonce].Job != key {
		c.find("outcome", key, "its result %v is no answer to a request for it", row.Result)
		return
	}
	if j.Kind == plan.JobCanceled && c.wasCancelled(key) && c.done(key, plan.ActRetryJob) == 0 {
		c.find("outcome", key, "it was cancelled before it ran, and ran")
	}
	switch result := row.Result.(type) {
	case map[string]any:
		if number(result["n"]) != j.N {
			c.find("outcome", key, "its result is %v, want n %d", result, j.N)
		}
	case string: // the other kind is the page of a backend that answers rubbish
		if !strings.HasPrefix(result, "<html>") && !strings.HasPrefix(result, fmt.Sprintf("done %d ", j.N)) {
			c.find("outcome", key, "its result is %q, want done %d", result, j.N)
		}
	}
}

// jobHistory checks every change of a job's row.
func (c *checker) jobHistory(key string) {
	log := c.jobLog[key]
	for n, e := range log {
		switch {
		case n == 0 && (e.Event != "CREATE" || e.After.Status != pending):
			c.find("history", key, "it begins with %s %s", e.Event, e.After)
		case n > 0 && e.Before != nil && !sameJob(log[n-1].After, e.Before):
			c.find("history", key, "after %s the next change finds %s: an update was lost", log[n-1].After, e.Before)
		}
		switch e.Event {
		case "DELETE":
			c.jobDeleted(key, e)
		case "UPDATE":
			c.jobChange(key, e)
		}
	}
	if again, done := c.again[key], c.done(key, plan.ActRetryJob); again != done {
		c.find("operator", key, "it began again %d times, and operators retried it %d times", again, done)
	}
	row, ok := c.jobs[key]
	if !ok || row.Gone != nil {
		return
	}
	left := &jobState{Status: row.Status, Epoch: row.Epoch, Retries: row.Retries, Assignee: row.Assignee}
	if len(log) == 0 || !sameJob(log[len(log)-1].After, left) {
		c.find("history", key, "the row %s is not what the last change left", left)
	}
}

// jobDeleted checks that a job was pruned, or is one of a run that its instance takes back.
func (c *checker) jobDeleted(key string, e jobEntry) {
	switch was := e.Before; {
	case jobOver(was.Status):
		c.pruned(key, was.Status, was.Updated, e.At, c.keptJob(was.Status))
	case was.Status != pending || planned(key):
		c.find("history", key, "it was deleted as %s", was)
	}
}

func sameJob(a, b *jobState) bool {
	return a != nil && b != nil && a.Status == b.Status && a.Epoch == b.Epoch && a.Retries == b.Retries && orNone(a.Assignee) == orNone(b.Assignee)
}

// jobChange checks one change.
func (c *checker) jobChange(key string, e jobEntry) {
	was, is := e.Before, e.After
	grown := is.Epoch - was.Epoch
	from, to := was.Status, is.Status
	if jobOver(from) {
		c.jobAgain(key, e)
		return
	}
	switch {
	case sameJob(was, is): // touched, or asked to be cancelled
	case from == pending && to == processing:
		c.claim(key, e)
	case from == pending && to == "cancelled" && grown == 0:
	case from == processing && to == processing:
		c.find("double", key, "at %s it was claimed while %s held it: %s -> %s", clock(&e.At), orNone(was.Assignee), was, is)
	case from == processing && grown == 0:
		c.wentOn(key, e)
		c.settlement(key, e)
	case from == processing && grown == 1:
		c.wentOn(key, e)
		c.reaping(key, e)
	default:
		c.find("history", key, "at %s: %s -> %s", clock(&e.At), was, is)
	}
}

// jobAgain checks a change of a job that is over: nothing but that it begins again.
func (c *checker) jobAgain(key string, e jobEntry) {
	was, is := e.Before, e.After
	switch {
	case sameJob(was, is):
	case is.Status == pending && is.Epoch == was.Epoch+1 && is.Retries == 0:
		c.again[key]++
	default:
		c.find("history", key, "at %s: %s -> %s", clock(&e.At), was, is)
	}
}

// wentOn checks that a job that is to be cancelled is not tried again.
func (c *checker) wentOn(key string, e jobEntry) {
	if e.Before.Cancel && e.After.Status == pending {
		c.find("operator", key, "at %s it was to be cancelled and went on: %s -> %s", clock(&e.At), e.Before, e.After)
	}
}

// claim checks that a job was claimed when it was due, under a new epoch.
func (c *checker) claim(key string, e jobEntry) {
	was, is := e.Before, e.After
	if is.Epoch != was.Epoch+1 || is.Assignee == nil || is.Until == nil || is.Retries != was.Retries {
		c.find("claim", key, "at %s it was claimed as %s -> %s", clock(&e.At), was, is)
	}
	if was.RunAt != nil && was.RunAt.After(e.At.Add(50*time.Millisecond)) {
		c.find("early", key, "at %s it was claimed %s before it was due", clock(&e.At), was.RunAt.Sub(e.At))
	}
}

// settlement checks that what an attempt came to was written by whoever held the job, for the attempt that it held.
func (c *checker) settlement(key string, e jobEntry) {
	was, is := e.Before, e.After
	if is.Retries != was.Retries && is.Retries != was.Retries+1 {
		c.find("history", key, "at %s its retries went from %d to %d", clock(&e.At), was.Retries, is.Retries)
	}
	if is.Retries > was.Retries && (is.Error == nil || is.Error.Attempt != was.Retries+1) {
		c.find("stale", key, "at %s attempt %d ended by what another came to: %s -> %s", clock(&e.At), was.Retries+1, was, is)
	}
	answer := is.Result
	if is.Status != success && is.Errors >= was.Errors && is.Error != nil && is.Error.Attempt == was.Retries+1 {
		answer = is.Error.Reason
	}
	nonce := nonceIn(answer)
	if nonce == "" {
		return // no answer of a backend, or that to a run
	}
	request, ok := c.byNonce[nonce]
	holder := life(was.Assignee)
	switch {
	case !ok || request.Job != key:
		c.find("stale", key, "at %s it got the answer %s, which is none to a request for it", clock(&e.At), nonce)
	case request.Node != holder || request.Attempt != was.Retries+1:
		c.find("stale", key, "at %s it was held by %s for attempt %d, and got the answer %s to attempt %d of %s",
			clock(&e.At), orNone(was.Assignee), was.Retries+1, nonce, request.Attempt, request.Node)
	}
}

// life is the node's name in the id of one of its lives.
func life(assignee *string) string {
	if assignee == nil {
		return ""
	}
	name, _, _ := strings.Cut(*assignee, "-")
	return name
}

const (
	// silence is after how long without a heartbeat a node is dead.
	silence = 10 * time.Second
	// blur is how much of the history a transaction may not have seen.
	blur = 2 * time.Second
)

// reaping checks that a job was taken only from a node that is gone, or whose lease had run out, when the transaction looked: a job that
// is pending again is due since then. Its end may be seconds later.
func (c *checker) reaping(key string, e jobEntry) {
	was, at := e.Before, e.At
	if e.After.RunAt != nil && e.After.RunAt.Before(at) {
		at = *e.After.RunAt
	}
	if e.After.Retries != was.Retries+1 {
		c.find("history", key, "at %s it was taken away without counting the attempt: %s -> %s", clock(&e.At), was, e.After)
	}
	if was.Assignee == nil || was.Until == nil || !was.Until.After(e.At) {
		return
	}
	var last *nodeEntry
	for i, beat := range c.beats[*was.Assignee] {
		if beat.At.Before(at.Add(-blur)) {
			last = &c.beats[*was.Assignee][i]
		}
	}
	if last != nil && last.Event != "DELETE" && last.At.After(at.Add(-silence+100*time.Millisecond)) && !c.leaves(*was.Assignee, at.Add(-blur), e.At) {
		c.find("lease", key, "at %s it was taken from %s, which was alive at %s and holds it until %s", clock(&at), *was.Assignee, clock(&last.At), clock(was.Until))
	}
}

// leaves says whether a node's row was deleted within some time, as one that ends does.
func (c *checker) leaves(node string, from, to time.Time) bool {
	return slices.ContainsFunc(c.beats[node], func(e nodeEntry) bool {
		return e.Event == "DELETE" && !e.At.Before(from) && !e.At.After(to)
	})
}

// jobRow checks a row as it is in the end.
func (c *checker) jobRow(row jobRow) {
	key := row.key()
	if row.Status == pending || row.Status == processing {
		if !c.planned[key] { // which are found as stuck already
			c.find("stuck", key, "the job is %s", row.Status)
		}
		return
	}
	if row.Assignee != nil || row.Until != nil || row.RunAt != nil {
		c.find("row", key, "it is %s and still has holder %s, lease %s, due %s", row.Status, orNone(row.Assignee), clock(row.Until), clock(row.RunAt))
	}
	if row.Status != success && row.Result != nil && row.Status != failed {
		c.find("row", key, "it is %s and has the result %v", row.Status, row.Result)
	}
	c.attempts(row)
}

// keptErrors is how many errors a row keeps.
const keptErrors = 20

// attempts checks that each failed attempt has its entry.
func (c *checker) attempts(row jobRow) {
	of := map[int]bool{}
	last := 0
	for _, e := range row.Errors {
		if e.Attempt < last {
			c.find("attempts", row.key(), "an error of attempt %d stands after one of attempt %d", e.Attempt, last)
		}
		last = e.Attempt
		of[e.Attempt] = true
	}
	if len(row.Errors) >= keptErrors {
		return
	}
	for n := 1; n <= row.Retries; n++ {
		if !of[n] {
			c.find("attempts", row.key(), "%d attempts failed, and there is no error of attempt %d", row.Retries, n)
		}
	}
	if last > row.Retries+1 {
		c.find("attempts", row.key(), "%d attempts failed, and there is an error of attempt %d", row.Retries, last)
	}
}

// jobRequests checks that every request had a claim: no node sends what it does not hold, or sends it twice.
func (c *checker) jobRequests(key string) {
	type attempt struct {
		node string
		n    int
	}
	claims := map[attempt]int{}
	for _, e := range c.jobLog[key] {
		if e.Before != nil && e.After != nil && e.After.Status == processing && e.After.Epoch != e.Before.Epoch {
			claims[attempt{life(e.After.Assignee), e.After.Retries + 1}]++
		}
	}
	for _, r := range c.requests[key] {
		a := attempt{r.Node, r.Attempt}
		if claims[a]--; claims[a] == -1 {
			c.find("unclaimed", key, "%s sent attempt %d more often than it claimed it (%s)", r.Node, r.Attempt, r.Nonce)
		}
	}
}
