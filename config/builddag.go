package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	maxDAGSteps = 200
	maxStepName = 64
)

// retried is how the ids of jobs end that a step has when it is retried.
var retried = regexp.MustCompile(`_r\d+$`)

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

func (l *loader) checkDAG(e entry[rawDAG]) {
	key, steps := e.at.key, e.value.Steps
	if t := e.value.Schedule; t != nil {
		l.checkClock(l.d.at(key+".schedule"), t.Every)
	}
	l.checkForEach(key+".forEach", e.value.ForEach)
	switch {
	case l.d.has(key+".steps") && len(steps) == 0 && !l.faulty(key+".steps"):
		l.d.fault(l.d.at(key+".steps"), "found no steps, allowed: at least one", "add a step")
	case len(steps) > maxDAGSteps:
		l.d.fault(l.d.at(key+".steps"), fmt.Sprintf("found %d steps, allowed: at most %d", len(steps), maxDAGSteps), "make two DAGs of it, or a workflow in code")
	}
	names := make([]string, 0, len(steps))
	for _, s := range steps {
		names = append(names, s.name)
	}
	for _, s := range steps {
		l.checkStep(s, names, e.value.ForEach != nil)
	}
	if cycle := findCycle(steps); cycle != nil {
		l.faultCycle(e, cycle)
	}
}

// checkStep checks a step by itself, and that the steps exist that it depends on.
func (l *loader) checkStep(s entry[rawStep], names []string, each bool) {
	l.checkStepName(s)
	if l.d.has(s.at.key + ".backend") {
		l.checkTarget(s.at.key, s.value.Backend, s.value.Route)
		l.checkTimes(s.at, s.value.Backend, s.value.Timeout, l.deadlineOf("", 0))
	}
	for i, dep := range s.value.DependsOn {
		at := l.d.at(joinIndex(s.at.key+".dependsOn", i))
		switch {
		case dep == s.name:
			l.d.fault(at, "found the step itself, allowed: another step of this workflow", "remove it")
		case !slices.Contains(names, dep):
			l.d.fault(at, "found "+quote(dep)+", allowed: a step of this workflow ("+listOr(names, "none")+")", suggest(dep, names, "name a step that exists"))
		case slices.Contains(s.value.DependsOn[:i], dep):
			l.d.warn(at, "found "+quote(dep)+" for the second time", "remove it")
		}
	}
	own := func(name string) bool { _, ok := s.value.Payload.value[name]; return ok }
	if own("steps") && len(s.value.DependsOn) > 0 {
		l.d.warn(l.d.at(s.at.key+".payload"), "found steps, which the answers of other steps replace", "rename it")
	}
	if own("input") && each {
		l.d.warn(l.d.at(s.at.key+".payload"), "found input, which the row of forEach replaces", "rename it")
	}
}

// checkStepName checks what becomes a part of the ids of jobs.
func (l *loader) checkStepName(s entry[rawStep]) {
	const allowed = ", allowed: at most 64 bytes without control characters"
	switch {
	case !printing(s.name) || len(s.name) > maxStepName:
		l.d.fault(s.at, "found the name "+quote(cut(s.name))+allowed, "rename the step")
	case retried.MatchString(s.name):
		l.d.fault(s.at, "found a name that ends like the jobs of a retried step, "+quote(s.name)+", allowed: any other end than _r and a number", "rename the step")
	}
}

// faultCycle reports a circle of dependencies at the one that closes it.
func (l *loader) faultCycle(e entry[rawDAG], cycle []string) {
	last, first := cycle[len(cycle)-2], cycle[0]
	at := l.d.at(e.at.key + ".steps")
	for _, s := range e.value.Steps {
		if i := slices.Index(s.value.DependsOn, first); s.name == last && i >= 0 {
			at = l.d.at(joinIndex(s.at.key+".dependsOn", i))
		}
	}
	l.d.fault(at, "found a cycle, "+strings.Join(cycle, " → ")+", allowed: steps that depend on earlier ones", "remove one of the dependencies")
}

// findCycle returns the steps of a circle of dependencies, first and last the
// same, or nil. A step that depends on itself is none.
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
			if dep == name {
				continue // has a finding of its own
			}
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
