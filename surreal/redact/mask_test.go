package redact

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
)

func masking(paths []string, column string, value any) *Mask {
	m := New(paths).Mask()
	m.Add(column, value)
	return m
}

// TestTexts takes hidden values out of texts, and leaves the rest.
func TestTexts(t *testing.T) {
	t.Parallel()
	row := map[string]any{
		"card": map[string]any{"number": "4111-1111", "cvv": int64(123), "name": "Ann O'Hara <ann@example.com>"},
		"keys": []any{"first/key+==", map[string]any{"deep": "größe\n\"x\"🙂"}}, "pin": uint64(7), "amount": 12.5, "open": true, "none": nil, "empty": " ",
		"inner": `{"password":"hunter2"}`,
	}
	for _, c := range []struct{ paths, text, want string }{
		{"payload.card.number", `card 4111-1111 declined, 4111-1111.`, `card [redacted] declined, [redacted].`},
		{"payload.card.number", `x4111-1111y`, `x[redacted]y`},
		{"payload.card.number", `nothing of it`, `nothing of it`},
		{"payload.card", `{"number":"4111-1111","cvv":123,"name":"Ann O'Hara <ann@example.com>"}`, `{"number":"[redacted]","cvv":[redacted],"name":"[redacted]"}`},
		{"payload.card", `ANN O'HARA <ANN@example.com>`, `[redacted]`},
		{"payload.card.cvv", `cvv 123, 1234, a123, 123.`, `cvv [redacted], 1234, a123, [redacted].`},
		{"payload.pin", `7 of 77`, `[redacted] of 77`},
		{"payload.amount", `12.5 is too much`, `[redacted] is too much`},
		{"payload.open", `true`, `true`},
		{"payload.none", `null`, `null`},
		{"payload.empty", `a b`, `a b`},
		{"*.deep", `wrong: größe\n\"x\"🙂`, `wrong: [redacted]`},
		{"*.password", `password hunter2`, `password [redacted]`},
		{"payload.inner", `{"password":"hunter2"} and hunter2`, `[redacted] and [redacted]`},
		{"result", `4111-1111`, `4111-1111`},
		{"errors", `anything`, `[redacted]`},
		{"payload.card.number", ``, ``},
		{"payload.card.number", `cut within 4111-`, `cut within [redacted]`},
		{"payload.card.number", `cut within 4111-1… (99 bytes)`, `cut within [redacted]… (99 bytes)`},
		{"payload.card.number", `"4111-…" and "4111-..."`, `"[redacted]…" and "[redacted]..."`},
		{"payload.card.number", `cut within 411`, `cut within 411`},
	} {
		if got := masking([]string{c.paths}, "payload", row).Text(c.text); got != c.want {
			t.Errorf("%s of %q: %q, want %q", c.paths, c.text, got, c.want)
		}
	}
}

// TestForms finds a value however one writes it.
func TestForms(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"plain", "größe & <b>", `a"b\c/d`, "two\nlines\tand\x01", "🙂 smile", "q=a b&c=%2F+", "\u2028é"} {
		m := masking([]string{"payload"}, "payload", map[string]any{"x": value})
		plain, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			value, string(plain), fmt.Sprintf("%q", value), fmt.Sprintf("%+q", value), html.EscapeString(value), url.QueryEscape(value), url.PathEscape(value),
			strings.ReplaceAll(jsonText(value), "/", `\/`), strings.ToLower(url.QueryEscape(value)), ascii(jsonText(value)),
		} {
			if got := strings.Trim(m.Text("<"+text+">"), `<">`); got != Shown {
				t.Errorf("%q within %s: %q", value, text, got)
			}
		}
	}
}

// TestManyValues hides a text whole rather than look for more values than it can.
func TestManyValues(t *testing.T) {
	t.Parallel()
	var few, many []any
	for i := range maxValues + 100 {
		if many = append(many, fmt.Sprint("value ", i)); i < 100 {
			few = append(few, many[i])
		}
	}
	if got := masking([]string{"payload"}, "payload", few).Text("x value 42!"); got != "x [redacted]!" {
		t.Errorf("of a hundred: %q", got)
	}
	if got := masking([]string{"payload"}, "payload", many).Text("anything"); got != Shown {
		t.Errorf("of too many: %q", got)
	}
	if got := Whole().Text("anything"); got != Shown {
		t.Errorf("whole: %q", got)
	}
	m := Rules{}.Mask()
	if m.Add("payload", few); m.Text("value 1") != "value 1" {
		t.Error("hidden without a rule")
	}
}

// TestConcern says in which columns a rule may hide something.
func TestConcern(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"*.x": "payload params output", "payload.x": "payload", "PARAMS": "params", "mine": ""} {
		for _, column := range []string{"payload", "params", "output"} {
			if New([]string{path}).Concern(column) != strings.Contains(want, column) {
				t.Errorf("%s and %s", path, column)
			}
		}
	}
}

// FuzzText looks that no text with a hidden value shows it.
func FuzzText(f *testing.F) {
	f.Add("secret", "a secret here")
	f.Add("größe", "GRÖSSE größe …")
	f.Add("aaaa", "aaaaaaaaaaaaaa…")
	f.Fuzz(func(t *testing.T, value, text string) {
		m := masking([]string{"payload"}, "payload", value)
		got := m.Text(text)
		if value = strings.TrimSpace(value); len([]rune(value)) >= short && !strings.Contains(Shown, lower(value)) && strings.Contains(strings.ReplaceAll(got, Shown, "\x00"), value) && !strings.Contains(value, "\x00") {
			if _, ok := nested(value); !ok {
				t.Errorf("%q of %q shows %q", got, text, value)
			}
		}
	})
}
