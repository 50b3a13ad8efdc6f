package ssp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// Limits of what is read of an answer, in bytes. The rest of a body is discarded, a little of it by
// reading on so that the connection can be used again.
const (
	maxResult  = 1 << 20
	maxReason  = 8 << 10
	maxDiscard = 256 << 10
)

// maxRetryAfter bounds what a backend can ask for.
const maxRetryAfter = time.Hour

// busyWait is the pause before a durable instance that is leased elsewhere is tried again.
const busyWait = time.Second

// Reasons for which this node itself ended a request; each is the cause of its context.
var (
	errTimeout   = errors.New("no complete answer within the attempt's timeout")
	errCancelled = errors.New("cancelled while it ran")
	errShutdown  = errors.New("the node shut down")
)

// A verdict is what an attempt came to.
type verdict struct {
	status outbox.Status // Success, Failed (this attempt), Cancelled, or Pending: not counted
	code   any
	reason string
	result any
	// wait is the least time until the next attempt.
	wait time.Duration
	// final fails the job whatever attempts are left.
	final bool
	// unreachable is why the backend could not be reached; nil where it answered or was not asked.
	unreachable error
	// ill marks an answer that makes a health check worth while.
	ill bool
}

func succeeded(result any) verdict { return verdict{status: outbox.Success, result: result} }

func refuse(err error) verdict {
	return verdict{status: outbox.Failed, code: outbox.CodeRefused, reason: err.Error(), final: true}
}

// judgeError reads why there was no answer. cause is the cause of the request's context.
func judgeError(err, cause error) verdict {
	switch {
	case errors.Is(cause, errCancelled):
		return verdict{status: outbox.Cancelled, code: outbox.CodeCancelled, reason: errCancelled.Error()}
	case errors.Is(cause, errShutdown):
		return verdict{status: outbox.Pending}
	case errors.Is(cause, errTimeout), errors.Is(err, context.DeadlineExceeded):
		return verdict{status: outbox.Failed, code: 0, reason: errTimeout.Error(), ill: true}
	}
	text := plain(err)
	v := verdict{status: outbox.Failed, code: 0, reason: text, unreachable: errors.New(text)}
	if neverSent(err) {
		v.status = outbox.Pending // no request was made, so this was no attempt
	}
	return v
}

// neverSent says whether the request certainly did not leave: the connection was not made.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// plain is err without the URL around it, whose query may hold secrets.
func plain(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return err.Error()
}

// judgeAnswer reads an answer of the backend. transient fails a job at once on a 4xx that trying
// again won't mend; durable is a request of the platform's own.
func judgeAnswer(resp *http.Response, transient, durable bool) (verdict, error) {
	code := resp.StatusCode
	switch {
	case code >= 200 && code <= 299:
		result, err := readResult(resp.Body)
		return succeeded(result), err
	case code == http.StatusServiceUnavailable && durable && resp.Header.Get("Spky-Retry") == "busy":
		discard(resp.Body)
		return verdict{status: outbox.Pending, wait: busyWait}, nil
	}
	reason, err := readReason(resp, code)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{status: outbox.Failed, code: code, reason: reason, ill: code >= 500}
	v.wait = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	v.final = transient && code >= 400 && code <= 499 && !retryable(code)
	return v, nil
}

func retryable(code int) bool {
	return code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusTooManyRequests
}

// readResult reads what a job's result column gets: the body's JSON value, else its text, else, when
// it is over 1 MiB, an object that says so.
func readResult(body io.Reader) (any, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxResult+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxResult {
		discard(body)
		return map[string]any{"spky_omitted": "the answer's body is larger than 1 MiB"}, nil
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil //nolint:nilnil // an empty body is no result
	}
	if value, err := surreal.FromJSON(data); err == nil {
		return value, nil
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), nil
}

func readReason(resp *http.Response, code int) (string, error) {
	if code == http.StatusSwitchingProtocols {
		// Its body is the bare connection, which no context ends: reading it could take for ever.
		return "the backend wants to switch protocols, which nobody asked for", nil
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReason))
	if err != nil {
		return "", err
	}
	discard(resp.Body)
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	if code >= 300 && code <= 399 {
		text = strings.TrimSpace(fmt.Sprintf("redirect to %.500q is not followed. %s", resp.Header.Get("Location"), text))
	}
	if strings.TrimSpace(text) == "" {
		text = cmp.Or(http.StatusText(code), fmt.Sprintf("the backend answered %d", code))
	}
	return text, nil
}

func discard(body io.Reader) {
	_, _ = io.CopyN(io.Discard, body, maxDiscard) // best effort: an unread rest only costs the connection
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter) // 31 bits, the largest such number where it has more
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}
