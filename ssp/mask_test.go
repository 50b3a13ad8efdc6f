package ssp

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"sp00ky.cloud/spky/surreal/redact"
)

// TestLogsAndTracesDoNotRepeatWhatIsHidden has a backend repeat the payload in an error, and in a result that the table
// refuses. What is stored stays whole.
func TestLogsAndTracesDoNotRepeatWhatIsHidden(t *testing.T) {
	t.Parallel()
	for _, hide := range []bool{true, false} {
		t.Run(fmt.Sprint("hidden ", hide), func(t *testing.T) {
			t.Parallel()
			r := newJobs(t)
			r.exec("DEFINE FIELD OVERWRITE result ON job TYPE any ASSERT !type::is_object($value)", nil)
			s := serve(t, func(w http.ResponseWriter, q *http.Request) {
				if q.URL.Path == "/fails" {
					w.WriteHeader(http.StatusUnprocessableEntity)
				}
				_, _ = io.WriteString(w, `{"got": {"secret": "TOPSECRET it's", "plain": "plainly"}}`)
			})
			kept, to := traced()
			n := r.start(s.backends(), to, func(c *Config) {
				if hide {
					c.Redact = redact.New([]string{"*.secret"})
				}
			})
			payload := map[string]any{"secret": "TOPSECRET it's", "plain": "plainly"}
			failed := r.settled(r.job("fails", "/fails", map[string]any{"max_retries": 1, "payload": payload}), "failed")
			if len(failed.Errors) != 1 || !strings.Contains(failed.Errors[0].Reason, "TOPSECRET") {
				t.Errorf("stored is %+v", failed.Errors)
			}
			r.settled(r.job("refused", "/refused", map[string]any{"payload": payload}), "success")
			said := func() string {
				told := n.log.String()
				for _, span := range kept.GetSpans() {
					told += span.Status.Description + "\n"
				}
				return told
			}
			r.eventually("both are told", func() bool {
				told := said()
				return strings.Contains(told, "job ended") && strings.Contains(told, "the table refused the job's result") && len(named(kept.GetSpans(), "job job")) == 2
			})
			told := said()
			if strings.Contains(told, "TOPSECRET") == hide || strings.Contains(told, redact.Shown) != hide || !strings.Contains(told, "plainly") {
				t.Errorf("told:\n%s", told)
			}
		})
	}
}

// TestHiddenIsWhatIsSent: what is sent as JSON is looked into, in a text too.
func TestHiddenIsWhatIsSent(t *testing.T) {
	t.Parallel()
	rules := redact.New([]string{"*.secret"})
	for _, odd := range []string{`1`, `1e400`, strings.Repeat("9", 29), strings.Repeat("[", 65) + strings.Repeat("]", 65), strings.Repeat("[", 9000) + strings.Repeat("]", 9000), `{"a":1,"a":2}`, `nothing`, `"\ud800"`, `01`} {
		payload := `{"odd":` + odd + `,"secret":"TOPSECRET"}`
		body, err := encodePayload(payload)
		if err != nil {
			t.Fatal(err)
		}
		m := rules.Mask()
		m.Add("payload", payload)
		said, shown := m.Text("no TOPSECRET"), string(rules.Value("payload", payload))
		if sent := string(body) == payload; strings.Contains(shown, "TOPSECRET") == sent || strings.Contains(said, "TOPSECRET") == sent {
			t.Errorf("%.40s is sent as %.40s, shown as %.80s, and said is %q", payload, body, shown, said)
		}
	}
}

// TestCutBeforeHidden: a text is cut before values are looked for in it, and shows nothing of one that it was cut in.
func TestCutBeforeHidden(t *testing.T) {
	t.Parallel()
	m := redact.New([]string{"payload.secret"}).Mask()
	m.Add("payload", map[string]any{"secret": "TOPSECRET"})
	text := strings.Repeat("x", 190) + " TOPSECRET" + strings.Repeat("y", 8000)
	if got, want := said(func() *redact.Mask { return m }, text, 196), strings.Repeat("x", 190)+" "+redact.Shown+"…"; got != want {
		t.Errorf("said is %q, want %q", got, want)
	}
}
