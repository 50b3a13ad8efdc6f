package config

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// envSource is one source of an app's variables. Exactly one field is set; for
// the whole vault none is, because there is nothing to read locally.
type envSource struct {
	file   filePath
	inline []envPair
	vault  []string
}

type envPair struct{ name, value string }

// rawEnv is `env`: the sources for each stage, of which later ones win.
type rawEnv struct {
	dev, cloud []envSource
}

func (r rawEnv) sources(s Stage) []envSource {
	if s == StageCloud {
		return r.cloud
	}
	return r.dev
}

func (r *rawEnv) both(s envSource) {
	r.dev = append(r.dev, s)
	r.cloud = append(r.cloud, s)
}

func (r *rawEnv) decodeNode(d *decoder, at place) bool {
	r.add(d, at)
	return true // what is wrong with one source does not spoil the others
}

// add reads a source, or several.
func (r *rawEnv) add(d *decoder, at place) {
	at.node = deref(at.node)
	if !d.spend(at) {
		return
	}
	switch {
	case at.node.Kind == yaml.SequenceNode:
		for i, item := range at.node.Content {
			r.add(d, place{src: at.src, node: item, key: joinIndex(at.key, i)})
		}
	case at.node.Kind == yaml.MappingNode:
		r.mapping(d, at)
	case isText(at.node) && at.node.Value == "vault":
		r.both(envSource{})
	default:
		var file filePath
		at.allow = "vault, a dotenv path, a mapping, or a list of these"
		if file.decodeNode(d, at) {
			r.both(envSource{file: file})
		}
	}
}

// mapping reads the three mapping forms: sources by stage, keys of the vault,
// and variables.
func (r *rawEnv) mapping(d *decoder, at place) {
	pairs := d.pairs(at.src, at.node)
	isStage := func(p pair) bool { return p.key.Value == "dev" || p.key.Value == "cloud" }
	switch {
	case len(pairs) > 0 && !slices.ContainsFunc(pairs, func(p pair) bool { return !isStage(p) }):
		for _, p := range pairs {
			var side rawEnv
			side.add(d, place{src: p.src, node: p.value, key: joinKey(at.key, p.key.Value)})
			if p.key.Value == "dev" {
				r.dev = append(r.dev, side.dev...)
			} else {
				r.cloud = append(r.cloud, side.cloud...)
			}
		}
	case len(pairs) == 1 && pairs[0].key.Value == "vault" && deref(pairs[0].value).Kind == yaml.SequenceNode:
		r.both(envSource{vault: vaultKeys(d, place{src: pairs[0].src, node: deref(pairs[0].value), key: joinKey(at.key, "vault")})})
	default:
		r.both(envSource{inline: variables(d, at, pairs)})
	}
}

func vaultKeys(d *decoder, at place) []string {
	var keys []string
	for i, item := range at.node.Content {
		item = deref(item)
		if !isText(item) || !variablePattern.MatchString(item.Value) {
			d.fault(place{src: at.src, node: item, key: joinIndex(at.key, i)}, "found "+describe(item)+", allowed: the name of a variable", "name a variable of letters, digits and `_`")
			continue
		}
		keys = append(keys, item.Value)
	}
	return keys
}

func variables(d *decoder, at place, pairs []pair) []envPair {
	var vars []envPair
	for _, p := range pairs {
		here := place{src: p.src, node: p.key, key: joinKey(at.key, p.key.Value)}
		if !variablePattern.MatchString(p.key.Value) {
			d.fault(here, "found "+quote(p.key.Value)+" as the name of a variable, allowed: letters, digits and _, not starting with a digit", "rename the variable")
			continue
		}
		value := deref(p.value)
		here.node = value
		if !isScalar(value) || isNull(value) {
			d.fault(here, "found "+describe(value)+", allowed: text, a number, true, false", "give the variable a plain value")
			continue
		}
		vars = append(vars, envPair{p.key.Value, value.Value})
	}
	return vars
}
