package check

import (
	"fmt"
	"slices"
	"strings"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
)

func over(status string) bool {
	return status == "complete" || status == "errored" || status == "terminated"
}

// plannedInstance checks that an instance exists and ended as it should.
func (c *checker) plannedInstance(i plan.Instance) {
	row, ok := c.instances[i.ID]
	switch {
	case !ok:
		c.find("lost", i.ID, "the instance does not exist")
	case !over(row.Status):
		c.find("stuck", i.ID, "the instance is %s, waiting for %v until %s", row.Status, row.Waiting, clock(row.WakeAt))
	case row.Status == "terminated" && c.done(i.ID, plan.ActTerminate) > 0: // an operator wanted it
	case !slices.Contains(i.Ends(), row.Status):
		c.find("outcome", i.ID, "it ended as %s with %+v", row.Status, row.Error)
	}
}

// instanceHistory checks every change of an instance's row.
func (c *checker) instanceHistory(key string) {
	log := c.instanceLog[key]
	again := 0
	for n, e := range log {
		switch {
		case n == 0 && e.Event != "CREATE":
			c.find("history", key, "it begins with %s %s", e.Event, e.After)
		case n == 0:
		case e.Before != nil && e.After == nil && over(e.Before.Status):
			c.pruned(key, e.Before.Status, e.Before.Finished, e.At, c.keptRun(e.Before.Status))
		case e.Before == nil || e.After == nil:
			c.find("history", key, "at %s: %s", clock(&e.At), e.Event)
		case e.Before.Status == "errored" && e.After.Status == "queued" && e.After.Incarnation == e.Before.Incarnation:
			again++
			c.instanceFollows(key, log[n-1].After, e.Before)
		default:
			c.instanceFollows(key, log[n-1].After, e.Before)
			c.instanceChange(key, e)
		}
	}
	if done := c.done(key, plan.ActRetry); again > done {
		c.find("operator", key, "it began again %d times, and operators retried it %d times", again, done)
	}
}

// instanceFollows checks that a change finds what the one before it left.
func (c *checker) instanceFollows(key string, was, found *instanceState) {
	if was == nil || was.Status != found.Status || was.Fence != found.Fence || orNone(was.Token) != orNone(found.Token) ||
		was.StepsDone != found.StepsDone || was.Incarnation != found.Incarnation {
		c.find("history", key, "after %s the next change finds %s: an update was lost", was, found)
	}
}

func (c *checker) instanceChange(key string, e instanceEntry) {
	was, is := e.Before, e.After
	switch {
	case is.Fence < was.Fence:
		c.find("fence", key, "at %s the fence went from %d to %d", clock(&e.At), was.Fence, is.Fence)
	case over(was.Status) && is.Incarnation == was.Incarnation:
		c.find("history", key, "at %s it was over and changed: %s -> %s", clock(&e.At), was, is)
	case is.Token != nil && orNone(is.Token) != orNone(was.Token):
		if is.Fence == was.Fence {
			c.find("fence", key, "at %s a run took it without a new fence: %s -> %s", clock(&e.At), was, is)
		}
		if was.Token != nil && was.Until != nil && was.Until.After(e.At) {
			c.find("lease", key, "at %s a run took it from another whose lease lasts until %s: %s -> %s", clock(&e.At), clock(was.Until), was, is)
		}
	}
}

// stepHistory checks every change of an instance's steps: what is done stays as it is, and only a run writes, under
// the present fence.
func (c *checker) stepHistory(key string) {
	w := writers{passOf: map[fenceID]string{}, fenceOf: map[string]fenceID{}}
	for _, e := range c.stepLog[key] {
		if e.kept() {
			continue
		}
		if e.Before != nil && e.After != nil && stepOver(e.Before.Status) {
			c.find("committed twice", key, "at %s the step %v, which is done, was written again: %s -> %s", clock(&e.At), e.Step, e.Before, e.After)
		}
		if e.After == nil || e.After.Status == "waiting" || e.After.Status == "retrying" && e.Token == nil {
			continue // deleted by a restart; moved by the end of a pause
		}
		if e.Token == nil {
			c.find("stale", key, "at %s the step %v was written while no run had the instance", clock(&e.At), e.Step)
		}
		if fault := w.wrote(e); fault != "" {
			c.find("stale", key, "%s", fault)
		}
	}
}

func stepOver(status string) bool { return status == "complete" || status == "errored" }

// A fenceID is one fence of one incarnation.
type fenceID struct {
	incarnation int
	fence       int64
}

// writers are which pass wrote under which fence: one under each, and each under one.
type writers struct {
	passOf  map[fenceID]string
	fenceOf map[string]fenceID
}

// wrote notes a write and says what is wrong with it.
func (w writers) wrote(e stepEntry) string {
	id, pass := parseStep(e.Step), passIn(e.After.Output)
	if pass == "" || id.Kind != "do" {
		return ""
	}
	f := fenceID{id.Incarnation, e.Fence}
	other, known := w.passOf[f]
	before, wrote := w.fenceOf[pass]
	w.passOf[f], w.fenceOf[pass] = pass, f
	switch {
	case known && other != pass:
		return fmt.Sprintf("at %s, under fence %d, the pass %s wrote step %v, and %s had written under the same fence", clock(&e.At), e.Fence, pass, e.Step, other)
	case wrote && before != f:
		return fmt.Sprintf("at %s the pass %s wrote step %v under fence %d, and had written under fence %d", clock(&e.At), pass, e.Step, e.Fence, before.fence)
	}
	return ""
}

// passIn is the pass that made a step's result.
func passIn(output any) string {
	object, ok := output.(map[string]any)
	if !ok {
		return ""
	}
	pass, _ := object["pass"].(string)
	return pass
}

// counts checks that statement blocks were executed as often as their steps were stored.
func (c *checker) counts(i plan.Instance) {
	stored := map[string]int{}
	for _, e := range c.stepLog[i.ID] {
		if e.After != nil && e.After.Status == "complete" && (e.Before == nil || e.Before.Status != "complete") && !e.kept() {
			stored[parseStep(e.Step).Name]++
		}
	}
	counted := map[string]int{}
	for _, r := range c.Counts {
		if parts, ok := r.ID.ID.([]any); ok && len(parts) == 2 && fmt.Sprint(parts[0]) == i.ID {
			counted[fmt.Sprint(parts[1])] = r.N
		}
	}
	for n, op := range i.Ops {
		name := fmt.Sprintf("s%d", n)
		if op.Op == plan.OpQuery && stored[name] != counted[name] {
			c.find("counter", i.ID, "the block of %s was executed %d times and stored %d times", name, counted[name], stored[name])
		}
	}
}

// instanceRow checks an instance as it is in the end, and its steps and events.
func (c *checker) instanceRow(i plan.Instance, row instanceRow) {
	if !over(row.Status) {
		return // found as stuck
	}
	if row.Token != nil || row.Waiting != nil || row.WakeAt != nil {
		c.find("row", i.ID, "it is %s and still has run %s, waits for %v until %s", row.Status, orNone(row.Token), row.Waiting, clock(row.WakeAt))
	}
	if row.Warning != nil {
		c.find("row", i.ID, "it has the warning %v", row.Warning)
	}
	done := 0
	for id, step := range c.steps[i.ID] {
		switch {
		case id.Incarnation != row.Incarnation:
			c.find("row", i.ID, "a step of incarnation %d is left: %v", id.Incarnation, id)
		case stepOver(step.Status):
			done++
			c.stepAttempts(i.ID, id, step)
		}
	}
	if done != row.StepsDone {
		c.find("counter", i.ID, "steps_done is %d, and %d steps are done", row.StepsDone, done)
	}
	if row.Status == "complete" {
		c.output(i, row)
	}
	if last := i.Ops[len(i.Ops)-1]; row.Status == "errored" && (row.Error == nil || !strings.Contains(row.Error.Message, fmt.Sprintf("denied %d", last.V))) {
		c.find("outcome", i.ID, "it failed with %+v, want denied %d", row.Error, last.V)
	}
	c.sent(i, row)
	c.calls(i, row)
}

// stepAttempts checks that the attempts of a step that is done have all ended.
func (c *checker) stepAttempts(key string, id stepID, step stepRow) {
	for n, a := range step.Attempts {
		if a.EndedAt == nil || a.StartedAt == nil {
			c.find("attempts", key, "attempt %d of the %s step %v has no end", n+1, step.Status, id)
		}
		if last := n == len(step.Attempts)-1; !last && a.Error == nil || last && (a.Error != nil) != (step.Status == "errored") {
			c.find("attempts", key, "attempt %d of %d of the %s step %v has the error %+v", n+1, len(step.Attempts), step.Status, id, a.Error)
		}
	}
}

// output holds what the workflow returned against the plan, and against what its steps have stored.
func (c *checker) output(i plan.Instance, row instanceRow) {
	saw, ok := row.Output.([]any)
	if !ok || len(saw) != len(i.Ops) {
		c.find("outcome", i.ID, "it returned %v, want %d results", row.Output, len(i.Ops))
		return
	}
	for n, op := range i.Ops {
		name := fmt.Sprintf("s%d", n)
		step := func(kind string, occurrence int) stepRow {
			return c.steps[i.ID][stepID{i.ID, row.Incarnation, kind, name, occurrence}]
		}
		switch op.Op {
		case plan.OpPar:
			all, ok := saw[n].([]any)
			if !ok || len(all) != op.Width {
				c.find("outcome", i.ID, "%s came to %v, want %d results", name, saw[n], op.Width)
				continue
			}
			for k, one := range all {
				c.made(i.ID, name, op.V+k, one, step("do", k+1))
			}
			c.ended(i.ID, name, step("sleep", 1), "complete")
		case plan.OpSleep:
			c.ended(i.ID, name, step("sleep", 1), "complete")
		case plan.OpTimeout:
			c.ended(i.ID, name, step("waitForEvent", 1), "errored")
			if saw[n] != "timeout" {
				c.find("outcome", i.ID, "%s came to %v, want a timeout", name, saw[n])
			}
		case plan.OpEvent:
			c.ended(i.ID, name, step("waitForEvent", 1), "complete")
			if number(saw[n]) != op.V {
				c.find("outcome", i.ID, "%s got the event %v, want %d", name, saw[n], op.V)
			}
		default:
			c.made(i.ID, name, op.V, saw[n], step("do", 1))
		}
	}
}

func (c *checker) ended(key, name string, step stepRow, status string) {
	if step.Status != status {
		c.find("outcome", key, "the step %s is %q, want %s", name, step.Status, status)
	}
}

// made checks that a run saw of a step what is stored of it.
func (c *checker) made(key, name string, v int, saw any, step stepRow) {
	object, ok := saw.(map[string]any)
	if !ok || number(object["v"]) != v {
		c.find("outcome", key, "%s came to %v, want v %d", name, saw, v)
		return
	}
	if object["lost"] == true {
		if step.Error == nil || step.Error.Name != "AttemptLostError" {
			c.find("outcome", key, "%s was taken for lost, and is stored as %s %+v", name, step.Status, step.Error)
		}
		return
	}
	if step.Status != "complete" || passIn(step.Output) != passIn(saw) {
		c.find("outcome", key, "the workflow saw %v of %s, and stored is %s %v", saw, name, step.Status, step.Output)
	}
}

// sent checks events: what was acknowledged is there, and each was taken once, by the step that shows it.
func (c *checker) sent(i plan.Instance, row instanceRow) {
	taken := map[string]string{}
	there := map[string]int{}
	for _, e := range c.events[i.ID] {
		there[e.Type]++
		if e.ConsumedBy == nil {
			continue
		}
		id := parseStep(e.ConsumedBy.ID)
		if other, ok := taken[fmt.Sprint(id)]; ok {
			c.find("event", i.ID, "the step %v has taken the events %s and %v", id, other, e.ID.ID)
		}
		taken[fmt.Sprint(id)] = fmt.Sprint(e.ID.ID)
		output, _ := c.steps[i.ID][id].Output.(map[string]any)
		if number(output["payload"]) != number(e.Payload) || output["type"] != e.Type {
			c.find("event", i.ID, "the event %v was taken by %v, which shows %v", e, id, output)
		}
	}
	if row.Incarnation > 0 { // which forgets events
		return
	}
	for _, e := range c.of[i.ID] {
		words := strings.Fields(e.Text)
		if e.What == journal.Verb && len(words) == 3 && words[0] == "event" && words[2] == "done" {
			if there[strings.TrimSuffix(words[1], ":")]--; there[strings.TrimSuffix(words[1], ":")] == -1 {
				c.find("event", i.ID, "an acknowledged event %s is missing", words[1])
			}
		}
	}
}

// calls checks what the backends noted of a step's function: that a stored result was made by one, and that a step that
// must not be called twice was not.
func (c *checker) calls(i plan.Instance, row instanceRow) {
	calls, by := map[string]int{}, map[string]bool{}
	for _, e := range c.of[i.ID] {
		if e.What == journal.Call {
			calls[e.Step]++
			by[e.Step+" "+e.Nonce] = true
		}
	}
	for id, step := range c.steps[i.ID] {
		if pass := passIn(step.Output); pass != "" && i.Ops[opOf(id.Name)].Op != plan.OpQuery && !by[id.Name+" "+pass] {
			c.find("outcome", i.ID, "the step %v has a result of the pass %s, which never called it", id, pass)
		}
	}
	if row.Incarnation > 0 {
		return
	}
	for n, op := range i.Ops {
		if name := fmt.Sprintf("s%d", n); op.Op == plan.OpOnce && calls[name] > 1 {
			c.find("called twice", i.ID, "%s has no attempt but one, and was called %d times", name, calls[name])
		}
	}
}

// opOf is the place of a step's operation.
func opOf(name string) int {
	n := 0
	_, _ = fmt.Sscanf(name, "s%d", &n) // the script names them so
	return n
}
