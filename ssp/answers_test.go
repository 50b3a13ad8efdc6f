package ssp

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// An answerCase is a backend's answer and what it makes of a job.
type answerCase struct {
	path     string
	attempts int // max_retries of the job
	answer   http.HandlerFunc
	status   string
	retries  int
	codes    string
	result   any
	requests int
}

// code answers with a status and no body.
func code(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// text answers 200 with a body.
func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}

// at answers as the job's attempt says: the first handler for the first attempt, the last for all after it.
func at(handlers ...http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		attempt, _ := strconv.Atoi(r.Header.Get("Spky-Attempt"))
		handlers[min(max(attempt, 1), len(handlers))-1](w, r)
	}
}

func runAnswers(t *testing.T, cases []answerCase, change ...func(*config.Backend)) {
	t.Helper()
	r := newJobs(t)
	answers := map[string]http.HandlerFunc{}
	for _, c := range cases {
		answers[c.path] = c.answer
	}
	s := serve(t, func(w http.ResponseWriter, q *http.Request) { answers[q.URL.Path](w, q) })
	r.start(s.backends(change...))
	ids := make([]surreal.RecordID, len(cases))
	for i, c := range cases {
		ids[i] = r.job(i, c.path, map[string]any{"max_retries": c.attempts})
	}
	for i, c := range cases {
		row := r.ended(ids[i])
		if row.Status != c.status || row.Retries != c.retries || row.codes() != c.codes {
			t.Errorf("%s: %s, %d retries, codes %q; want %s, %d, %q", c.path, row.Status, row.Retries, row.codes(), c.status, c.retries, c.codes)
		}
		if !reflect.DeepEqual(row.Result, c.result) {
			t.Errorf("%s: result is %#v, want %#v", c.path, row.Result, c.result)
		}
		for n, e := range row.Errors {
			if e.Attempt != n+1 || e.At.IsZero() || e.Reason == "" {
				t.Errorf("%s: error entry %d is %+v", c.path, n, e)
			}
		}
		if got := len(s.requests(c.path)); got != c.requests {
			t.Errorf("%s: %d requests, want %d", c.path, got, c.requests)
		}
	}
}

// TestReportJ29AnswersDecideWhatBecomesOfAJob goes through the table of answers, from the request to the row.
func TestReportJ29AnswersDecideWhatBecomesOfAJob(t *testing.T) {
	t.Parallel()
	cases := []answerCase{
		{path: "/ok", answer: code(200), status: "success", requests: 1},
		{path: "/created", answer: code(201), status: "success", requests: 1},
		{path: "/empty", answer: code(204), status: "success", requests: 1},
		{
			path: "/json", answer: text(`{"pages":[1,2,{"n":9007199254740993}],"big":true}`), status: "success", requests: 1,
			result: map[string]any{"pages": []any{uint64(1), uint64(2), map[string]any{"n": uint64(9007199254740993)}}, "big": true},
		},
		{path: "/null", answer: text("null"), status: "success", requests: 1},
		{path: "/text", answer: text("done, thanks"), status: "success", result: "done, thanks", requests: 1},
		{path: "/html", answer: text("<html>login</html>"), status: "success", result: "<html>login</html>", requests: 1},
		{path: "/cut-json", answer: text(`{"pages":[1,`), status: "success", result: `{"pages":[1,`, requests: 1},
		{path: "/not-utf8", answer: text("a\xff\xfeb\x00c"), status: "success", result: "a\uFFFDb\x00c", requests: 1},
		{path: "/not-utf8-json", answer: text("{\"a\":\"\xff\"}"), status: "success", result: "{\"a\":\"\uFFFD\"}", requests: 1},
		{
			path: "/deep", answer: text(strings.Repeat("[", 500) + strings.Repeat("]", 500)), status: "success",
			result: strings.Repeat("[", 500) + strings.Repeat("]", 500), requests: 1,
		},
		{path: "/flaky", attempts: 3, answer: at(code(500), code(503), text(`"at last"`)), status: "success", retries: 2, codes: "500 503", result: "at last", requests: 3},
		{path: "/clears", attempts: 2, answer: at(code(404), code(200)), status: "success", retries: 1, codes: "404", requests: 2},
	}
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 408, 409, 410, 413, 422, 425, 429, 451, 499, 500, 501, 502, 503, 504, 599} {
		cases = append(cases, answerCase{
			path: fmt.Sprintf("/%d", status), attempts: 2, answer: code(status),
			status: "failed", retries: 2, codes: fmt.Sprintf("%d %d", status, status), requests: 2,
		})
	}
	runAnswers(t, cases)
}

func TestWhereOnlyTransientFailuresAreRetriedOthersFailAtOnce(t *testing.T) {
	t.Parallel()
	var cases []answerCase
	for _, status := range []int{302, 408, 425, 429, 500, 503} {
		cases = append(cases, answerCase{
			path: fmt.Sprintf("/%d", status), attempts: 2, answer: code(status),
			status: "failed", retries: 2, codes: fmt.Sprintf("%d %d", status, status), requests: 2,
		})
	}
	for _, status := range []int{400, 401, 404, 409, 422} {
		cases = append(cases, answerCase{
			path: fmt.Sprintf("/%d", status), attempts: 5, answer: code(status),
			status: "failed", retries: 1, codes: fmt.Sprint(status), requests: 1,
		})
	}
	runAnswers(t, cases, func(b *config.Backend) { b.RetryOn = config.RetryTransient })
}

func TestMaxRetriesAreAttempts(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, code(500))
	r.start(s.backends())
	for max, attempts := range map[int]int{-5: 1, 0: 1, 1: 1, 2: 2, 4: 4} {
		row := r.settled(r.job(max, fmt.Sprintf("/%d", max), map[string]any{"max_retries": max}), "failed")
		if got := len(s.requests(fmt.Sprintf("/%d", max))); got != attempts || row.Retries != attempts || len(row.Errors) != attempts {
			t.Errorf("max_retries %d: %d requests, %d retries, %d errors; want %d of each", max, got, row.Retries, len(row.Errors), attempts)
		}
	}
}

func TestReasonsAreTheBackendsWords(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, func(w http.ResponseWriter, q *http.Request) {
		w.WriteHeader(422)
		_, _ = w.Write([]byte(map[string]string{"/words": "no such \xff page", "/silent": "", "/blank": " \n"}[q.URL.Path]))
	})
	r.start(s.backends())
	for path, reason := range map[string]string{"/words": "no such \uFFFD page", "/silent": "Unprocessable Entity", "/blank": "Unprocessable Entity"} {
		row := r.settled(r.job(path, path, map[string]any{"max_retries": 1}), "failed")
		if len(row.Errors) != 1 || row.Errors[0].Reason != reason {
			t.Errorf("%s: errors %+v, want the reason %q", path, row.Errors, reason)
		}
	}
}
