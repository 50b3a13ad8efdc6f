package redact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sp00ky.cloud/spky/surreal"
)

// Shown stands for what is not shown.
const Shown = "[redacted]"

// Rules say which values are not to be shown. Their zero value hides nothing. They may be used by any goroutine.
type Rules struct {
	paths [][]string
}

// New reads paths of names with dots between them. The first name is the column: payload, result, or one of
// the user's own of jobs; params, output of instances; output of steps, payload of events. A * stands for any
// one name; a path that begins with * and a dot fits at any depth, in any column: *.password hides each value
// of that name. Lists are walked through: the path payload.cards.number hides the number of each of the cards.
// Letters' case does not count. The path errors hides all texts of errors. A path of result hides in payload.steps.<step>,
// too, where the next steps of a DAG are given the result.
func New(paths []string) Rules {
	var r Rules
	for _, path := range paths {
		if path = strings.TrimSpace(path); path != "" {
			names := strings.Split(strings.ToLower(path), ".")
			r.paths = append(r.paths, names)
			if names[0] == "result" {
				r.paths = append(r.paths, append([]string{"payload", "steps", "*"}, names[1:]...))
			}
		}
	}
	return r
}

// Empty says whether nothing is hidden.
func (r Rules) Empty() bool { return len(r.paths) == 0 }

// Concern says whether something of a column may be hidden.
func (r Rules) Concern(column string) bool {
	return slices.ContainsFunc(r.paths, func(rule []string) bool { return rule[0] == "*" || rule[0] == strings.ToLower(column) })
}

// Value is a column of the database as JSON, without what is not to be shown. What has no JSON is a text that
// says so.
func (r Rules) Value(column string, v any) json.RawMessage {
	if !r.Concern(column) {
		return asJSON(v)
	}
	return asJSON(r.masked([]string{strings.ToLower(column)}, v))
}

// masked is a value with what stands below path hidden; it shares nothing that it changed.
func (r Rules) masked(path []string, v any) any {
	if v != nil && r.hide(path) {
		return Shown
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			out[name] = r.masked(append(slices.Clip(path), strings.ToLower(name)), inner)
		}
		return out
	case string:
		return r.maskedText(path, v)
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = r.masked(path, inner)
		}
		return out
	}
	return v
}

func (r Rules) hide(path []string) bool {
	return slices.ContainsFunc(r.paths, func(rule []string) bool {
		if len(rule) > 1 && rule[0] == "*" {
			rest := rule[1:]
			return len(path) > len(rest) && fits(rest, path[len(path)-len(rest):])
		}
		return fits(rule, path)
	})
}

// fits says whether a path is what a rule means.
func fits(rule, path []string) bool {
	if len(rule) != len(path) {
		return false
	}
	for i, name := range rule {
		if name != "*" && name != path[i] {
			return false
		}
	}
	return true
}

// asJSON is a value of the database as JSON; one that has none is a text that says so.
func asJSON(v any) json.RawMessage {
	out, err := surreal.ToJSON(v)
	if err != nil {
		out, _ = json.Marshal(fmt.Sprintf("[no JSON: %v]", err)) // a string
	}
	return out
}
