package surreal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	firstBackoff = 25 * time.Millisecond
	// stopGrace is how long Run waits, at its end, for what was queued to go out.
	stopGrace = time.Second
	// loudEvery is how often refused credentials are logged as the error they are while they are refused again and again.
	loudEvery = 15 * time.Second
)

// Run connects, and connects again whenever the connection is lost, until ctx ends; then it returns nil. Whatever
// keeps it from connecting, wrong credentials included, is retried, logged, and shown in [State]. Calls that wait then
// get [ErrClosed]. It can be run once.
func (c *Client) Run(ctx context.Context) error {
	if err := c.start(); err != nil {
		return err
	}
	defer c.end()
	var forgets sync.WaitGroup
	defer forgets.Wait()
	forgets.Go(func() { c.forget(ctx) })
	pause := firstBackoff
	for ctx.Err() == nil {
		t, err := c.establish(ctx)
		if err == nil {
			pause = firstBackoff
			err = c.hold(ctx, t)
		}
		if ctx.Err() != nil {
			return nil
		}
		c.lost(err)
		sleep(ctx, rand.N(pause)) //nolint:gosec // jitter is no secret
		pause = min(2*pause, c.cfg.MaxBackoff)
	}
	return nil
}

func (c *Client) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		return errors.New("the SurrealDB client runs or has run already")
	}
	c.running = true
	return nil
}

func (c *Client) end() {
	c.mu.Lock()
	c.closed = true
	connected := c.state.Connected
	if connected {
		c.state.Connected, c.state.Since, c.state.Err = false, time.Now(), ErrClosed
	}
	c.notify()
	c.mu.Unlock()
	if connected {
		c.tell()
	}
}

// notify wakes the calls that wait for a connection.
func (c *Client) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Client) tell() {
	if c.cfg.OnState != nil {
		c.cfg.OnState(c.State())
	}
}

// hold shows the connection to callers until it is lost or ctx ends.
func (c *Client) hold(ctx context.Context, t *transport) error {
	c.connected(t)
	select {
	case <-t.gone:
	case <-ctx.Done():
	}
	c.current.Store(nil)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	t.close(grace)
	return t.fault
}

func (c *Client) connected(t *transport) {
	c.mu.Lock()
	first := c.state.Since.IsZero()
	select {
	case <-c.ready:
		c.state.Reconnects++
	default:
	}
	c.state.Connected, c.state.Since = true, time.Now()
	c.current.Store(t)
	c.notify()
	c.mu.Unlock()
	c.readyOnce.Do(func() { close(c.ready) })
	c.cfg.Logger.Info("connected to SurrealDB", "endpoint", c.cfg.Endpoint, "again", !first)
	c.tell()
}

// lost notes why there is no connection.
func (c *Client) lost(err error) {
	c.mu.Lock()
	was := c.state.Connected
	repeated := c.state.Err != nil && c.state.Err.Error() == err.Error() && !was
	c.state.Connected, c.state.Err = false, err
	if was {
		c.state.Since = time.Now()
	}
	c.mu.Unlock()
	select {
	case c.failed <- err:
	default:
	}
	switch {
	case IsAuth(err) && time.Since(c.loud) > loudEvery:
		c.loud = time.Now()
		c.cfg.Logger.Error("SurrealDB refuses to let us in", "endpoint", c.cfg.Endpoint, "error", err)
	case repeated:
		c.cfg.Logger.Debug("still not connected to SurrealDB", "error", err)
	default:
		c.cfg.Logger.Warn("not connected to SurrealDB", "endpoint", c.cfg.Endpoint, "error", err)
	}
	if was {
		c.tell()
	}
}

// establish dials, signs in and chooses namespace and database. Only then may callers see the connection.
func (c *Client) establish(ctx context.Context) (*transport, error) {
	t := newTransport(c.cfg, &c.pools)
	if err := t.dial(ctx); err != nil {
		return nil, err
	}
	err := c.signIn(ctx, t)
	if err == nil {
		err = c.choose(ctx, t)
	}
	if err != nil {
		t.close(ctx)
		return nil, err
	}
	return t, nil
}

// step limits one call of the sign-in. It is as patient as with any call: checking a password is the most work that a
// busy server can be asked for, and whoever gives up and comes again asks for more of it. A server that has gone
// meanwhile is noticed by its missing pings.
func (c *Client) step(ctx context.Context, t *transport, method string, params ...any) error {
	ctx, cancel := context.WithTimeout(ctx, max(c.cfg.CallTimeout, c.cfg.DialTimeout))
	defer cancel()
	_, err := t.call(ctx, method, params...)
	return err
}

// signIn tries the credentials as a root user's, then as a database user's, then as a namespace user's.
func (c *Client) signIn(ctx context.Context, t *transport) error {
	if c.cfg.Record != nil {
		return c.signInRecord(ctx, t)
	}
	root := map[string]any{"user": c.cfg.Username, "pass": c.cfg.Password}
	attempts := []map[string]any{root}
	if c.cfg.Database != "" {
		attempts = append(attempts, map[string]any{
			"NS": c.cfg.Namespace, "DB": c.cfg.Database, "user": c.cfg.Username, "pass": c.cfg.Password,
		})
	}
	if c.cfg.Namespace != "" {
		attempts = append(attempts, map[string]any{
			"NS": c.cfg.Namespace, "user": c.cfg.Username, "pass": c.cfg.Password,
		})
	}
	var refusal error
	for _, credentials := range attempts {
		err := c.step(ctx, t, "signin", credentials)
		var refused *QueryError
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &refused):
			return err
		case refusal == nil:
			refusal = err
		}
	}
	return fmt.Errorf("%s refuses user %q: check username and password: %w", c.cfg.Endpoint, c.cfg.Username, refusal)
}

// signInRecord signs a record user in or, where that is wanted, up.
func (c *Client) signInRecord(ctx context.Context, t *transport) error {
	who := map[string]any{"NS": c.cfg.Namespace, "DB": c.cfg.Database, "AC": c.cfg.Record.Access}
	for name, value := range c.cfg.Record.Variables {
		if _, taken := who[name]; !taken {
			who[name] = value
		}
	}
	err := c.step(ctx, t, "signin", who)
	var refused *QueryError
	if c.cfg.Record.SignUp && errors.As(err, &refused) {
		if upErr := c.step(ctx, t, "signup", who); upErr != nil {
			err = fmt.Errorf("%w; signing up: %w", err, upErr)
		} else {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("%s refuses to sign in by access %q: check what it asks for: %w", c.cfg.Endpoint, c.cfg.Record.Access, err)
	}
	return nil
}

// choose selects namespace and database, defining them where that is needed and allowed.
func (c *Client) choose(ctx context.Context, t *transport) error {
	if c.cfg.Namespace == "" {
		return nil
	}
	var database any = None
	if c.cfg.Database != "" {
		database = c.cfg.Database
	}
	err := c.step(ctx, t, "use", c.cfg.Namespace, database)
	if IsNotFound(err) && c.define(ctx, t) == nil {
		err = c.step(ctx, t, "use", c.cfg.Namespace, database)
	}
	if err != nil {
		return fmt.Errorf("use namespace %q, database %q at %s: check the names and the user's rights: %w",
			c.cfg.Namespace, c.cfg.Database, c.cfg.Endpoint, err)
	}
	return nil
}

func (c *Client) define(ctx context.Context, t *transport) error {
	statement := "DEFINE NAMESPACE IF NOT EXISTS " + quoteName(c.cfg.Namespace)
	if c.cfg.Database != "" {
		statement += "; USE NS " + quoteName(c.cfg.Namespace) + "; DEFINE DATABASE IF NOT EXISTS " + quoteName(c.cfg.Database)
	}
	return c.step(ctx, t, "query", statement)
}
