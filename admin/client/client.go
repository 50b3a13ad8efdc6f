package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxAnswer bounds an answer in bytes; a page of the largest results stays below.
const maxAnswer = 64 << 20

// Config says where an admin API is.
type Config struct {
	// URL is the server's, with or without /admin/api, for instance http://127.0.0.1:9668.
	URL string
	// Token is the bearer token.
	Token string
	// Via names the surface that calls, for the audit: cli, mcp or dashboard. Defaults to none, which the
	// server takes for a program of its own.
	Via string
	// Timeout bounds a call that is no stream. Defaults to 30 s.
	Timeout time.Duration
	// Transport defaults to http.DefaultTransport.
	Transport http.RoundTripper
}

// A Client speaks to one admin API. Its methods may be called from any goroutine.
type Client struct {
	base    string
	token   string
	via     string
	timeout time.Duration
	http    *http.Client
}

// New checks cfg; nothing is sent.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("the admin API's URL is %q; allowed: for instance http://127.0.0.1:9668", redacted(cfg.URL))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the admin API's URL has a user, a query or a fragment; the token belongs in SPKY_ADMIN_TOKEN")
	}
	cfg.Token = strings.TrimSpace(cfg.Token) // files end with a newline
	if strings.ContainsFunc(cfg.Token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("the token has a blank or another character that no token has; check SPKY_ADMIN_TOKEN")
	}
	path := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/admin/api"), "/admin")
	c := &Client{base: u.Scheme + "://" + u.Host + path + "/admin/api", token: cfg.Token, via: cfg.Via, timeout: cfg.Timeout}
	if c.timeout <= 0 {
		c.timeout = 30 * time.Second
	}
	// A redirect could carry the token to somebody else.
	c.http = &http.Client{Transport: cfg.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// redacted is a URL without what may be a password.
func redacted(text string) string {
	if _, rest, ok := strings.Cut(text, "@"); ok {
		return "…@" + rest
	}
	return text
}

// URL is the API's base, with /admin/api.
func (c *Client) URL() string { return c.base }

// path joins the segments of a path, each escaped.
func path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

// get asks for something.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	if encoded := query.Encode(); encoded != "" {
		path += "?" + encoded
	}
	return call[T](ctx, c, http.MethodGet, path, nil)
}

// post has something done; body may be nil.
func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	return call[T](ctx, c, http.MethodPost, path, body)
}

func call[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	var into T
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.send(ctx, method, path, body, "application/json")
	if err != nil {
		return into, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return into, &UnreachableError{URL: c.base, Err: err}
	case len(text) > maxAnswer:
		return into, fmt.Errorf("%s %s: the answer is longer than %d bytes", method, path, maxAnswer)
	case answer.StatusCode == http.StatusNoContent:
		return into, nil
	}
	if err := json.Unmarshal(text, &into); err != nil {
		return into, fmt.Errorf("%s %s: the answer is not what this version of spky expects: %w", method, path, err)
	}
	return into, nil
}

// send makes the request; an answer that is no success is an error.
// more are further headers, name and value; one without a value is left out.
func (c *Client) send(ctx context.Context, method, path string, body any, accept string, more ...string) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false) // which would make six bytes of one, and the server bounds what it reads
		if err := e.Encode(body); err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		content = &text
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", accept)
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			r.Header.Set(more[i], more[i+1])
		}
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.via != "" {
		r.Header.Set("Spky-Via", c.via)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, &UnreachableError{URL: c.base, Err: err}
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		defer answer.Body.Close()
		return nil, refusal(answer)
	}
	return answer, nil
}
