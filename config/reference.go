package config

import (
	"reflect"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// filePath is a path in the file, relative to it.
type filePath struct {
	text string
	full string
	at   place
}

func (p *filePath) decodeNode(d *decoder, at place) bool {
	if !isText(at.node) {
		return d.mismatch(at, "a path")
	}
	if !printing(at.node.Value) {
		d.fault(at, "found "+describe(at.node)+", allowed: a path relative to this file", "name the file")
		return false
	}
	*p = filePath{text: at.node.Value, full: at.src.resolve(at.node.Value), at: at}
	return true
}

func (p filePath) given() bool { return p.text != "" }

// reference is a text that may take its value from the environment: a literal
// with ${VAR} in it, or {vault: KEY}.
type reference struct {
	text  string
	vault string
	at    place
}

func (r *reference) decodeNode(d *decoder, at place) bool {
	switch {
	case isText(at.node):
		*r = reference{text: at.node.Value, at: at}
		return true
	case at.node.Kind != yaml.MappingNode:
		return d.mismatch(at, "text")
	}
	var v struct {
		Vault string `yaml:"vault" need:"true" validate:"binding" allow:"the name of a variable"`
	}
	d.structure(at, reflect.ValueOf(&v).Elem())
	if v.Vault == "" {
		return false
	}
	*r = reference{vault: v.Vault, at: at}
	return true
}

func (r reference) given() bool { return r.at.node != nil }

// lookup finds a variable and reports whether it is set.
type lookup func(name string) (string, bool)

// resolve returns what a reference stands for. Vault keys are also looked up in
// app, which may be nil. Faults are reported at the reference.
func (d *decoder) resolve(r reference, env, app lookup) (string, bool) {
	if !r.given() {
		return "", false
	}
	if r.vault == "" {
		text, fault := expand(r.text, env)
		if fault != nil {
			d.fault(r.at, fault.message, fault.remedy)
			return "", false
		}
		return text, true
	}
	for _, find := range []lookup{env, app} {
		if find == nil {
			continue
		}
		if text, ok := find(r.vault); ok {
			return text, true
		}
	}
	d.fault(r.at, "found the vault key "+r.vault+", which is neither set in the environment nor in the app's env, allowed: a key that is",
		"set "+r.vault+" in the environment")
	return "", false
}

// expandFault is why a text cannot be expanded. Like a Finding it does not
// quote the text, which may be a secret.
type expandFault struct{ message, remedy string }

var variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand replaces ${VAR} and ${VAR:-default} in text. "$${" stands for "${",
// every other dollar sign for itself. Values are not expanded again.
func expand(text string, env lookup) (string, *expandFault) {
	var out strings.Builder
	for {
		dollar := strings.IndexByte(text, '$')
		if dollar < 0 {
			out.WriteString(text)
			return out.String(), nil
		}
		out.WriteString(text[:dollar])
		text = text[dollar:]
		switch {
		case strings.HasPrefix(text, "$${"):
			out.WriteString("${")
			text = text[len("$${"):]
		case strings.HasPrefix(text, "${"):
			end := strings.IndexByte(text, '}')
			if end < 0 {
				return "", &expandFault{"found `${` without `}`, allowed: ${VAR}, ${VAR:-default}", "close the reference, or write `$${` for a literal `${`"}
			}
			value, fault := variable(text[len("${"):end], env)
			if fault != nil {
				return "", fault
			}
			out.WriteString(value)
			text = text[end+1:]
		default:
			out.WriteByte('$')
			text = text[1:]
		}
	}
}

// variable returns the value of the inside of one ${…}.
func variable(inside string, env lookup) (string, *expandFault) {
	name, fallback, hasFallback := strings.Cut(inside, ":-")
	switch {
	case !variablePattern.MatchString(name):
		return "", &expandFault{"found a `${…}` that does not name a variable, allowed: ${VAR}, ${VAR:-default}", "name a variable of letters, digits and `_`, or write `$${` for a literal `${`"}
	case strings.Contains(fallback, "${"):
		return "", &expandFault{"found a reference inside the default of ${" + name + ":-…}, allowed: plain text", "write the default out"}
	}
	value, set := env(name)
	switch {
	case hasFallback && value == "":
		return fallback, nil
	case !set:
		return "", &expandFault{"found ${" + name + "}, but " + name + " is not set, allowed: a variable that is set", "set " + name + ", or give a default as in ${" + name + ":-value}"}
	}
	return value, nil
}
