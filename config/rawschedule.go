package config

import (
	"fmt"
	"path/filepath"
	"reflect"

	"gopkg.in/yaml.v3"
)

// included is a mapping of names to objects in which an object, or the mapping
// itself, may be the path of a YAML file that holds it.
type included[T any] entries[T]

func (e *included[T]) decodeNode(d *decoder, at place) bool {
	at, ok := d.follow(at)
	if !ok {
		return false
	}
	if at.node.Kind != yaml.MappingNode {
		return d.mismatch(at, "a mapping of names to values, or the path of a YAML file")
	}
	for _, p := range d.pairs(at.src, at.node) {
		next := entry[T]{name: p.key.Value}
		next.at, ok = d.follow(place{src: p.src, node: deref(p.value), key: joinKey(at.key, p.key.Value)})
		if ok && d.value(next.at, reflect.ValueOf(&next.value).Elem()) {
			*e = append(*e, next)
		}
	}
	return true
}

// follow returns the place behind a path, or the place itself when it holds no
// text.
func (d *decoder) follow(at place) (place, bool) {
	if !isText(at.node) {
		return at, true
	}
	if !printing(at.node.Value) {
		d.fault(at, "found "+describe(at.node)+", allowed: a mapping, or the path of a YAML file", "name the file")
		return at, false
	}
	src := newSource(filepath.Clean(at.src.resolve(at.node.Value)))
	root := d.include(at, src)
	if root == nil {
		return at, false
	}
	return place{src: src, node: root, key: at.key}, true
}

// rawSchedule is `schedules.<name>`.
type rawSchedule struct {
	Cron            string      `yaml:"cron" validate:"cron" allow:"five or six cron fields" fix:"write for instance \"0 3 * * *\""`
	Every           span        `yaml:"every"`
	Timezone        string      `yaml:"timezone" validate:"timezone" allow:"an IANA time zone" fix:"write for instance Europe/Berlin or UTC"`
	Backend         string      `yaml:"backend"`
	Route           string      `yaml:"route" validate:"route" allow:"a path that starts with /"`
	Workflow        string      `yaml:"workflow" validate:"binding" allow:"the binding of a workflow"`
	Payload         jsonObject  `yaml:"payload"`
	ForEach         *rawForEach `yaml:"forEach"`
	Concurrency     string      `yaml:"concurrency" validate:"oneof=skip allow replace"`
	Retry           rawRetry    `yaml:"retry"`
	Timeout         span        `yaml:"timeout"`
	Deadline        span        `yaml:"deadline"`
	QuarantineAfter int         `yaml:"quarantineAfter" validate:"min=1" allow:"a whole number of at least 1"`
	History         rawHistory  `yaml:"history"`
	Enabled         bool        `yaml:"enabled"`
}

func (r *rawSchedule) decodeNode(d *decoder, at place) bool {
	r.Timezone, r.Concurrency, r.Enabled, r.Retry = "UTC", "skip", true, defaultRetry
	type object rawSchedule
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}

// rawForEach is `forEach`.
type rawForEach struct {
	Query string `yaml:"query" need:"true" allow:"one SELECT statement"`
	Key   string `yaml:"key" validate:"printing" allow:"a column"`
}

func (r *rawForEach) decodeNode(d *decoder, at place) bool {
	r.Key = "id"
	type object rawForEach
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}

// rawRetry is `retry` of a schedule or step.
type rawRetry struct {
	Max      int    `yaml:"max" validate:"min=0,max=100" allow:"a whole number from 0 to 100"`
	Strategy string `yaml:"strategy" validate:"oneof=linear exponential"`
}

var defaultRetry = rawRetry{Max: 3, Strategy: "linear"}

// rawHistory is `history`: a mode, or an object.
type rawHistory struct {
	Mode    string `yaml:"mode" validate:"oneof=all failures-only"`
	Success span   `yaml:"success"`
	Failed  span   `yaml:"failed"`
}

func (r *rawHistory) decodeNode(d *decoder, at place) bool {
	if isScalar(at.node) {
		at.allow = "all, failures-only, or a mapping with mode, success, failed"
		value := reflect.ValueOf(&r.Mode).Elem()
		return d.plain(at, value) && d.check(at, value, "oneof=all failures-only")
	}
	type object rawHistory
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}

// rawDAG is `workflows.<name>`.
type rawDAG struct {
	Schedule    *rawTrigger      `yaml:"schedule"`
	Steps       entries[rawStep] `yaml:"steps" need:"true" allow:"a mapping of names to steps"`
	OnFailure   string           `yaml:"onFailure" validate:"oneof=halt continue-independent"`
	ForEach     *rawForEach      `yaml:"forEach"`
	Concurrency string           `yaml:"concurrency" validate:"oneof=skip allow replace"`
}

func (r *rawDAG) decodeNode(d *decoder, at place) bool {
	r.OnFailure, r.Concurrency = "halt", "skip"
	type object rawDAG
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}

// rawTrigger is `workflows.<name>.schedule`.
type rawTrigger struct {
	Cron     string `yaml:"cron" validate:"cron" allow:"five or six cron fields" fix:"write for instance \"0 3 * * *\""`
	Every    span   `yaml:"every"`
	Timezone string `yaml:"timezone" validate:"timezone" allow:"an IANA time zone" fix:"write for instance Europe/Berlin or UTC"`
}

func (r *rawTrigger) decodeNode(d *decoder, at place) bool {
	r.Timezone = "UTC"
	type object rawTrigger
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}

// rawStep is `workflows.<name>.steps.<name>`.
type rawStep struct {
	Backend   string     `yaml:"backend" need:"true" allow:"the name of a backend"`
	Route     string     `yaml:"route" need:"true" validate:"route" allow:"a path that starts with /"`
	DependsOn []string   `yaml:"dependsOn"`
	Payload   jsonObject `yaml:"payload"`
	Retry     rawRetry   `yaml:"retry"`
	Timeout   span       `yaml:"timeout"`
}

func (r *rawStep) decodeNode(d *decoder, at place) bool {
	r.Retry = defaultRetry
	type object rawStep
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}

// describeEntry names an entry in messages about another one.
func describeEntry(at place) string {
	if at.node == nil {
		return at.key
	}
	return fmt.Sprintf("%s (line %d)", at.key, at.node.Line)
}
