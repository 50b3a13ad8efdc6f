package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
)

// TestNoSecretIsToldOrLogged uses every kind of secret, also wrongly, and looks for it in the log, in what is
// listed, streamed and counted, and in errors.
func TestNoSecretIsToldOrLogged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.post("/tokens", `{"label": "an agent", "scope": "full"}`)
	var token MintedToken
	r.check(json.Unmarshal([]byte(made.text), &token))
	if token.Secret == "" || !strings.Contains(made.text, token.Secret) {
		t.Fatalf("the new token is not told: %s", made.text)
	}
	const guess, hidden = "a-guess-that-is-close", "in-the-payload-4242"
	secrets := []string{fullSecret, readSecret, token.Secret, strings.TrimPrefix(token.Secret, "spky_"+token.ID+"_"), guess, hidden}
	job, err := r.jobs.Create(r.ctx, admin.NewJob{ID: "secretive", Path: "/work", Payload: json.RawMessage(`{"card": "` + hidden + `"}`)})
	r.check(err)
	_, err = r.durable.Create(r.ctx, admin.NewInstance{Binding: "ALPHA", ID: "secretive", Params: json.RawMessage(`{"card": "` + hidden + `"}`)})
	r.check(err)
	var told []string
	for _, q := range []asked{
		{method: http.MethodGet, path: "/admin/api/jobs", token: guess},
		{method: http.MethodGet, path: "/admin/api/jobs?token=" + guess, token: fullSecret},
		{method: http.MethodGet, path: "/admin/api/jobs", token: token.Secret},
		{method: http.MethodGet, path: "/admin/api/durable/instances", token: token.Secret},
		{method: http.MethodGet, path: "/admin/api/tokens", token: readSecret},
		{method: http.MethodGet, path: "/admin/api/audit?limit=100", token: readSecret},
		{method: http.MethodGet, path: "/admin/api/me", token: token.Secret},
		{method: http.MethodGet, path: "/admin/api/nodes", token: readSecret},
		{method: http.MethodGet, path: "/admin/api/overview", token: readSecret},
		{method: http.MethodGet, path: "/admin/api/jobs/secretive/explain", token: readSecret},
		{method: http.MethodGet, path: "/admin/api/durable/instances/secretive/explain", token: readSecret},
		{method: http.MethodPost, path: "/admin/api/jobs/secretive/retry", token: token.Secret},
		{method: http.MethodPost, path: "/admin/api/jobs", token: readSecret, body: `{"payload": "` + hidden + `"}`},
		{method: http.MethodPost, path: "/admin/api/jobs", token: fullSecret, body: `{"payload": "` + hidden + `"}`},
		{method: http.MethodDelete, path: "/admin/api/tokens/" + token.ID, token: token.Secret},
		{method: http.MethodGet, path: "/admin/api/me", token: token.Secret},
		{method: http.MethodGet, path: "/admin/api/logs/recent?limit=1000", token: readSecret},
		{method: http.MethodGet, path: "/metrics", token: readSecret},
		{method: http.MethodGet, path: "/admin/api/openapi.json"},
	} {
		got := r.ask(q)
		told = append(told, q.method+" "+strings.ReplaceAll(q.path, guess, "…")+": "+strings.ReplaceAll(got.text, `there is no parameter "token"`, ""))
	}
	told = append(told, "the log: "+r.log.String())
	for _, text := range told {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in %.300s", secret, text)
			}
		}
	}
	if got := r.get("/jobs/" + job); !strings.Contains(got.text, hidden) {
		t.Errorf("who gets a job is not shown its payload: %s", got.text)
	}
	if row := r.json("SELECT * FROM _00_admin_token", nil); strings.Contains(row, secrets[3]) || !strings.Contains(row, "an agent") {
		t.Errorf("the database has the secret itself: %s", row)
	}
}
