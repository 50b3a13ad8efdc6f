package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// sentAsJSON are texts that the runner sends as the JSON that they are, though some are not taken apart.
var sentAsJSON = []string{
	`{"secret":"hunter2"}`, ` {"a":[{"secret":"hunter2"}]} `, `{"secret":"hunter2","n":` + strings.Repeat("9", 60) + `}`, `{"secret":"hunter2","n":1e400}`,
	`{"secret":"hunter2","n":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`, `{"secret":"hunter2","n":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
	`{"secret":"hunter2","secret":"other"}`, `{"secret":"other","SECRET":"hunter2"}`, `{"secret":"hunter2","n":"\\ud800"}`, `"{\"secret\":\"hunter2\"}"`, `{"secret":{"n":"hunter2"}}`,
}

// TestNested hides in texts that are JSON, and in what repeats them.
func TestNested(t *testing.T) {
	t.Parallel()
	r := New([]string{"*.secret"})
	for _, text := range sentAsJSON {
		if !json.Valid([]byte(text)) {
			t.Fatalf("%s is no JSON", text)
		}
		if got := string(r.Value("payload", text)); strings.Contains(got, "hunter2") || !strings.Contains(got, Shown) {
			t.Errorf("%.60s is shown as %.80s", text, got)
		}
		if got := masking([]string{"*.secret"}, "payload", text).Text("no hunter2"); strings.Contains(got, "hunter2") {
			t.Errorf("with %.60s, %q is shown", text, got)
		}
		if got := string(r.Value("payload", "x"+text)); !strings.Contains(got, "hunter2") {
			t.Errorf("what is no JSON is hidden: %.60s", got)
		}
	}
	for _, text := range []string{`{"a":1,"a":2}`, `{"n":` + strings.Repeat("[", 250) + strings.Repeat("]", 250) + `}`} {
		if shown, said := string(r.Value("payload", text)), masking([]string{"*.secret"}, "payload", text).Text("no hunter2"); shown != `"`+Shown+`"` || said != Shown {
			t.Errorf("%.60s can't be taken apart, and is shown as %.80s, and %q", text, shown, said)
		}
		if got := string(r.Value("mine", text)) + string(New([]string{"result.x"}).Value("output", text)); strings.Count(got, Shown) != 1 {
			t.Errorf("%.60s is shown as %.80s where no rule may concern it", text, got)
		}
	}
	for text, want := range map[string]string{
		`{"n":1e400,"big":99999999999999999999999999999999,"x":"<é>","secret":1}`: `{"big":99999999999999999999999999999999,"n":1e400,"secret":"[redacted]","x":"<é>"}`,
		`{ "n": 1e400, "a": "<\u00e9>" }`:                                         `{ "n": 1e400, "a": "<\u00e9>" }`, `12`: `12`, `"a"`: `"a"`, `{"a":`: `{"a":`,
	} {
		for _, deep := range []string{"", "deep"} {
			var payload, wanted any = text, want
			if deep != "" {
				payload, wanted = map[string]any{deep: text}, map[string]any{deep: want}
			}
			if got := string(r.Value("payload", payload)); got != string(asJSON(wanted)) {
				t.Errorf("%s is shown as %s, want %s", payload, got, asJSON(wanted))
			}
		}
	}
	for said, text := range map[string]string{"hunter2": `"hunter2"`, "12.5": `12.50`, "99999999999999999999999999999999": `99999999999999999999999999999999`} {
		if got := masking([]string{"payload"}, "payload", text).Text("no " + said); got != "no "+Shown {
			t.Errorf("of the payload %s is shown %q", text, got)
		}
	}
}

// FuzzNested looks that a value is hidden in every text that is JSON, whatever else is in it.
func FuzzNested(f *testing.F) {
	for _, text := range sentAsJSON {
		f.Add(text)
	}
	r := New([]string{"*.secret"})
	f.Fuzz(func(t *testing.T, text string) {
		text = fmt.Sprintf(`{"x":%s,"secret":"hunter2"}`, strings.ReplaceAll(text, "hunter2", ""))
		if shown := string(r.Value("payload", text)); json.Valid([]byte(text)) && strings.Contains(shown, "hunter2") {
			t.Errorf("%s is shown as %s", text, shown)
		}
	})
}
