package admin

import (
	"fmt"
	"strings"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// overdueAfter is for how long a job may have been due, with a node and a slot for it, before that is odd.
const overdueAfter = 10 * time.Second

// backendName is the backend's, as configuration or nodes name it.
func (f jobFacts) backendName() string {
	if f.backend != nil {
		return f.backend.Name
	}
	if serving, _ := f.servers(f.id.Table); len(serving) > 0 {
		return serving[0].Name
	}
	return ""
}

// service says what keeps every node from running a job of this table; nothing where one could.
func (f jobFacts) service() []Cause {
	var causes []Cause
	if c, ok := f.unserved(f.id.Table); ok {
		causes = append(causes, c)
		if len(f.backends) > 0 && f.backend == nil {
			causes = append(causes, f.noBackend())
		}
		return causes
	}
	serving, _ := f.servers(f.id.Table)
	for _, look := range []func([]server) (Cause, bool){f.circuitOpen, f.tableRefuses} {
		if c, ok := look(serving); ok {
			causes = append(causes, c)
		}
	}
	return causes
}

func (f jobFacts) noBackend() Cause {
	return Cause{
		Code:     "no_backend",
		Sentence: fmt.Sprintf("No backend of the configuration at hand has the outbox table %s.", f.id.Table),
		Facts:    map[string]any{"table": f.id.Table},
		Remedy:   fmt.Sprintf("give a backend `method.table: %s` in sp00ky.yml; `spky add api` writes one", f.id.Table),
	}
}

func (f jobFacts) circuitOpen(serving []server) (Cause, bool) {
	var since *time.Time
	reason := ""
	for _, s := range serving {
		if s.Circuit != "open" {
			return Cause{}, false
		}
		if since == nil || s.CircuitSince != nil && s.CircuitSince.Before(*since) {
			since, reason = s.CircuitSince, s.CircuitReason
		}
	}
	return Cause{
		Code: "circuit_open",
		Sentence: fmt.Sprintf("The circuit of backend %s has been open %s: it can't be reached (%s). Its jobs wait and lose no attempts; a probe twice a second closes it.",
			printable(f.backendName()), lasting(since, f.Now), quote(reason)),
		Facts:  map[string]any{"backend": f.backendName(), "since": since, "last_failure": reason, "nodes": serverNames(serving)},
		Remedy: fmt.Sprintf("start or mend the backend %s; the nodes have to reach its baseUrl and, where it has one, its health check", printable(f.backendName())),
	}, true
}

func (f jobFacts) tableRefuses(serving []server) (Cause, bool) {
	for _, s := range serving {
		if s.Refused == "" {
			return Cause{}, false
		}
	}
	return Cause{
		Code:     "table_refuses",
		Sentence: fmt.Sprintf("Table %s refuses the runner's writes: %s.", f.id.Table, quote(serving[0].Refused)),
		Facts:    map[string]any{"table": f.id.Table, "error": serving[0].Refused},
		Remedy:   "`spky doctor` checks the table's columns; an ASSERT, an event or a user's LIVE SELECT may be in the way",
	}, true
}

// queued explains a due job that some node could run.
func (f jobFacts) queued() Cause {
	serving, _ := f.servers(f.id.Table)
	var used []map[string]any
	var words []string
	free := 0
	for _, s := range serving {
		used = append(used, map[string]any{"node": s.node, "busy": s.Busy, "slots": s.Slots})
		words = append(words, fmt.Sprintf("%s %d of %d", printable(s.node), s.Busy, s.Slots))
		if s.Circuit != "open" {
			free += max(s.Slots-s.Busy, 0)
		}
	}
	c := Cause{Facts: map[string]any{"backend": f.backendName(), "run_at": *f.row.RunAt, "ahead": f.ahead, "nodes": used}}
	switch {
	case f.row.Queued:
		c.Code = "partition_full"
		c.Sentence = fmt.Sprintf("It has been due %s and waits in the queue of its partition: as many jobs with the same value of method.partitionBy run as may.", lasting(f.row.RunAt, f.Now))
		c.Remedy = fmt.Sprintf("wait for those, or raise method.partitionConcurrency of %s on all nodes: `spky jobs list --status processing` shows what runs", printable(f.backendName()))
	case free == 0:
		c.Code = "slots_full"
		c.Sentence = fmt.Sprintf("All slots of backend %s are taken (%s), and %s due before it.", printable(f.backendName()), strings.Join(words, ", "), f.before())
		c.Remedy = fmt.Sprintf("raise method.concurrency of %s, start another node with `spky run`, or see what holds the slots: `spky jobs list --status processing`", printable(f.backendName()))
	case f.ahead > 0:
		c.Code = "behind_others"
		c.Sentence = fmt.Sprintf("It has been due %s, and %s due before it; the oldest goes first.", lasting(f.row.RunAt, f.Now), f.before())
		c.Remedy = "wait; more slots (method.concurrency) or another node make it faster"
	default:
		f.due(&c, serving)
	}
	return c
}

func (f jobFacts) before() string {
	switch {
	case f.ahead == 0:
		return "none is"
	case f.ahead == 1:
		return "1 job is"
	case f.ahead >= maxAhead:
		return fmt.Sprintf("%d jobs or more are", maxAhead)
	}
	return fmt.Sprintf("%d jobs are", f.ahead)
}

// due is a job that nothing known holds up.
func (f jobFacts) due(c *Cause, serving []server) {
	c.Code = "due"
	c.Sentence = fmt.Sprintf("It has been due %s, and nothing known is in its way: %s should claim it in a moment.", lasting(f.row.RunAt, f.Now), nodeNames(serverNames(serving)))
	deaf := true
	for _, s := range serving {
		deaf = deaf && !s.Feed && !s.Polling
	}
	if deaf {
		c.Sentence += " Notifications of the table are down; the nodes look by themselves every 2 s."
	}
	if f.Now.Sub(*f.row.RunAt) > overdueAfter {
		c.Code = "overdue"
		c.Sentence = fmt.Sprintf("It has been due %s, with a node alive and a slot free, and was not claimed. Perhaps the database refuses to write this row.", lasting(f.row.RunAt, f.Now))
		c.Remedy = "search the logs of the nodes for the id of the job; `spky doctor` checks the table"
	}
}

func serverNames(serving []server) []string {
	names := make([]string, len(serving))
	for i, s := range serving {
		names[i] = s.node
	}
	return names
}

// processing explains a job that a node holds, or held.
func (f jobFacts) processing() []Cause {
	var causes []Cause
	if f.row.CancelRequested != nil {
		causes = append(causes, Cause{
			Code: "cancel_requested",
			Sentence: fmt.Sprintf("Its cancellation was asked for %s: node %s aborts its request and writes that down.",
				moment(*f.row.CancelRequested, f.Now), printable(f.row.Assignee)),
			Facts:  map[string]any{"requested_at": *f.row.CancelRequested, "node": f.row.Assignee},
			Remedy: "wait: it takes a second, and until the lease ends where the node is gone",
		})
	}
	return append(causes, f.held()...)
}

// held says who holds a job in processing.
func (f jobFacts) held() []Cause {
	facts := map[string]any{"node": f.row.Assignee, "lease_until": f.row.LeaseUntil, "attempt": f.row.Retries + 1, "attempts": f.row.Attempts, "since": f.row.UpdatedAt}
	node, known := f.find(f.row.Assignee)
	gone := Cause{Facts: facts, Remedy: "wait for the sweep, every 2 s; it counts as an attempt"}
	switch {
	case f.row.Assignee == "":
		gone.Code, gone.Sentence = "no_holder", "It is processing and no node holds it: somebody else than the runner wrote that. The next sweep makes it pending."
	case f.row.LeaseUntil != nil && !f.row.LeaseUntil.After(f.Now):
		gone.Code, gone.Sentence = "lease_expired", fmt.Sprintf("The lease of node %s ended %s without an outcome; the next sweep takes the job back.", printable(f.row.Assignee), moment(*f.row.LeaseUntil, f.Now))
	case !known:
		gone.Code, gone.Sentence = "holder_gone", fmt.Sprintf("Node %s held it and is gone; the next sweep of another takes the job over.", printable(f.row.Assignee))
	case !f.alive(node):
		facts["heartbeat_at"] = node.HeartbeatAt
		gone.Code, gone.Sentence = "holder_gone", fmt.Sprintf("Node %s held it and was last heard of %s, which is dead; the next sweep of another takes the job over.", printable(f.row.Assignee), moment(node.HeartbeatAt, f.Now))
	default:
		return []Cause{f.running(facts, node.Draining)}
	}
	if c, ok := f.unserved(f.id.Table); ok { // nobody sweeps the table
		return []Cause{gone, c}
	}
	return []Cause{gone}
}

func (f jobFacts) running(facts map[string]any, draining bool) Cause {
	c := Cause{Code: "running", Facts: facts}
	c.Sentence = fmt.Sprintf("Node %s has been running attempt %d of %d %s, under a lease that ends %s.",
		printable(f.row.Assignee), f.row.Retries+1, f.row.Attempts, lasting(f.row.UpdatedAt, f.Now), optional(f.row.LeaseUntil, f.Now))
	if draining {
		c.Sentence += " That node is shutting down: it lets the request finish, or gives the job back uncounted."
	}
	c.Remedy = "wait for the backend's answer; " + command("spky jobs cancel", f.subject()) + " aborts the request"
	if f.row.Instance != "" {
		c.Facts["instance"] = f.row.Instance
		c.Remedy = command("spky explain", f.row.Instance) + " says what the instance does in it"
	}
	return c
}

// misfit says why the backend can't run an instance at all, by what it last answered to a run.
func (f jobFacts) misfit() []Cause {
	if f.row.Instance == "" || f.row.Last == nil || f.row.Retries == 0 {
		return nil
	}
	binding := strings.TrimPrefix(f.row.Path, platformPath)
	facts := map[string]any{"binding": binding, "backend": f.backendName(), "instance": f.row.Instance, "last_error": f.row.Last.facts()}
	again := "; the job is tried again by itself"
	if outbox.Status(f.row.Status).Terminal() {
		again = "; then " + command("spky workflows instances retry", binding, f.row.Instance)
	}
	switch f.row.Last.Code {
	case "404":
		if f.row.Last.unknownInstance {
			return []Cause{{
				Code: "instance_unknown", Facts: facts, Remedy: "let backend and runner use one database: SPKY_DB_URL, SPKY_DB_NS and SPKY_DB_NAME" + again,
				Sentence: fmt.Sprintf("Backend %s does not find the instance %s: it looks into another database, or the instance was deleted.", printable(f.backendName()), printable(f.row.Instance)),
			}}
		}
		return []Cause{{
			Code: "binding_not_registered", Facts: facts, Remedy: fmt.Sprintf("register a workflow as %s in backend %s and deploy it", printable(binding), printable(f.backendName())) + again,
			Sentence: fmt.Sprintf("Backend %s answers 404: it has no workflow that is registered as %s.", printable(f.backendName()), quote(binding)),
		}}
	case "401", "403":
		return []Cause{{
			Code: "backend_refuses_token", Facts: facts, Remedy: "let auth.token in sp00ky.yml and the token that the backend expects agree" + again,
			Sentence: fmt.Sprintf("Backend %s answers %s: it does not accept the runner's token.", printable(f.backendName()), f.row.Last.Code),
		}}
	}
	return nil
}

// of is the causes of an instance's job, told as the job's.
func (f jobFacts) of() []Cause {
	causes := f.causes()
	for i := range causes {
		if causes[i].Facts == nil {
			causes[i].Facts = map[string]any{}
		}
		causes[i].Facts["job"] = surreal.FormatID(f.id)
		causes[i].Sentence = fmt.Sprintf("Its job %s: %s", printable(f.subject()), causes[i].Sentence)
	}
	return causes
}
