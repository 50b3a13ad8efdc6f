package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// A user is signed in with the access of schema.surql.
type user struct {
	backend *backend
	token   string
}

// sign signs a user up or in; method says which.
func (b *backend) sign(method, email, password string) (user, error) {
	b.tb.Helper()
	body, err := cbor.Marshal(map[string]any{"id": 1, "method": method, "params": []any{map[string]any{
		"NS": b.target.Namespace, "DB": b.target.Database, "AC": "account", "email": email, "password": password,
	}}})
	if err != nil {
		b.tb.Fatal(err)
	}
	_, raw := b.database("/rpc", "application/cbor", "", body)
	var answer struct {
		Result any `cbor:"result"`
		Error  *struct {
			Message string `cbor:"message"`
		} `cbor:"error"`
	}
	if err := cbor.Unmarshal(raw, &answer); err != nil {
		b.tb.Fatalf("%s: %v in %x", method, err, raw)
	}
	switch token := answer.Result.(type) {
	case string:
		return user{b, token}, nil
	case map[any]any:
		return user{b, fmt.Sprint(token["access"])}, nil
	}
	return user{}, fmt.Errorf("%s: %v", method, answer.Error)
}

func (b *backend) mustSign(method, email string) user {
	b.tb.Helper()
	u, err := b.sign(method, email, "correct horse")
	if err != nil {
		b.tb.Fatal(err)
	}
	return u
}

// database talks to the database's own HTTP side, as any client would.
func (b *backend) database(path, kind, token string, body []byte) (int, []byte) {
	b.tb.Helper()
	endpoint := strings.Replace(b.target.Endpoint, "ws", "http", 1)
	req, err := http.NewRequestWithContext(b.tb.Context(), http.MethodPost, endpoint+path, bytes.NewReader(body))
	if err != nil {
		b.tb.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": kind, "Accept": kind, "Surreal-NS": b.target.Namespace, "Surreal-DB": b.target.Database,
	} {
		req.Header.Set(name, value)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		b.tb.Fatal(err)
	}
	return resp.StatusCode, answer
}

// query runs one statement as the user and answers with its result, or with its error, as JSON.
func (u user) query(surql string) string {
	u.backend.tb.Helper()
	status, raw := u.backend.database("/sql", "application/json", u.token, []byte(surql))
	var results []struct{ Result json.RawMessage }
	if err := json.Unmarshal(raw, &results); err != nil || len(results) == 0 {
		u.backend.tb.Fatalf("%s: %d %s", surql, status, raw)
	}
	return string(results[0].Result)
}

// own is a job that the user writes for himself.
func (u user) own(name string) string {
	return u.query("CREATE job:" + name + " SET path = '/documents/index', payload = { document: 'tyger' }, assigned_to = $auth RETURN status, retries")
}

func TestUsers(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	ann := b.mustSign("signup", " Ann@Example.com ")
	b.mustSign("signin", "ann@example.com")
	for name, try := range map[string][3]string{
		"a second account":   {"signup", "ann@example.com", "correct horse"},
		"a short password":   {"signup", "bob@example.com", "short"},
		"no address":         {"signup", "bob", "correct horse"},
		"the wrong password": {"signin", "ann@example.com", "wrong horse"},
		"an unknown user":    {"signin", "eve@example.com", "correct horse"},
	} {
		if _, err := b.sign(try[0], try[1], try[2]); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if got := ann.query("SELECT * OMIT id, created_at FROM user"); got != `[{"email":"ann@example.com"}]` {
		t.Errorf("a user sees %s", got)
	}
	b.applySchema() // again, as every start does
	if got := ann.query("RETURN $auth != NONE"); got != "true" {
		t.Errorf("applying the schema again signed the user out: %s", got)
	}
}

func TestJobsOfUsers(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	ann, bob := b.mustSign("signup", "ann@example.com"), b.mustSign("signup", "bob@example.com")
	if got := ann.own("anns"); got != `[{"retries":0,"status":"pending"}]` {
		t.Errorf("create a job: %s", got)
	}
	if got := bob.query("SELECT * FROM job"); got != "[]" {
		t.Errorf("another user sees %s", got)
	}
	for _, refused := range []string{
		"UPDATE job:anns SET status = 'success'",
		"DELETE job:anns",
		"CREATE job SET path = '/documents/index', assigned_to = $auth, status = 'success'",
		"CREATE job SET path = '/documents/index'",
		"CREATE document SET owner = $auth, name = 'x', title = 'x', digest = '', pages = 0, words = 0, distinct = 0, indexed_at = time::now()",
	} {
		if got := ann.query(refused); got != "[]" {
			t.Errorf("%s: %s, want no row", refused, got)
		}
	}
	if got := b.rows("SELECT VALUE status FROM job"); got != `["pending"]` {
		t.Errorf("after all that the jobs are %s", got)
	}
}

// TestOwner shows that what the backend writes belongs to the user whose job it was, whatever the
// payload says, and that two users may index texts of one name.
func TestOwner(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	ann, bob := b.mustSign("signup", "ann@example.com"), b.mustSign("signup", "bob@example.com")
	ann.own("`a-1`")
	bob.own("bobs")
	var answer indexAnswer
	b.must(request{path: "/documents/index", body: `{"document":"tyger"}`, job: "job:`a-1`"}, &answer)
	b.must(request{path: "/documents/index", body: `{"document":"tyger"}`, job: "job:bobs"}, &answer)
	b.must(request{path: "/documents/index", body: `{"document":"tyger"}`}, &answer)
	for _, table := range []string{"document", "page", "word"} {
		mine := ann.query("RETURN array::distinct(SELECT VALUE owner = $auth FROM " + table + ")")
		if mine != "[true]" {
			t.Errorf("a user sees of %s: %s", table, mine)
		}
		if all := b.rows("RETURN array::len(array::distinct(SELECT VALUE owner FROM " + table + "))"); all != "3" {
			t.Errorf("rows of %s have %s owners, want two users and nobody", table, all)
		}
	}
	if got := ann.query("SELECT VALUE job FROM document"); got != "[null]" {
		t.Errorf("a user sees the idempotency key: %s", got)
	}
	var summary summaryAnswer
	b.must(request{path: "/documents/summary", body: `{"document":"tyger","failures":0}`, job: "job:bobs"}, &summary)
	if len(summary.Sentences) != defaultSentences {
		t.Errorf("summary: %+v", summary)
	}
	b.exec("DELETE document, page, word WHERE owner != NONE AND owner.email = 'bob@example.com'", nil)
	if status, body := b.post(request{path: "/documents/summary", body: `{"document":"tyger","failures":0}`, job: "job:bobs"}); status != http.StatusNotFound {
		t.Errorf("a document of others is summed up: %d %s", status, body)
	}
}
