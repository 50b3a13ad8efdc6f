package redact

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
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

// jsonText is a value within JSON, as most encoders write it, and ascii the same of those that escape all but ASCII.
func jsonText(value string) string { return strings.Trim(jsonOf(value), `"`) }

func ascii(text string) string {
	var out strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		if unit < utf8.RuneSelf {
			out.WriteByte(byte(unit))
		} else {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

// TestEncodings finds values in what programs made of them.
func TestEncodings(t *testing.T) {
	t.Parallel()
	for value, texts := range map[string][]string{
		`pa"ss'wd<&>x/y`: {
			`pa&quot;ss&#x27;wd&lt;&amp;&gt;x/y`, `pa&quot;ss&#39;wd&lt;&amp;&gt;x/y`, `pa&quot;ss&apos;wd&lt;&amp;&gt;x&#x2F;y`, `pa%22ss'wd%3C%26%3Ex%2Fy`, `pa%22ss'wd%3C&%3Ex/y`,
			`pa\\\"ss'wd<&>x/y`, `pa\&quot;ss&#39;wd&lt;&amp;&gt;x\/y`, `pa%5C%22ss'wd%3C%26%3Ex%2Fy`, `PA&QUOT;SS'WD<&>X/Y`,
		},
		`p@ss(word)!*'z`:     {`p@ss(word)!*&#x27;z`, `p%40ss(word)!*'z`, `p%40ss%28word%29%21%2A%27z`},
		`Straße/Ünï/x`:       {`Stra\u00dfe\/\u00dcn\u00ef\/x`, `Stra%C3%9Fe/%C3%9Cn%C3%AF/x`, `STRASSE/ÜNÏ/X`, `straße/ünï/x`, `Stra&szlig;e/&Uuml;n&iuml;/x`, `stra%c3%9fe%2f%c3%bcn%c3%af%2fx`, `Stra\xdfe/\u{dc}nï/x`},
		`MÜLLERÉcole`:        {`müllerécole`, `MÜLLERÉCOLE`},
		"🔑🗝️sécret":          {`🔑🗝️SÉCRET`, `\ud83d\udd11🗝️s\u00e9cret`, `\U0001f511🗝️s\xe9cret`},
		"a\"b\u2028c/d":      {"a\\\"b\u2028c/d", `a\"b\u2028c\/d`},
		`C:\dir\pa'ss"x`:     {`C:\\dir\\pa\'ss"x`, `C:\\\\dir\\\\pa'ss\\\"x`, `C:%5Cdir%5Cpa'ss%22x`},
		"line one\nline two": {`line one\nline two`, `line one\\nline two`, `line%20one%0Aline%20two`, `line+one%0Aline+two`},
		`$1.*^(a+)+$`:        {`%241.*%5E(a%2B)%2B%24`, `$1.*%5E(a+)+$`},
	} {
		m := masking([]string{"payload"}, "payload", map[string]any{"x": value})
		for _, text := range texts {
			if got := m.Text("<" + text + ">"); got != "<[redacted]>" {
				t.Errorf("%q within %s: %q", value, text, got)
			}
		}
	}
}

// TestCutEncodings hides what a cut has left of an encoded value, and of what encodes a part of it.
func TestCutEncodings(t *testing.T) {
	t.Parallel()
	m := masking([]string{"payload"}, "payload", `Straße "x"`)
	for _, whole := range []string{`Stra\u00dfe \"x\"`, `Stra%C3%9Fe%20%22x%22`, `Stra&szlig;e &quot;x&quot;`, `Stra\u{df}e \"x\"`} {
		for n := range len(whole) + 1 {
			for _, mark := range []string{"", "…", "...", " … (cut)", "'... 99 more characters"} {
				if got := m.Text("no <" + whole[:n] + mark); n >= 4 && strings.Contains(got, "tra") || !strings.HasPrefix(got, "no <") {
					t.Errorf("%q is shown as %q", whole[:n]+mark, got)
				}
			}
		}
	}
}

// TestTooMuch hides a text whole where to look for the values would be more work than is bounded, and else finds each of many.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	var values []any
	for i := range 999 {
		values = append(values, strings.Repeat("a", 4000)+fmt.Sprint(i))
	}
	m := masking([]string{"payload"}, "payload", values[:700])
	for text, want := range map[string]string{
		strings.Repeat("b", 200): strings.Repeat("b", 200), strings.Repeat("a", 200): Shown, strings.Repeat("b", 8192): Shown,
		"b" + strings.Repeat("a", 200) + " c": "b" + strings.Repeat("a", 200) + " c",
	} {
		if got := m.Text(text); got != want {
			t.Errorf("%d bytes of %.2s: %.30s, want %.30s", len(text), text, got, want)
		}
	}
	m = masking([]string{"payload"}, "payload", values[:20])
	for text, want := range map[string]string{
		strings.Repeat("x", 8192): strings.Repeat("x", 8192), strings.Repeat("x", maxWork+1): Shown,
		"x" + fmt.Sprint(values[7]) + "y": "x" + Shown + "y", strings.Repeat("a", 9000): strings.Repeat("a", 5000) + Shown,
		strings.Repeat(`%5Cu0026amp;+`, 60000): Shown, // says something else in many ways
	} {
		if got := m.Text(text); got != want {
			t.Errorf("%d bytes of %.20s: %.30s, want %.30s", len(text), text, got, want)
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
		if value = strings.TrimSpace(value); len([]rune(value)) >= short && !strings.Contains(Shown, strings.ToLower(value)) && strings.Contains(strings.ReplaceAll(got, Shown, "\x00"), value) && !strings.Contains(value, "\x00") {
			t.Errorf("%q of %q shows %q", got, text, value)
		}
	})
}
