package main

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// A call is what a request says of its job.
type call struct {
	body []byte
	// job is the id of the job as text, "" for a request that comes from elsewhere.
	job string
	// attempt counts from 1.
	attempt int
	// key is the same for every attempt of a job, "" without.
	key string
}

func readCall(body io.Reader, header http.Header) (call, error) {
	c := call{attempt: 1, key: header.Get("Idempotency-Key")}
	id, err := url.PathUnescape(header.Get("Spky-Job-Id"))
	if err != nil {
		return c, badRequest("Spky-Job-Id has a broken escape")
	}
	c.job = id
	if text := header.Get("Spky-Attempt"); text != "" {
		if c.attempt, err = strconv.Atoi(text); err != nil || c.attempt < 1 {
			return c, badRequest("Spky-Attempt is no number from 1")
		}
	}
	c.body, err = io.ReadAll(body)
	return c, err
}
