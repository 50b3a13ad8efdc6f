package admin

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

//go:embed surql/explain_job.surql
var explainJobStatement string

// maxAhead bounds how many jobs are counted that are due before one.
const maxAhead = 1000

// platformPath is where the platform's own jobs go.
const platformPath = "/__spky/workflow/"

// jobFacts are what explains a job, at one moment of the database's clock.
type jobFacts struct {
	nodeFacts

	id    surreal.RecordID
	found bool
	row   explainedJob
	// backends are those of the configuration, backend the one whose table this is.
	backends []config.Backend
	backend  *config.Backend
	// ahead counts the jobs of the table that are due before a due one, up to maxAhead.
	ahead int
}

// An explainedJob is a job's row as the statement answers it.
type explainedJob struct {
	ID        surreal.RecordID `json:"id"`
	Status    string           `json:"status"`
	Path      string           `json:"path"`
	Retries   int              `json:"retries"`
	Attempts  int              `json:"attempts"`
	Delay     int64            `json:"delay"`
	CreatedAt *time.Time       `json:"created_at"`
	UpdatedAt *time.Time       `json:"updated_at"`
	RunAt     *time.Time       `json:"run_at"`
	// Queued says that it waits in its partition's queue.
	Queued          bool         `json:"queued"`
	Assignee        string       `json:"assignee"`
	LeaseUntil      *time.Time   `json:"lease_until"`
	CancelRequested *time.Time   `json:"cancel_requested"`
	Failures        int          `json:"failures"`
	Last            *lastFailure `json:"last"`
	// Instance is the one that the job runs, "" for a job that the platform did not write.
	Instance string `json:"instance"`
}

// A lastFailure is the newest entry of a job's errors.
type lastFailure struct {
	Code   string     `json:"code"`
	Reason string     `json:"reason"`
	At     *time.Time `json:"at"`
	// unknownInstance says that a backend did not find the instance that it was to run.
	unknownInstance bool
}

// says is the failure for a sentence.
func (l *lastFailure) says() string {
	reason := strings.TrimSpace(l.Reason)
	if l.Code == "0" || l.Code == "" {
		return quote(reason)
	}
	return l.Code + " " + quote(reason)
}

// facts are the failure's.
func (l *lastFailure) facts() map[string]any {
	return map[string]any{"code": l.Code, "reason": cutTo(l.Reason), "at": l.At}
}

// cutTo is a text that somebody else wrote, at most maxQuote characters of it.
func cutTo(text string) string {
	all := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	if len(all) <= maxQuote {
		return string(all)
	}
	return string(all[:maxQuote]) + "…"
}

// code is the last failure's, "" without one.
func (j explainedJob) code() string {
	if j.Last == nil {
		return ""
	}
	return j.Last.Code
}

// jobFacts reads the job first, so that nothing it says lies after the clock that is read with the nodes.
func (e *Explainer) jobFacts(ctx context.Context, id surreal.RecordID) (jobFacts, error) {
	f, err := e.jobRow(ctx, id)
	if err != nil {
		return f, err
	}
	nodes, err := e.nodeFacts(ctx)
	if err != nil {
		return f, err
	}
	err = e.among(ctx, &f, nodes)
	return f, err
}

func (e *Explainer) jobRow(ctx context.Context, id surreal.RecordID) (jobFacts, error) {
	f := jobFacts{id: id, backends: e.backends}
	for i, b := range e.backends {
		if b.Table == id.Table {
			f.backend = &e.backends[i]
		}
	}
	if ok, err := e.isOutbox(ctx, id.Table); err != nil || !ok {
		return f, err
	}
	rows, err := surreal.First[[]explainedJob](ctx, e.db, explainJobStatement, map[string]any{"id": id})
	if surreal.IsNotFound(err) {
		return f, nil // no such table
	}
	if err != nil {
		return f, fmt.Errorf("read the job: %w", err)
	}
	if len(rows) == 0 {
		return f, nil
	}
	f.found, f.row = true, rows[0]
	if last := f.row.Last; last != nil {
		last.unknownInstance = strings.Contains(last.Reason, `"unknown_instance"`)
	}
	return f, e.hider.failure(ctx, id, f.row.Last)
}

// among puts a job beside the nodes, and counts what is due before it.
func (e *Explainer) among(ctx context.Context, f *jobFacts, nodes nodeFacts) error {
	f.nodeFacts = nodes
	if f.row.Status != string(outbox.Pending) || f.row.RunAt == nil || f.row.RunAt.After(f.Now) {
		return nil
	}
	due, err := e.box(f.id.Table).Due(ctx, time.Unix(0, 0), f.row.RunAt.Add(-1), maxAhead)
	f.ahead = len(due)
	return err
}

func (f jobFacts) subject() string { return surreal.FormatID(f.id) }

// causes are why the job is where it is.
func (f jobFacts) causes() []Cause {
	switch outbox.Status(f.row.Status) {
	case outbox.Pending:
		return f.pending()
	case outbox.Processing:
		return f.processing()
	case outbox.Success, outbox.Failed, outbox.Cancelled:
		return []Cause{f.ended()}
	}
	return []Cause{f.unknown()}
}

func (f jobFacts) missing() Cause {
	return Cause{
		Code:     "not_found",
		Sentence: fmt.Sprintf("There is no job %s: it was never written, its transaction did not commit, it has been deleted, or %s is no outbox table.", printable(f.subject()), f.id.Table),
		Remedy:   "look for it with `spky jobs list`; mind that job:7 and job:`7` are two ids",
	}
}

func (f jobFacts) unknown() Cause {
	return Cause{
		Code:     "unknown_status",
		Sentence: fmt.Sprintf("Its status is %s, which no node knows: somebody else than the runner wrote it, and nobody will touch it.", quote(f.row.Status)),
		Facts:    map[string]any{"status": f.row.Status, "known": outbox.Statuses()},
		Remedy:   fmt.Sprintf("as an operator of the database: UPDATE %s SET status = 'pending' runs it, status = 'cancelled' ends it", printable(f.subject())),
	}
}

// pending explains a job that waits: when it is not due first by its time, else by who should run it.
func (f jobFacts) pending() []Cause {
	service := f.service()
	if f.row.RunAt == nil {
		return append(service, f.unscheduled())
	}
	causes := f.misfit()
	if f.row.RunAt.After(f.Now) {
		return append(append(causes, f.notDue()), service...)
	}
	if len(service) == 0 {
		service = []Cause{f.queued()}
	}
	causes = append(causes, service...)
	if c, ok := f.tried(); ok {
		causes = append(causes, c)
	}
	return causes
}

// unscheduled is a pending row that was written around the column's expression.
func (f jobFacts) unscheduled() Cause {
	return Cause{
		Code:     "unscheduled",
		Sentence: "It has no run_at, as after an import: the nodes see it only when they look at everything, within half a minute.",
		Remedy:   "wait, or restart a node, which begins with such a look",
	}
}

// notDue is a job whose time has not come.
func (f jobFacts) notDue() Cause {
	if c, ok := f.tried(); ok {
		return c
	}
	c := Cause{
		Code:     "not_due",
		Sentence: fmt.Sprintf("It is not due yet: it runs %s.", moment(*f.row.RunAt, f.Now)),
		Facts:    map[string]any{"run_at": *f.row.RunAt, "delay_ms": f.row.Delay},
	}
	if f.row.Delay > 0 && f.row.Instance == "" {
		c.Sentence = fmt.Sprintf("It is not due yet: it was created with a delay of %s and runs %s.", span(time.Duration(min(f.row.Delay, maxDelay))*time.Millisecond), moment(*f.row.RunAt, f.Now))
		c.Remedy = "wait; or " + command("spky jobs cancel", f.subject()) + " and create it without a delay"
	}
	return c
}

// tried is a pending job that has failed before; false for one that has not.
func (f jobFacts) tried() (Cause, bool) {
	if f.row.Last == nil {
		return Cause{}, false
	}
	facts := map[string]any{"run_at": *f.row.RunAt, "failed_attempts": f.row.Retries, "attempts": f.row.Attempts, "last_error": f.row.Last.facts()}
	next := fmt.Sprintf("the next begins %s", moment(*f.row.RunAt, f.Now))
	if !f.row.RunAt.After(f.Now) {
		next = "the next has been due " + lasting(f.row.RunAt, f.Now)
	}
	cancel := "wait; or give it up with " + command("spky jobs cancel", f.subject())
	switch {
	case f.row.Last.Code == "lease_expired":
		return Cause{
			Code: "taken_back", Facts: facts, Remedy: cancel,
			Sentence: fmt.Sprintf("It was taken back %s from a node that was gone (%s), which counts as attempt %d of %d; %s.",
				optional(f.row.Last.At, f.Now), quote(f.row.Last.Reason), f.row.Retries, f.row.Attempts, next),
		}, true
	case f.row.Retries == 0:
		return Cause{
			Code: "unreached", Facts: facts, Remedy: "see that the backend runs and listens at its baseUrl",
			Sentence: fmt.Sprintf("Its backend was not reached %s (%s), which does not count as an attempt; %s.",
				optional(f.row.Last.At, f.Now), f.row.Last.says(), next),
		}, true
	}
	return Cause{
		Code: "backing_off", Facts: facts, Remedy: cancel,
		Sentence: fmt.Sprintf("Attempt %d of %d failed %s with %s; %s.", f.row.Retries, f.row.Attempts, optional(f.row.Last.At, f.Now), f.row.Last.says(), next),
	}, true
}

// ended explains a job that runs no more.
func (f jobFacts) ended() Cause {
	again := command("spky jobs retry", f.subject()) + " runs it again from its first attempt"
	at := optional(f.row.UpdatedAt, f.Now)
	c := Cause{Remedy: again, Facts: map[string]any{"failed_attempts": f.row.Retries, "attempts": f.row.Attempts, "ended_at": f.row.UpdatedAt}}
	if f.row.Last != nil {
		c.Facts["last_error"] = f.row.Last.facts()
	}
	cancelled := f.row.Status == string(outbox.Cancelled) || f.row.code() == outbox.CodeCancelled
	switch {
	case f.row.Status == string(outbox.Success):
		c.Code, c.Sentence = "succeeded", fmt.Sprintf("It succeeded %s, in attempt %d.", at, f.row.Retries+1)
	case cancelled:
		c.Code, c.Sentence = "cancelled", fmt.Sprintf("It was cancelled %s.", at)
		if f.row.Last != nil && f.row.code() == outbox.CodeCancelled {
			c.Sentence = fmt.Sprintf("It was cancelled %s (%s).", at, quote(f.row.Last.Reason))
		}
	case f.row.Last == nil || f.row.Last.Code == "":
		c.Code, c.Sentence = "failed", fmt.Sprintf("It failed %s, and its row does not say why: somebody else than the runner wrote it.", at)
	default:
		f.failed(&c, at)
	}
	return c
}

func (f jobFacts) failed(c *Cause, at string) {
	last := f.row.Last
	again := "; then " + command("spky jobs retry", f.subject())
	switch misfit := f.misfit(); {
	case len(misfit) > 0:
		*c = misfit[0]
	case last.Code == outbox.CodeRefused:
		c.Code, c.Sentence = "refused", fmt.Sprintf("The runner refused it %s and sent no request: %s.", at, quote(last.Reason))
		c.Facts["path"] = f.row.Path
		c.Remedy = "write a new job whose path or payload the reason does not object to; where the path is right, add it to the backend's OpenAPI document" + again
	case last.Code == "lease_expired":
		c.Code = "lost_too_often"
		c.Sentence = fmt.Sprintf("Nodes that ran it were lost %d times, the last %s (%s); it may be what kills them.", f.row.Retries, at, quote(last.Reason))
		c.Remedy = "look at the logs of the nodes and of the backend" + again
	case f.row.Retries < f.row.Attempts:
		c.Code = "not_retried"
		c.Sentence = fmt.Sprintf("Attempt %d of %d failed %s with %s, which the backend's method.retryOn: transient takes as final.", f.row.Retries, f.row.Attempts, at, last.says())
		c.Remedy = "mend what the answer says" + again
	default:
		c.Code = "attempts_exhausted"
		c.Sentence = fmt.Sprintf("All %s failed, the last %s with %s.", counted(f.row.Attempts, "attempt"), at, last.says())
		if f.row.Attempts == 1 {
			c.Sentence = fmt.Sprintf("Its only attempt failed %s with %s.", at, last.says())
		}
		c.Remedy = "mend what the last error says" + again
	}
}
