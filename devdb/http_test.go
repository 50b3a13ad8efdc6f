package devdb_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

// httpCall is one HTTP request to a server.
type httpCall struct {
	method, path, contentType, body string
	header                          map[string]string
	user, password                  string
}

func (h httpCall) do(t *testing.T, target devdbtest.Target) (int, []byte) {
	t.Helper()
	base := "http" + strings.TrimPrefix(target.Endpoint, "ws")
	req, err := http.NewRequestWithContext(t.Context(), h.method, base+h.path, strings.NewReader(h.body))
	if err != nil {
		t.Fatal(err)
	}
	if h.contentType != "" {
		req.Header.Set("Content-Type", h.contentType)
	}
	for name, value := range h.header {
		req.Header.Set(name, value)
	}
	if h.user != "" {
		req.SetBasicAuth(h.user, h.password)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, body
}

func TestHTTPStatus(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	for path, want := range map[string]string{"/health": "", "/status": "", "/version": "surrealdb-3.0.2"} {
		if status, body := (httpCall{method: "GET", path: path}).do(t, target); status != 200 || string(body) != want {
			t.Errorf("GET %s: %d %q", path, status, body)
		}
	}
	for path, want := range map[string]int{"/rpc": 426, "/nothing": 404} {
		if status, _ := (httpCall{method: "GET", path: path}).do(t, target); status != want {
			t.Errorf("GET %s: %d, want %d", path, status, want)
		}
	}
}

func TestHTTPSQL(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	call := httpCall{
		method: "POST", path: "/sql?name=ann", user: target.User, password: target.Password,
		header: map[string]string{"surreal-ns": target.Namespace, "surreal-db": target.Database, "Accept": "application/json"},
		body: `CREATE t:1 SET at = d'2024-01-02T03:04:05.5Z', for = 1h30m, by = u'018e3a5e-0000-7000-8000-000000000001',
			of = 't:⟨a b⟩', ref = t:⟨a b⟩, none = NONE, null = NULL, n = 1.5, dec = 1.25dec, name = $name, list = [1, 'x'];
			SELECT * FROM t; THROW 'no'`,
	}
	status, body := call.do(t, target)
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	var rows []struct {
		Status string
		Result any
	}
	if err := json.Unmarshal(body, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || rows[0].Status != "OK" || rows[2].Status != "ERR" || rows[2].Result != "An error occurred: no" {
		t.Fatalf("got %s", body)
	}
	want := map[string]any{
		"id": "t:1", "at": "2024-01-02T03:04:05.5Z", "for": "1h30m", "by": "018e3a5e-0000-7000-8000-000000000001",
		"of": "t:⟨a b⟩", "ref": "t:`a b`", "null": nil, "n": 1.5, "dec": "1.25", "name": "ann", "list": []any{1.0, "x"},
	}
	if got := rows[1].Result.([]any)[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestHTTPIsWalled(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	query, err := cbor.Marshal(request{ID: 1, Method: "query", Params: []any{"RETURN 1"}})
	if err != nil {
		t.Fatal(err)
	}
	where := map[string]string{"surreal-ns": target.Namespace, "surreal-db": target.Database}
	for name, call := range map[string]httpCall{
		"sql anonymous":      {path: "/sql", body: "RETURN 1"},
		"sql wrong password": {path: "/sql", body: "RETURN 1", user: target.User, password: "wrong"},
		"sql wrong token":    {path: "/sql", body: "RETURN 1", header: map[string]string{"Authorization": "Bearer nonsense"}},
		"rpc wrong password": {path: "/rpc", body: string(query), contentType: "application/cbor", user: target.User, password: "x"},
	} {
		call.method = "POST"
		if call.header == nil {
			call.header = where
		}
		if status, body := call.do(t, target); status != 401 {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	_, err = rpcOverHTTP(t, target, httpCall{}, request{ID: 1, Method: "query", Params: []any{"RETURN 1"}})
	refused(t, err, "NotAllowed")
}

// rpcOverHTTP sends a request over HTTP, with the headers and credentials of a call.
func rpcOverHTTP(t *testing.T, target devdbtest.Target, call httpCall, req request) (cbor.RawMessage, error) {
	t.Helper()
	message, err := cbor.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	call.method, call.path, call.contentType, call.body = "POST", "/rpc", "application/cbor", string(message)
	status, body := call.do(t, target)
	if status != 200 {
		t.Fatalf("%s: %d %s", req.Method, status, body)
	}
	var r reply
	if err := cbor.NewDecoder(bytes.NewReader(body)).Decode(&r); err != nil {
		t.Fatalf("%s: %x: %v", req.Method, body, err)
	}
	if r.Error != nil {
		return nil, r.Error
	}
	return r.Result, nil
}

func TestHTTPRPC(t *testing.T) {
	t.Parallel()
	target := devdbtest.Fresh(t)
	result, err := rpcOverHTTP(t, target, httpCall{}, request{
		ID: "x", Method: "signin",
		Params: []any{map[string]any{"user": target.User, "pass": target.Password}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var token string
	if err := cbor.Unmarshal(result, &token); err != nil {
		t.Fatal(err)
	}
	bearer := httpCall{header: map[string]string{
		"Authorization": "Bearer " + token,
		"surreal-ns":    target.Namespace, "surreal-db": target.Database,
	}}
	result, err = rpcOverHTTP(t, target, bearer, request{ID: 1, Method: "query", Params: []any{"RETURN $session.db"}})
	var rows []row
	if err != nil || cbor.Unmarshal(result, &rows) != nil || string(rows[0].Result) != string(marshal(t, target.Database)) {
		t.Errorf("got %x (%v)", result, err)
	}
	for _, method := range []string{"live", "kill", "attach", "begin", "commit"} {
		_, err := rpcOverHTTP(t, target, bearer, request{ID: 1, Method: method, Params: []any{"t"}})
		refused(t, err, "NotAllowed")
	}
	_, err = rpcOverHTTP(t, target, bearer, request{ID: 1, Method: "query", Params: []any{"RETURN 1"}, Session: uuid{1}})
	refused(t, err, "NotAllowed")

	for name, body := range map[string]string{"empty": "", "garbage": "\xff\xff", "truncated": "\xa2\x62id\x01\x66met"} {
		call := httpCall{method: "POST", path: "/rpc", contentType: "application/cbor", body: body}
		if status, answer := call.do(t, target); status != 200 && status != 400 {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
}
