package config

import (
	"fmt"
	"regexp"
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
		l.checkSchedule(e)
		l.cfg.Schedules = append(l.cfg.Schedules, schedule(e))
	}
	for _, e := range l.raw.Workflows {
		if at, taken := names[e.name]; taken {
			l.d.fault(e.at, "found the name of a schedule, "+describeEntry(at)+", allowed: a name of its own", "rename one of the two")
		}
		l.checkDAG(e)
		l.cfg.Workflows = append(l.cfg.Workflows, dag(e))
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

func dag(e entry[rawDAG]) DAG {
	d := DAG{Name: e.name, OnFailure: e.value.OnFailure, ForEach: forEach(e.value.ForEach), Concurrency: e.value.Concurrency}
	if t := e.value.Schedule; t != nil {
		d.Trigger = &Trigger{Cron: t.Cron, Every: time.Duration(t.Every), Timezone: t.Timezone}
	}
	for _, s := range e.value.Steps {
		d.Steps = append(d.Steps, DAGStep{
			Name: s.name, Backend: s.value.Backend, Route: s.value.Route, DependsOn: slices.Clone(s.value.DependsOn),
			Payload: s.value.Payload.value, Retry: Retry(s.value.Retry), Timeout: time.Duration(s.value.Timeout),
		})
	}
	return d
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
	}
}

// checkClock checks that exactly one of cron and every is there.
func (l *loader) checkClock(at place, every span) {
	hasCron, hasEvery := l.d.has(at.key+".cron"), l.d.has(at.key+".every")
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

var selectStatement = regexp.MustCompile(`(?i)^SELECT\b`)

func (l *loader) checkForEach(key string, raw *rawForEach) {
	if raw == nil || !l.d.has(key+".query") {
		return
	}
	found := statements(raw.Query)
	switch {
	case len(found) != 1:
		l.d.fault(l.d.at(key+".query"), fmt.Sprintf("found %d statements, allowed: one SELECT", len(found)), "write one SELECT")
	case !selectStatement.MatchString(found[0].text):
		l.d.fault(l.d.at(key+".query"), "found "+quote(found[0].text)+", allowed: one SELECT", "write one SELECT")
	}
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

func (l *loader) checkDAG(e entry[rawDAG]) {
	key := e.at.key
	if t := e.value.Schedule; t != nil {
		l.checkClock(l.d.at(key+".schedule"), t.Every)
	}
	l.checkForEach(key+".forEach", e.value.ForEach)
	if l.d.has(key+".steps") && len(e.value.Steps) == 0 && !l.faulty(key+".steps") {
		l.d.fault(l.d.at(key+".steps"), "found no steps, allowed: at least one", "add a step")
	}
	names := make([]string, 0, len(e.value.Steps))
	for _, s := range e.value.Steps {
		names = append(names, s.name)
	}
	for _, s := range e.value.Steps {
		if l.d.has(s.at.key + ".backend") {
			l.checkTarget(s.at.key, s.value.Backend, s.value.Route)
		}
		for i, dep := range s.value.DependsOn {
			if !slices.Contains(names, dep) {
				l.d.fault(l.d.at(joinIndex(s.at.key+".dependsOn", i)), "found "+quote(dep)+", allowed: a step of this workflow ("+listOr(names, "none")+")", suggest(dep, names, "name a step that exists"))
			}
		}
	}
	if cycle := findCycle(e.value.Steps); cycle != nil {
		l.d.fault(l.d.at(key+".steps"), "found a cycle, "+strings.Join(cycle, " → ")+", allowed: steps that depend on earlier ones", "remove one of the dependencies")
	}
}

// findCycle returns the steps of a circle of dependencies, first and last the
// same, or nil.
func findCycle(steps entries[rawStep]) []string {
	deps := make(map[string][]string, len(steps))
	for _, s := range steps {
		deps[s.name] = s.value.DependsOn
	}
	const open, done = 1, 2
	state := make(map[string]int)
	var path []string
	var visit func(name string) []string
	visit = func(name string) []string {
		switch state[name] {
		case open:
			return append(slices.Clone(path[slices.Index(path, name):]), name)
		case done:
			return nil
		}
		state[name] = open
		path = append(path, name)
		for _, dep := range deps[name] {
			if cycle := visit(dep); cycle != nil {
				return cycle
			}
		}
		path = path[:len(path)-1]
		state[name] = done
		return nil
	}
	for _, s := range steps {
		if cycle := visit(s.name); cycle != nil {
			return cycle
		}
	}
	return nil
}
