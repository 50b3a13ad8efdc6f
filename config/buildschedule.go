package config

import (
	"slices"
	"strings"
	"time"
)

const shortestInterval = 10 * time.Second

// buildSchedules fills in the schedules and DAGs and checks what they refer to.
func (l *loader) buildSchedules() {
	names := make(map[string]place)
	for _, e := range l.raw.Schedules {
		names[e.name] = e.at
		l.checkStartedName(e.at, e.name, "schedule")
		l.checkSchedule(e)
		l.cfg.Schedules = append(l.cfg.Schedules, schedule(e))
	}
	for _, e := range l.raw.Workflows {
		if at, taken := names[e.name]; taken {
			l.d.fault(e.at, "found the name of a schedule, "+describeEntry(at)+", allowed: a name of its own", "rename one of the two")
		}
		l.checkStartedName(e.at, e.name, "DAG")
		l.checkDAG(e)
		l.cfg.Workflows = append(l.cfg.Workflows, dag(e))
	}
}

// checkStartedName checks what is a part of addresses, and what the ids begin with of everything that is started.
func (l *loader) checkStartedName(at place, name, what string) {
	if !startedPattern.MatchString(name) {
		l.d.fault(at, "found the name "+quote(cut(name))+", allowed: a letter of A to Z or a digit, then at most 99 characters without / and \\ that can be printed", "rename the "+what)
	}
}

func schedule(e entry[rawSchedule]) Schedule {
	r := e.value
	return Schedule{
		Name: e.name, Cron: r.Cron, Every: time.Duration(r.Every), Timezone: r.Timezone,
		Backend: r.Backend, Route: r.Route, Workflow: r.Workflow, Payload: r.Payload.value,
		ForEach: forEach(r.ForEach), Concurrency: r.Concurrency, Retry: Retry(r.Retry),
		Timeout: time.Duration(r.Timeout), Deadline: time.Duration(r.Deadline),
		QuarantineAfter: r.QuarantineAfter, Enabled: r.Enabled,
		History: History{Mode: r.History.Mode, Success: time.Duration(r.History.Success), Failed: time.Duration(r.History.Failed)},
	}
}

func forEach(raw *rawForEach) *ForEach {
	if raw == nil {
		return nil
	}
	return &ForEach{Query: raw.Query, Key: raw.Key}
}

func (l *loader) checkSchedule(e entry[rawSchedule]) {
	r, key := e.value, e.at.key
	l.checkClock(e.at, r.Every)
	l.checkForEach(key+".forEach", r.ForEach)
	hasBackend, hasRoute, hasWorkflow := l.d.has(key+".backend"), l.d.has(key+".route"), l.d.has(key+".workflow")
	switch {
	case hasWorkflow && (hasBackend || hasRoute):
		l.d.fault(l.d.at(key+".workflow"), "found a workflow beside a backend or route, allowed: workflow, or backend and route", "keep one of the two")
	case hasWorkflow:
		l.checkBinding(key+".workflow", r.Workflow)
		l.checkOfJobs(key)
	case !hasBackend || !hasRoute:
		missing := "backend"
		if hasBackend {
			missing = "route"
		}
		at := e.at
		at.key = key + "." + missing
		l.d.fault(at, "the key is missing, allowed: backend and route, or workflow", "add `"+missing+":`")
	default:
		l.checkTarget(key, r.Backend, r.Route)
		l.checkTimes(e.at, r.Backend, r.Timeout, l.deadlineOf(key, r.Deadline))
	}
}

// checkClock checks that exactly one of cron and every is there.
func (l *loader) checkClock(at place, every span) {
	hasCron, hasEvery := l.d.has(at.key+".cron"), l.d.has(at.key+".every")
	if zone := at.key + ".timezone"; hasEvery && !hasCron && l.d.has(zone) {
		l.d.warn(l.d.at(zone), "found a time zone beside every, where it has no effect: an interval has the same length in every zone", "remove it, or write a cron expression")
	}
	switch {
	case hasCron && hasEvery:
		l.d.fault(l.d.at(at.key+".every"), "found every beside cron, allowed: one of the two", "keep one of the two")
	case !hasCron && !hasEvery:
		at.key += ".cron"
		l.d.fault(at, "the key is missing, allowed: cron, or every", "add `cron:` or `every:`")
	case hasEvery && every > 0 && time.Duration(every) < shortestInterval, hasEvery && every == 0 && !l.faulty(at.key+".every"):
		l.d.fault(l.d.at(at.key+".every"), "found "+time.Duration(every).String()+", allowed: at least "+shortestInterval.String(), "lengthen the interval")
	}
}

// faulty reports whether a key already has a finding of its own.
func (l *loader) faulty(key string) bool {
	return slices.ContainsFunc(l.d.findings, func(f Finding) bool { return f.Key == key })
}

// checkBinding checks that a durable workflow is declared.
func (l *loader) checkBinding(key, binding string) {
	var all []string
	for _, e := range l.raw.Apps {
		for _, w := range e.value.Workflows {
			all = append(all, w.Binding)
		}
	}
	if binding == "" || slices.Contains(all, binding) {
		return
	}
	l.d.fault(l.d.at(key), "found the binding "+binding+", which no backend has, allowed: "+listOr(all, "a binding of apps.<name>.workflows"), suggest(binding, all, "declare the workflow under its backend"))
}

// checkTarget checks that a backend takes jobs and serves a route.
func (l *loader) checkTarget(key, backend, route string) {
	var all []string
	for _, e := range l.raw.Apps {
		if e.value.Method != nil && e.value.Method.Table != "" {
			all = append(all, e.name)
		}
	}
	if !slices.Contains(all, backend) {
		l.d.fault(l.d.at(key+".backend"), "found the backend "+quote(backend)+", which does not exist or has no outbox, allowed: "+listOr(all, "a backend with method.table"), suggest(backend, all, "declare the backend under apps"))
		return
	}
	for _, e := range l.raw.Apps {
		if e.name == backend && Scope(e.value.Scope) == ScopeDev {
			l.d.warn(l.d.at(key+".backend"), "found a backend that is devOnly, nothing runs elsewhere", "give the backend `scope: all`")
		}
	}
	b, ok := l.cfg.Backend(backend)
	if ok && route != "" && !l.faulty(key+".route") && !b.AllowsPath(route) {
		l.d.fault(l.d.at(key+".route"), "found "+quote(route)+", which is no POST route of "+backend+", allowed: "+listOr(b.Spec.Routes(), "none, the document has no POST route"),
			suggest(route, b.Spec.Routes(), "add the route to the OpenAPI document"))
	}
}

// listOr lists at most ten names, or says what there could be.
func listOr(names []string, otherwise string) string {
	const most = 10
	if len(names) == 0 {
		return otherwise
	}
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return strings.Join(names, ", ")
}

func suggest(word string, candidates []string, otherwise string) string {
	if best := nearest(word, candidates); best != "" {
		return "did you mean `" + best + "`?"
	}
	return otherwise
}
