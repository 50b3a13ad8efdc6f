package api

import (
	"net/http"
	"strings"
	"testing"
)

// TestWhatIsCreatedBelongsToTheCallersTrace creates with and without one; what is none does no harm.
func TestWhatIsCreatedBelongsToTheCallersTrace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	create := func(id, traceparent string) {
		for path, body := range map[string]string{"/jobs": `{"id": "` + id + `", "path": "/x"}`, "/durable/workflows/ALPHA/instances": `{"id": "` + id + `"}`} {
			request, err := http.NewRequestWithContext(r.ctx, http.MethodPost, r.url+"/admin/api"+path, strings.NewReader(body))
			r.check(err)
			request.Header.Set("Authorization", "Bearer "+fullSecret)
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Traceparent", traceparent)
			answer, err := http.DefaultTransport.RoundTrip(request)
			r.check(err)
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusCreated {
				t.Errorf("%s: %s", path, answer.Status)
			}
		}
	}
	create("traced", caller)
	create("plain", "")
	create("odd", "00-nonsense-01")
	for statement, want := range map[string]string{
		"SELECT VALUE traceparent FROM job WHERE traceparent != NONE":                         `["` + caller + `"]`,
		"SELECT VALUE traceparent FROM _00_wf_instance WHERE traceparent != NONE":             `["` + caller + `"]`,
		"RETURN [array::len(SELECT id FROM job), array::len(SELECT id FROM _00_wf_instance)]": "[6,3]",
	} {
		if got := r.json(statement, nil); got != want {
			t.Errorf("%s: %s, want %s", statement, got, want)
		}
	}
}
