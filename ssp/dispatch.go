package ssp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// dispatch makes one attempt of a job: one POST.
func (l *lane) dispatch(ctx context.Context, job outbox.Job) verdict {
	timeout := l.table.AttemptTimeout(job)
	req, err := l.request(ctx, job, timeout)
	if err != nil {
		return refuse(err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	resp, err := l.node.http.Do(req.WithContext(ctx))
	if err != nil {
		return judgeError(err, context.Cause(ctx))
	}
	defer func() { _ = resp.Body.Close() }() // nothing is to be done about it
	v, err := judgeAnswer(resp, l.backend.RetryOn == "transient", job.Platform)
	if err != nil {
		return judgeError(fmt.Errorf("read the answer's body: %w", err), context.Cause(ctx))
	}
	v.reason, v.result = l.hush(v.reason), l.hushValue(v.result)
	return v
}

// hush takes the backend's token out of a text that goes into logs and rows: pages about errors
// like to show the request that led to them.
func (l *lane) hush(text string) string {
	token := l.backend.AuthToken.Reveal()
	if len(token) < minToken {
		return text
	}
	return strings.ReplaceAll(text, token, "***")
}

// hushValue is hush for every text in a result: users may read it.
func (l *lane) hushValue(value any) any {
	switch v := value.(type) {
	case string:
		return l.hush(v)
	case []any:
		for i := range v {
			v[i] = l.hushValue(v[i])
		}
	case map[string]any:
		for key, one := range v {
			v[key] = l.hushValue(one)
		}
	}
	return value
}

// minToken is the length in bytes below which a token is as good as none, and part of any text.
const minToken = 4

// request builds a job's POST, or says why there can't be one.
func (l *lane) request(ctx context.Context, job outbox.Job, timeout time.Duration) (*http.Request, error) {
	where, err := l.where(job)
	if err != nil {
		return nil, err
	}
	body, err := encodePayload(job.Payload)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, where.String(), bytes.NewReader(body)) //nolint:noctx // dispatch adds it
	if err != nil {
		return nil, fmt.Errorf("path %.200q: %w", job.Path, err)
	}
	req.URL = where
	req.Header = l.headers(job, url.PathEscape(surreal.FormatID(job.ID)), timeout)
	req.Header["Traceparent"] = []string{l.node.traceparent(ctx, job)}
	return req, nil
}

// where is the URL that a job is sent to. The platform's own rows may go where no user's may.
func (l *lane) where(job outbox.Job) (*url.URL, error) {
	if job.Platform {
		return below(l.backend.BaseURL, job.Path), nil
	}
	where, err := target(l.backend.BaseURL, job.Path)
	if err == nil && !l.backend.AllowsPath(job.Path) {
		err = fmt.Errorf("path %.200q is no POST route of the backend's OpenAPI document; add it there, or set method.allowAnyPath", job.Path)
	}
	return where, err
}

// headers are those of one attempt. The idempotency key goes out under a name in lower case, which
// means the same on the wire but not to net/http: given the canonical name, its transport would
// silently send the request a second time when a reused connection breaks under it.
func (l *lane) headers(job outbox.Job, id string, timeout time.Duration) http.Header {
	h := http.Header{
		"Content-Type":    {"application/json"},
		"Spky-Job-Id":     {id},
		"Spky-Attempt":    {strconv.Itoa(job.Attempt())},
		"Spky-Timeout-Ms": {strconv.FormatInt(timeout.Milliseconds(), 10)},
		"idempotency-key": {id},
		"User-Agent":      {"spky/" + l.node.cfg.Version},
	}
	if token := l.backend.AuthToken.Reveal(); token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	return h
}

// encodePayload makes a request's body: a string that is JSON goes out as it is, any other value as JSON.
func encodePayload(payload any) ([]byte, error) {
	if text, ok := payload.(string); ok && json.Valid([]byte(text)) {
		return []byte(text), nil
	}
	body, err := surreal.ToJSON(payload)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	return body, nil
}

// note logs what became of an attempt.
func (l *lane) note(log *slog.Logger, o outbox.Outcome, mask func() *redact.Mask) {
	attrs := []any{"status", o.Status}
	if o.Failure != nil {
		attrs = append(attrs, "code", o.Failure.Code, "reason", said(mask, o.Failure.Reason, 200))
	}
	switch {
	case o.Status == outbox.Success:
		log.Debug("job done", attrs...)
	case o.Status == outbox.Pending && o.Counts:
		log.Info("attempt failed; the job will be tried again", append(attrs, "wait", o.Wait)...)
	case o.Status == outbox.Pending:
		log.Debug("job released", attrs...)
	default:
		log.Warn("job ended", attrs...)
	}
}

func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
