package redact

import (
	"strings"
	"testing"
)

// TestRules hides values in columns, and nothing else.
func TestRules(t *testing.T) {
	t.Parallel()
	row := map[string]any{
		"card":     map[string]any{"number": "4111", "name": "ann"},
		"cards":    []any{map[string]any{"number": "4112"}, map[string]any{"number": "4113", "deep": map[string]any{"Password": "p"}}},
		"password": []any{"a", "b"},
		"none":     nil,
	}
	for _, c := range []struct {
		paths  []string
		column string
		hidden []string
	}{
		{nil, "payload", nil},
		{[]string{"payload.card.number"}, "payload", []string{"4111"}},
		{[]string{"payload.card.number"}, "result", nil},
		{[]string{"payload.cards.number"}, "payload", []string{"4112", "4113"}},
		{[]string{"*.password"}, "payload", []string{`"p"`, `"a"`, `"b"`}},
		{[]string{"*.password", " "}, "params", []string{`"p"`, `"a"`, `"b"`}},
		{[]string{"*.card.number"}, "output", []string{"4111"}},
		{[]string{"payload.*.number"}, "payload", []string{"4111", "4112", "4113"}},
		{[]string{"payload"}, "payload", []string{"4111", "4112", "4113", "ann", `"p"`, `"a"`}},
		{[]string{"*.none", "payload.card.number.x"}, "payload", nil},
	} {
		r := New(c.paths)
		shown := string(r.Value(c.column, row))
		for _, secret := range []string{"4111", "4112", "4113", "ann", `"p"`, `"a"`, `"b"`} {
			hidden := false
			for _, h := range c.hidden {
				hidden = hidden || h == secret || c.column == "payload" && len(c.paths) == 1 && c.paths[0] == "payload"
			}
			if strings.Contains(shown, secret) == hidden {
				t.Errorf("%q of %s: %s hidden: %v, shown %s", c.paths, c.column, secret, hidden, shown)
			}
		}
	}
	steps := map[string]any{"steps": map[string]any{"a": map[string]any{"key": "4111", "name": "ann"}, "b": "4112"}, "key": "4113"}
	for path, want := range map[string]string{
		"result.key": `{"key":"4113","steps":{"a":{"key":"[redacted]","name":"ann"},"b":"4112"}}`,
		"result":     `{"key":"4113","steps":{"a":"[redacted]","b":"[redacted]"}}`,
		"output.key": `{"key":"4113","steps":{"a":{"key":"4111","name":"ann"},"b":"4112"}}`,
	} {
		if got := string(New([]string{path}).Value("payload", steps)); got != want {
			t.Errorf("%s: what a step is given is shown as %s, want %s", path, got, want)
		}
	}
	if row["card"].(map[string]any)["number"] != "4111" {
		t.Error("the row itself was changed")
	}
	r := New([]string{"payload.a"})
	for in, want := range map[string]string{`{"a":"x","b":1}`: `"{\"a\":\"[redacted]\",\"b\":1}"`, `plain`: `"plain"`, `12`: `"12"`, `{"a":`: `"{\"a\":"`} {
		if got := string(r.Value("payload", in)); got != want {
			t.Errorf("a payload that is the text %s is shown as %s, want %s", in, got, want)
		}
	}
}
