package api

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"sp00ky.cloud/spky/admin"
)

// A param is a parameter in the query. Its schema is the document's, and what is checked.
type param struct {
	name   string
	schema *jsonschema.Schema
}

// Bounds of text, in characters; ids and cursors that hold them may be long.
const (
	maxText = 1000
	maxID   = 16 << 10
)

func text(name, description string) param {
	return param{name, &jsonschema.Schema{Type: "string", MaxLength: jsonschema.Ptr(maxText), Description: description}}
}

func longText(name, description string) param {
	return param{name, &jsonschema.Schema{Type: "string", MaxLength: jsonschema.Ptr(maxID), Description: description}}
}

func oneOf[T ~string](name, description string, words ...T) param {
	var all []any
	for _, w := range words {
		all = append(all, string(w))
	}
	return param{name, &jsonschema.Schema{Type: "string", Enum: all, Description: description}}
}

func yesNo(name, description string) param {
	return param{name, &jsonschema.Schema{Type: "boolean", Description: description}}
}

func number(name, description string, least, most int) param {
	low, high := float64(least), float64(most)
	return param{name, &jsonschema.Schema{Type: "integer", Minimum: &low, Maximum: &high, Description: description}}
}

// page are the parameters of every list.
func page() []param {
	return []param{
		longText("cursor", "The next of the page before."),
		number("limit", "How many at most; 20 by default.", 1, admin.MaxPage),
	}
}

// checkQuery answers with the query as it may be used, or with what is wrong with it.
func checkQuery(raw string, allowed []param) (url.Values, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "bad_request", "escape what the query holds", "the query cannot be read: %v", err)
	}
	for name, values := range query {
		i := slices.IndexFunc(allowed, func(p param) bool { return p.name == name })
		switch {
		case i < 0:
			return nil, refuse(http.StatusBadRequest, "bad_request", allowedNames(allowed), "there is no parameter %q", name)
		case len(values) > 1:
			return nil, refuse(http.StatusBadRequest, "bad_request", "give it once", "the parameter %s is there %d times", name, len(values))
		}
		if fault := allowed[i].check(values[0]); fault != nil {
			return nil, fault
		}
	}
	return query, nil
}

func allowedNames(allowed []param) string {
	if len(allowed) == 0 {
		return "this path takes none"
	}
	var names []string
	for _, p := range allowed {
		names = append(names, p.name)
	}
	return "allowed: " + strings.Join(names, ", ")
}

// check says what is wrong with a value. An empty one is as good as none.
func (p param) check(value string) *fault {
	bad := func(hint string) *fault {
		return refuse(http.StatusUnprocessableEntity, "invalid", hint, "the parameter %s is %q", p.name, short(value))
	}
	switch {
	case value == "":
	case !utf8.ValidString(value):
		return bad("allowed: UTF-8")
	case len(p.schema.Enum) > 0:
		var words []string
		for _, w := range p.schema.Enum {
			words = append(words, w.(string)) // set by oneOf
		}
		if !slices.Contains(words, value) {
			return bad("allowed: " + strings.Join(words, ", "))
		}
	case p.schema.Type == "integer":
		n, err := strconv.Atoi(value)
		if err != nil || float64(n) < *p.schema.Minimum || float64(n) > *p.schema.Maximum {
			return bad("allowed: " + strconv.Itoa(int(*p.schema.Minimum)) + " to " + strconv.Itoa(int(*p.schema.Maximum)))
		}
	case p.schema.Type == "boolean":
		if value != "true" && value != "false" {
			return bad("allowed: true, false")
		}
	case utf8.RuneCountInString(value) > *p.schema.MaxLength:
		return bad("allowed: up to " + strconv.Itoa(*p.schema.MaxLength) + " characters")
	case strings.ContainsRune(value, 0):
		return bad("allowed: text without zero bytes")
	}
	return nil
}

// short is the beginning of a text.
func short(text string) string {
	if len(text) <= 100 {
		return text
	}
	return strings.ToValidUTF8(text[:100], "") + "…"
}
