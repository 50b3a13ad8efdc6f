package ssp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/surrealdb/surrealdb.go/pkg/models"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

func TestRequestsCarryTheJobAndNothingElse(t *testing.T) {
	t.Parallel()
	const token = "t0k3n-that-nobody-may-see"
	r := newJobs(t)
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Spky-Attempt") == "1" {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte("debug page: " + q.Header.Get("Authorization")))
		}
	})
	n := r.start(s.backends(func(b *config.Backend) {
		b.AuthToken = config.NewSecret(token)
		b.Timeout = 7 * time.Second
		b.BaseURL.Path = "/base/"
	}), func(c *Config) { c.Version = "1.2.3" })
	id := r.job("späti/1", "/pages/%2F?x=1&y=ä%20b", map[string]any{"payload": map[string]any{"n": 1}})
	row := r.settled(id, "success")
	requests := s.requests()
	if len(requests) != 2 {
		t.Fatalf("%d requests, want 2", len(requests))
	}
	first, second := requests[0], requests[1]
	if first.Method != "POST" || first.URI != "/base/pages/%2F?x=1&y=%C3%A4%20b" || first.Body != `{"n":1}` {
		t.Errorf("request is %s %s %s", first.Method, first.URI, first.Body)
	}
	want := map[string]string{
		"Content-Type": "application/json", "Authorization": "Bearer " + token, "User-Agent": "spky/1.2.3", "Spky-Timeout-Ms": "7000",
		"Spky-Job-Id": url.PathEscape(surreal.FormatID(id)), "Idempotency-Key": url.PathEscape(surreal.FormatID(id)), "Spky-Attempt": "1",
	}
	for name, value := range want {
		if got := first.Header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if decoded, err := url.PathUnescape(first.Header.Get("Spky-Job-Id")); err != nil || decoded != "job:`späti/1`" {
		t.Errorf("Spky-Job-Id is %q for %q", decoded, err)
	}
	if second.Header.Get("Spky-Attempt") != "2" || second.Header.Get("Idempotency-Key") != first.Header.Get("Idempotency-Key") {
		t.Errorf("the second attempt's headers are %v", second.Header)
	}
	expectTrace(t, first.Header.Get("Traceparent"), second.Header.Get("Traceparent"))
	n.stop()
	if strings.Contains(n.log.String(), token) {
		t.Error("the token is in the log")
	}
	if strings.Contains(row.Errors[0].Reason, token) {
		t.Error("the token is in the job's errors")
	}
}

// expectTrace wants two W3C trace contexts of one trace and two spans.
func expectTrace(t *testing.T, a, b string) {
	t.Helper()
	form := regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-01$`)
	x, y := form.FindStringSubmatch(a), form.FindStringSubmatch(b)
	if x == nil || y == nil || x[1] != y[1] || x[2] == y[2] {
		t.Errorf("traceparents are %q and %q, want one trace and two spans", a, b)
	}
}

func TestPayloadsArriveAsJSON(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	r.start(s.backends())
	uuid := surreal.UUID{}
	copy(uuid.UUID[:], "0123456789abcdef")
	cases := map[string]struct {
		payload any
		body    string
	}{
		"none":         {surreal.None, "null"},
		"null":         {nil, "null"},
		"object":       {map[string]any{"b": 1, "a": []any{true, nil, 1.5}}, `{"a":[true,null,1.5],"b":1}`},
		"json text":    {` {"kept" : "as it is", "n": 1.0} `, ` {"kept" : "as it is", "n": 1.0} `},
		"json number":  {"12345678901234567890123456789", "12345678901234567890123456789"},
		"other text":   {"hello \"you\"", `"hello \"you\""`},
		"empty text":   {"", `""`},
		"broken json":  {`{"a":`, `"{\"a\":"`},
		"number":       {int64(9007199254740993), "9007199254740993"},
		"negative":     {int64(-5), "-5"},
		"bool":         {false, "false"},
		"datetime":     {surreal.Datetime(time.Date(2026, 2, 3, 4, 5, 6, 123456789, time.UTC)), `"2026-02-03T04:05:06.123456789Z"`},
		"duration":     {surreal.Duration(90 * time.Minute), `"1h30m"`},
		"bytes":        {[]byte{0, 255}, `"` + base64.StdEncoding.EncodeToString([]byte{0, 255}) + `"`},
		"decimal":      {models.DecimalString("1.25"), "1.25"},
		"record":       {surreal.NewRecordID("user", "a-b"), "\"user:`a-b`\""},
		"uuid":         {uuid, `"` + uuid.String() + `"`},
		"geometry":     {models.GeometryPoint{Longitude: 1, Latitude: 2}, `{"type":"Point","coordinates":[1,2]}`},
		"nul and rune": {"\x00 \U0001F47B </script>", ""},
	}
	for name, c := range cases {
		id := r.job(name, "/"+url.PathEscape(name), map[string]any{"payload": c.payload})
		r.settled(id, "success")
		requests := s.requests("/" + name)
		if len(requests) != 1 {
			t.Fatalf("%s: %d requests", name, len(requests))
		}
		if got := requests[0].Body; !json.Valid([]byte(got)) || c.body != "" && !sameJSON(got, c.body) {
			t.Errorf("%s: body is %s, want %s", name, got, c.body)
		}
	}
}

// sameJSON compares texts, and objects whatever the order of their keys.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y map[string]any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	left, _ := json.Marshal(x)
	right, _ := json.Marshal(y)
	return string(left) == string(right) && !strings.HasPrefix(a, " ") && !strings.HasPrefix(b, " ")
}

// TestPayloadsThatCanNotBeSentEndAsRefused has values that JSON can't carry and values that the
// database itself can't put on the wire, beside good jobs in the same claims. Each ends its own job
// and touches no other.
func TestPayloadsThatCanNotBeSentEndAsRefused(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	exprs := []string{"<float>'inf'", "<float>'NaN'", "/[a-z]+/", "[{ deep: /x/ }]", "{ a: { b: <float>'-inf' } }"}
	var odd, good []surreal.RecordID
	for i, expr := range exprs {
		id := surreal.NewRecordID("job", i)
		r.exec("CREATE $id SET path = '/odd', payload = "+expr+" RETURN NONE", map[string]any{"id": id})
		odd = append(odd, id)
		good = append(good, r.job(100+i, "/good", nil))
	}
	n := r.start(s.backends())
	for _, id := range good {
		row := r.settled(id, "success")
		if row.Epoch != 1 {
			t.Errorf("%s was claimed %d times, want once", surreal.FormatID(id), row.Epoch)
		}
	}
	for i, id := range odd {
		if row := r.settled(id, "failed"); row.codes() != "refused" || row.Retries != 1 {
			t.Errorf("payload %s: job is %+v, want refused at once", exprs[i], row)
		}
	}
	if got := len(s.requests("/odd")); got != 0 {
		t.Errorf("%d requests with payloads that can't be sent", got)
	}
	if lost := n.metric("spky_jobs_released_total"); lost != 0 {
		t.Errorf("%v claims were lost and given back", lost)
	}
}

// TestUnusualPayloadsStillArrive has types that JSON does not know and that have a sensible form.
func TestUnusualPayloadsStillArrive(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	exprs := []string{"1..5", "..", "<set>[1, 2]", "type::table('x')", "[NONE, NULL]", "{}", "[]"}
	for i, expr := range exprs {
		r.exec("CREATE $id SET path = $path, payload = "+expr+" RETURN NONE",
			map[string]any{"id": surreal.NewRecordID("job", i), "path": "/" + strconv.Itoa(i)})
	}
	r.start(s.backends())
	for i, expr := range exprs {
		row := r.ended(surreal.NewRecordID("job", i))
		requests := s.requests("/" + strconv.Itoa(i))
		switch {
		case row.Status == "failed" && row.codes() == "refused" && len(requests) == 0:
		case row.Status == "success" && len(requests) == 1 && json.Valid([]byte(requests[0].Body)):
			t.Logf("%s is sent as %s", expr, requests[0].Body)
		default:
			t.Errorf("%s: job is %+v, requests %+v", expr, row, requests)
		}
	}
}
