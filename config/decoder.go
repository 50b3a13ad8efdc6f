package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"
	"gopkg.in/yaml.v3"
)

// decodeBudget bounds the nodes visited in one run, so that aliases of aliases
// cannot multiply a small file into an endless one.
const decodeBudget = 400_000

// maxFindings bounds the findings of one run. Nobody reads more, and a file may
// be all faults.
const maxFindings = 1000

// place is a value in a file: where it stands and which key leads to it.
type place struct {
	src  *source
	node *yaml.Node // nil: the file as a whole
	key  string
	// allow and fix are the texts of the field's tags, for messages.
	allow, fix string
	secret     bool
}

// decoder walks YAML nodes into Go values and collects what is wrong with them.
//
// Struct fields are described by tags: `yaml` is the key; `validate` holds the
// rules of the value, checked when the key is present; `allow` and `fix` are
// the texts for messages; `need:"true"` makes a key mandatory.
type decoder struct {
	findings []Finding
	places   map[string]place
	rules    *validator.Validate
	budget   int
}

func newDecoder() *decoder {
	return &decoder{
		places: make(map[string]place),
		rules:  newRules(),
		budget: decodeBudget,
	}
}

// nodeDecoder is a type that reads itself from a node, for values that may have
// several forms. It reports whether the value is usable.
type nodeDecoder interface {
	decodeNode(d *decoder, at place) bool
}

// ignored is a key of the framework that this program accepts unread.
type ignored struct{}

func (*ignored) decodeNode(*decoder, place) bool { return true }

func (d *decoder) add(f Finding) {
	switch {
	case d.full():
		return
	case len(d.findings) == maxFindings-1:
		f = Finding{
			Severity: SeverityError, File: f.File, Line: f.Line, Column: f.Column,
			Message: fmt.Sprintf("found %d faults and more, the rest is not shown", maxFindings), Remedy: "correct these first",
		}
	}
	d.findings = append(d.findings, f)
}

// full reports whether no more findings are taken.
func (d *decoder) full() bool { return len(d.findings) >= maxFindings }

func (d *decoder) fault(at place, message, remedy string) {
	d.add(at.finding(SeverityError, message, remedy))
}

func (d *decoder) warn(at place, message, remedy string) {
	d.add(at.finding(SeverityWarning, message, remedy))
}

func (at place) finding(severity Severity, message, remedy string) Finding {
	f := Finding{Severity: severity, Key: at.key, Message: message, Remedy: remedy}
	if at.src != nil {
		f.File = at.src.name
	}
	if at.node != nil {
		f.Line, f.Column = at.node.Line, at.node.Column
	}
	return f
}

// at returns the place of a key path that was decoded, or the nearest place
// above it.
func (d *decoder) at(key string) place {
	for k := key; ; {
		if p, ok := d.places[k]; ok {
			p.key = key
			return p
		}
		cutAt := strings.LastIndexAny(k, ".[")
		if cutAt < 0 {
			p := d.places[""]
			p.key = key
			return p
		}
		k = k[:cutAt]
	}
}

// has reports whether the file holds the key.
func (d *decoder) has(key string) bool {
	_, ok := d.places[key]
	return ok
}

// spend takes one node from the budget and reports whether there was one. The
// first time that there is none is a fault.
func (d *decoder) spend(at place) bool {
	d.budget--
	if d.budget == -1 {
		d.fault(at, fmt.Sprintf("found aliases that expand to more than %d values, allowed: fewer", decodeBudget), "write fewer aliases of aliases")
	}
	return d.budget >= 0
}

// value decodes the node at a place into dst and reports whether dst was set.
func (d *decoder) value(at place, dst reflect.Value) bool {
	if dst.Kind() == reflect.Pointer {
		target := reflect.New(dst.Type().Elem())
		if !d.value(at, target.Elem()) {
			return false
		}
		dst.Set(target)
		return true
	}
	at.node = deref(at.node)
	if !d.spend(at) {
		return false
	}
	d.places[at.key] = at
	custom, isCustom := dst.Addr().Interface().(nodeDecoder)
	if _, skip := custom.(*ignored); skip {
		return true
	}
	if isNull(at.node) {
		d.warn(at, "found no value, the key counts as absent", "give it a value or remove the key")
		delete(d.places, at.key)
		return false
	}
	if isCustom {
		return custom.decodeNode(d, at)
	}
	return d.plain(at, dst)
}

// plain decodes the kinds of values that need no code of their own.
func (d *decoder) plain(at place, dst reflect.Value) bool {
	switch dst.Kind() {
	case reflect.String:
		if !isText(at.node) {
			return d.mismatch(at, "text")
		}
		dst.SetString(at.node.Value)
	case reflect.Bool:
		if at.node.Kind != yaml.ScalarNode || at.node.Decode(dst.Addr().Interface()) != nil || at.node.ShortTag() != "!!bool" {
			return d.mismatch(at, "true, false")
		}
	case reflect.Int:
		n, ok := wholeNumber(at.node)
		if !ok {
			return d.mismatch(at, "a whole number")
		}
		dst.SetInt(n)
	case reflect.Slice:
		return d.list(at, dst)
	case reflect.Struct:
		return d.structure(at, dst)
	case reflect.Interface:
		var free any
		if err := at.node.Decode(&free); err != nil {
			d.fault(at, "found a value that does not decode: "+cut(firstLine(err.Error())), "correct the value")
			return false
		}
		dst.Set(reflect.ValueOf(&free).Elem())
	default:
		panic("config: no decoding for " + dst.Type().String())
	}
	return true
}

// isText reports whether a node is a text. Dates count as texts, as they do in
// YAML 1.2.
func isText(n *yaml.Node) bool {
	tag := n.ShortTag()
	return n.Kind == yaml.ScalarNode && (tag == "!!str" || tag == "!!timestamp")
}

// wholeNumber returns the integer that a node holds.
func wholeNumber(n *yaml.Node) (int64, bool) {
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" {
		return 0, false
	}
	var f float64
	if n.Decode(&f) != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// mismatch reports a value of the wrong kind.
func (d *decoder) mismatch(at place, kind string) bool {
	allowed := at.allow
	if allowed == "" {
		allowed = kind
	}
	remedy := at.fix
	switch {
	case remedy != "":
	case kind == "text" && at.node.Kind == yaml.ScalarNode:
		remedy = "put the value in quotes"
	default:
		remedy = "give it " + allowed
		if kind == "true, false" || strings.Contains(allowed, ", ") {
			remedy = "use one of the allowed values"
		}
	}
	d.fault(at, "found "+at.describe()+", allowed: "+allowed, remedy)
	return false
}

// describe names the value at a place unless it is a secret.
func (at place) describe() string {
	if at.secret && at.node.Kind == yaml.ScalarNode {
		return "a value of the wrong kind"
	}
	return describe(at.node)
}

func (d *decoder) list(at place, dst reflect.Value) bool {
	if at.node.Kind != yaml.SequenceNode {
		return d.mismatch(at, "a list")
	}
	for i, item := range at.node.Content {
		elem := reflect.New(dst.Type().Elem()).Elem()
		next := place{src: at.src, node: item, key: joinIndex(at.key, i), secret: at.secret}
		if d.value(next, elem) && d.check(next, elem, "") {
			dst.Set(reflect.Append(dst, elem))
		}
	}
	return true
}

// structure decodes a mapping into a struct.
func (d *decoder) structure(at place, dst reflect.Value) bool {
	if at.node.Kind != yaml.MappingNode {
		return d.mismatch(at, "a mapping")
	}
	pairs := d.pairs(at.src, at.node)
	d.fields(at, pairs, dst)
	d.missing(at, pairs, dst.Type())
	return true
}

// fields decodes the pairs of a mapping into the fields of a struct, reports
// unknown keys, and checks the rules of the fields.
func (d *decoder) fields(at place, pairs []pair, dst reflect.Value) {
	known := fieldsOf(dst.Type())
	for _, p := range pairs {
		next := place{src: p.src, node: p.key, key: joinKey(at.key, p.key.Value)}
		field, ok := known[p.key.Value]
		if !ok {
			d.unknown(next, p.key.Value, known)
			continue
		}
		tag := field.Tag
		next.node = p.value
		next.allow, next.fix, next.secret = tag.Get("allow"), tag.Get("fix"), tag.Get("secret") != ""
		value := dst.FieldByIndex(field.Index)
		before := reflect.New(value.Type()).Elem()
		before.Set(value)
		if !d.value(next, value) || !d.check(next, value, tag.Get("validate")) {
			value.Set(before)
		}
	}
}

// missing reports the mandatory keys of a struct that a mapping lacks.
func (d *decoder) missing(at place, pairs []pair, t reflect.Type) {
	for _, field := range reflect.VisibleFields(t) {
		key := field.Tag.Get("yaml")
		if field.Tag.Get("need") == "" || hasPair(pairs, key) {
			continue
		}
		missing := at
		missing.key = joinKey(at.key, key)
		d.fault(missing, "the key is missing, allowed: "+field.Tag.Get("allow"), "add `"+key+":`")
	}
}

func hasPair(pairs []pair, key string) bool {
	return slices.ContainsFunc(pairs, func(p pair) bool { return p.key.Value == key })
}

func (d *decoder) unknown(at place, name string, known map[string]reflect.StructField) {
	if d.full() {
		return
	}
	names := make([]string, 0, len(known))
	for k := range known {
		names = append(names, k)
	}
	slices.Sort(names)
	if best := nearest(name, names); best != "" {
		d.warn(at, "the key is unknown and ignored", "did you mean `"+best+"`?")
		return
	}
	d.warn(at, "the key is unknown and ignored, allowed here: "+strings.Join(names, ", "), "remove it")
}

// fieldsOf returns the fields of a raw struct by key.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	fields := make(map[string]reflect.StructField, t.NumField())
	for _, f := range reflect.VisibleFields(t) {
		if key := f.Tag.Get("yaml"); key != "" {
			fields[key] = f
		}
	}
	return fields
}

// entry is one named value of a mapping whose keys the user chooses.
type entry[T any] struct {
	name  string
	at    place
	value T
}

// entries is such a mapping, in file order.
type entries[T any] []entry[T]

func (e *entries[T]) decodeNode(d *decoder, at place) bool {
	if at.node.Kind != yaml.MappingNode {
		return d.mismatch(at, "a mapping of names to values")
	}
	for _, p := range d.pairs(at.src, at.node) {
		next := entry[T]{name: p.key.Value}
		next.at = place{src: p.src, node: p.value, key: joinKey(at.key, p.key.Value), secret: at.secret}
		if next.name == "" {
			d.fault(next.at, "found an empty name, allowed: a name", "give the entry a name")
			continue
		}
		if d.value(next.at, reflect.ValueOf(&next.value).Elem()) {
			*e = append(*e, next)
		}
	}
	return true
}
