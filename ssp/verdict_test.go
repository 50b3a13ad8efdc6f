package ssp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/outbox"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	cases := map[string]time.Duration{
		"": 0, "0": 0, "1": time.Second, "120": 2 * time.Minute, "3600": time.Hour, "3601": time.Hour, "4294967296": time.Hour, "99999999999999999999999": time.Hour,
		"-1": 0, "1.5": 0, "1e3": 0, "+5": 0, "soon": 0, "0x10": 0, "１": 0, "\x00": 0,
		"Wed, 04 Mar 2026 05:07:07 GMT": time.Minute, "Wed, 04 Mar 2026 05:05:07 GMT": 0, "Fri, 04 Mar 2050 05:06:07 GMT": time.Hour,
		"Wednesday, 04-Mar-26 05:07:07 GMT": time.Minute, "Wed Mar  4 05:07:07 2026": time.Minute, "2026-03-04T05:07:07Z": 0,
	}
	for value, want := range cases {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q is %v, want %v", value, got, want)
		}
	}
}

// FuzzRetryAfter only has to stay within its bounds.
func FuzzRetryAfter(f *testing.F) {
	f.Add("120")
	f.Add("Wed, 04 Mar 2026 05:07:07 GMT")
	f.Fuzz(func(t *testing.T, value string) {
		if got := retryAfter(value, time.Now()); got < 0 || got > maxRetryAfter {
			t.Errorf("%q is %v", value, got)
		}
	})
}

// TestBusyCountsOnlyOnDurableRoutes is the one answer whose meaning depends on whose row it is.
func TestBusyCountsOnlyOnDurableRoutes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code    int
		header  string
		durable bool
		free    bool
	}{{503, "busy", true, true}, {503, "busy", false, false}, {503, "", true, false}, {503, "Busy!", true, false}, {500, "busy", true, false}, {429, "busy", true, false}} {
		resp := &http.Response{StatusCode: c.code, Header: http.Header{"Spky-Retry": {c.header}}, Body: io.NopCloser(strings.NewReader("x"))}
		v, err := judgeAnswer(resp, true, c.durable)
		if err != nil || (v.status == outbox.Pending) != c.free || (v.wait == busyWait) != c.free || v.final {
			t.Errorf("%+v gives %+v, %v", c, v, err)
		}
	}
}

// TestErrorsOfRequests has each reason for which there is no answer.
func TestErrorsOfRequests(t *testing.T) {
	t.Parallel()
	dial := &url.Error{Op: "Post", URL: "http://h/x?secret=1", Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}
	read := &url.Error{Op: "Post", URL: "http://h/x?secret=1", Err: io.ErrUnexpectedEOF}
	cases := map[string]struct {
		err, cause  error
		status      outbox.Status
		unreachable bool
	}{
		"never connected": {dial, nil, outbox.Pending, true},
		"broke off":       {read, nil, outbox.Failed, true},
		"timed out":       {&url.Error{Err: context.DeadlineExceeded}, errTimeout, outbox.Failed, false},
		"dial timed out":  {dial, errTimeout, outbox.Failed, false},
		"cancelled":       {&url.Error{Err: context.Canceled}, errCancelled, outbox.Cancelled, false},
		"shut down":       {&url.Error{Err: context.Canceled}, errShutdown, outbox.Pending, false},
	}
	for name, c := range cases {
		v := judgeError(c.err, c.cause)
		if v.status != c.status || (v.unreachable != nil) != c.unreachable || v.final || strings.Contains(v.reason, "secret") {
			t.Errorf("%s gives %+v", name, v)
		}
	}
}
