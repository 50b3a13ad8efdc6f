package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/logs"
)

// Cluster is [admin.Cluster] at the other end.
type Cluster struct{ c *Client }

// Cluster is the nodes and what they tell of the backends.
func (c *Client) Cluster() *Cluster { return &Cluster{c} }

// Nodes is [admin.Cluster.Nodes].
func (c *Cluster) Nodes(ctx context.Context) ([]admin.Node, error) {
	answer, err := get[struct {
		Nodes []admin.Node `json:"nodes"`
	}](ctx, c.c, "/nodes", nil)
	return answer.Nodes, err
}

// Backends is [admin.Cluster.Backends].
func (c *Cluster) Backends(ctx context.Context) ([]admin.Backend, error) {
	answer, err := get[struct {
		Backends []admin.Backend `json:"backends"`
	}](ctx, c.c, "/backends", nil)
	return answer.Backends, err
}

// Analytics is [admin.Cluster.Analytics].
func (c *Cluster) Analytics(ctx context.Context, hours int) (admin.Analytics, error) {
	query := url.Values{}
	if hours != 0 {
		query.Set("hours", strconv.Itoa(hours))
	}
	return get[admin.Analytics](ctx, c.c, "/analytics", query)
}

// Overview is [admin.Cluster.Overview].
func (c *Cluster) Overview(ctx context.Context) (admin.Overview, error) {
	return get[admin.Overview](ctx, c.c, "/overview", nil)
}

// Tokens is [admin.Tokens] at the other end.
type Tokens struct{ c *Client }

// Tokens are the bearer tokens of the admin API.
func (c *Client) Tokens() *Tokens { return &Tokens{c} }

// Create is [admin.Tokens.Create]; ttl is rounded up to days.
func (t *Tokens) Create(ctx context.Context, label string, scope admin.Scope, ttl time.Duration) (string, admin.Token, error) {
	const day = 24 * time.Hour
	answer, err := post[struct {
		admin.Token

		Secret string `json:"token"`
	}](ctx, t.c, "/tokens", struct {
		Label string      `json:"label"`
		Scope admin.Scope `json:"scope"`
		Days  int         `json:"ttl_days,omitempty"`
	}{label, scope, int((ttl + day - 1) / day)})
	return answer.Secret, answer.Token, err
}

// List is [admin.Tokens.List].
func (t *Tokens) List(ctx context.Context) ([]admin.Token, error) {
	answer, err := get[struct {
		Tokens []admin.Token `json:"tokens"`
	}](ctx, t.c, "/tokens", nil)
	return answer.Tokens, err
}

// Revoke is [admin.Tokens.Revoke].
func (t *Tokens) Revoke(ctx context.Context, id string) error {
	if id == "" {
		return noID("token")
	}
	_, err := call[struct{}](ctx, t.c, http.MethodDelete, "/tokens"+path(id), nil)
	return err
}

// Audit is [admin.Audit] at the other end, for reading.
type Audit struct{ c *Client }

// Audit is who did what.
func (c *Client) Audit() *Audit { return &Audit{c} }

// List is [admin.Audit.List].
func (a *Audit) List(ctx context.Context, o admin.AuditOptions) (admin.AuditPage, error) {
	query := url.Values{}
	set(query, "actor", o.Actor)
	set(query, "action", o.Action)
	set(query, "target", o.Target)
	set(query, "cursor", o.Cursor)
	if o.Limit != 0 {
		query.Set("limit", strconv.Itoa(o.Limit))
	}
	return get[admin.AuditPage](ctx, a.c, "/audit", query)
}

// Logs is the log of the process at the other end, as a [logs.Ring] keeps it.
type Logs struct{ c *Client }

// Logs is the log of the process that serves the API.
func (c *Client) Logs() *Logs { return &Logs{c} }

func logQuery(f logs.Filter) url.Values {
	query := url.Values{}
	set(query, "level", f.Level)
	set(query, "source", f.Source)
	set(query, "q", f.Query)
	if f.After != 0 {
		query.Set("after", strconv.FormatUint(f.After, 10))
	}
	if f.Limit != 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	return query
}

// Recent is [logs.Ring.Recent], with 100 lines where no limit is given.
func (l *Logs) Recent(ctx context.Context, f logs.Filter) ([]logs.Line, error) {
	answer, err := get[struct {
		Lines []logs.Line `json:"lines"`
	}](ctx, l.c, "/logs/recent", logQuery(f))
	return answer.Lines, err
}

// Follow is [logs.Ring.Follow], with 200 kept lines where no limit is given. A stream that breaks off
// is taken up again where it was; lines of a process that was started anew have numbers of their own.
func (l *Logs) Follow(ctx context.Context, f logs.Filter, tell func(logs.Line) error) error {
	return l.c.follow(ctx, "/logs?"+logQuery(f).Encode(), func(name string, data []byte) error {
		if name != "log" {
			return nil
		}
		var line logs.Line
		if err := json.Unmarshal(data, &line); err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		return tell(line)
	})
}
