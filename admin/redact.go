package admin

import (
	"encoding/json"
	"slices"
	"strings"

	"sp00ky.cloud/spky/surreal"
)

// redacted stands for what is not shown.
const redacted = "[redacted]"

// A Redaction says which values are not to be shown. Its zero value shows everything.
type Redaction struct {
	paths [][]string
}

// NewRedaction reads paths of names with dots between them. The first name is the column: payload,
// result, or one of the user's own of jobs; params, output of instances; output of steps, payload of
// events. A * stands for any one name; a path that begins with * and a dot fits at any
// depth, in any column: *.password hides each value of that name. Lists are walked through: the path
// payload.cards.number hides the number of each of the cards. Letters' case does not count.
func NewRedaction(paths []string) Redaction {
	var r Redaction
	for _, path := range paths {
		if path = strings.TrimSpace(path); path != "" {
			r.paths = append(r.paths, strings.Split(strings.ToLower(path), "."))
		}
	}
	return r
}

// value is a column of the database as JSON, without what is not to be shown.
func (r Redaction) value(column string, v any) json.RawMessage {
	if len(r.paths) == 0 {
		return asJSON(v)
	}
	if text, ok := v.(string); ok { // the runner sends a text that is JSON as that JSON
		if inner, err := surreal.FromJSON([]byte(text)); err == nil && nested(inner) {
			return asJSON(string(asJSON(r.masked([]string{strings.ToLower(column)}, inner))))
		}
	}
	return asJSON(r.masked([]string{strings.ToLower(column)}, v))
}

func nested(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// masked is a value with what stands below path hidden; it shares nothing that it changed.
func (r Redaction) masked(path []string, v any) any {
	if v != nil && r.hides(path) {
		return redacted
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			out[name] = r.masked(append(slices.Clip(path), strings.ToLower(name)), inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = r.masked(path, inner)
		}
		return out
	}
	return v
}

func (r Redaction) hides(path []string) bool {
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
