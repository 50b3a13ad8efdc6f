package surreal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// State is what a Client looks like from outside.
type State struct {
	// Connected means dialled, signed in and with namespace and database chosen.
	Connected bool
	// Since is when it last connected or disconnected; zero before the first time.
	Since time.Time
	// Err is why it is not connected, or why it was not the last time. Wrong credentials show here.
	Err error
	// Reconnects counts the connects after the first.
	Reconnects uint64
	// Conflicts counts the requests that conflicted with another transaction, retried or not.
	Conflicts uint64
	// Statements counts the statements that succeeded.
	Statements uint64
}

// Client is one supervised connection. Make it with [New] and give it life with [Client.Run], or use [Connect].
// Calls from many goroutines share its socket without waiting for each other.
type Client struct {
	cfg     Config
	pools   pools
	current atomic.Pointer[transport]

	forgetter forgetter

	conflicts  atomic.Uint64
	statements atomic.Uint64

	mu      sync.Mutex
	state   State
	running bool
	closed  bool
	changed chan struct{} // closed and replaced when current or closed changes

	loud time.Time // when refused credentials were last logged; Run's alone

	ready     chan struct{}
	readyOnce sync.Once
	failed    chan error // the first attempt's error, for Connect
}

// New checks cfg and reports all its faults at once. It dials nothing.
func New(cfg Config) (*Client, error) {
	cfg, err := cfg.normalised()
	if err != nil {
		return nil, fmt.Errorf("configure SurrealDB client: %w", err)
	}
	return &Client{
		cfg:     cfg,
		changed: make(chan struct{}),
		ready:   make(chan struct{}),
		failed:  make(chan error, 1),

		forgetter: forgetter{wake: make(chan struct{}, 1)},
	}, nil
}

// Connect makes a client that runs already and waits until it is connected. What keeps it from connecting is returned
// at once instead of retried. The function it returns ends the client and waits for it.
func Connect(ctx context.Context, cfg Config) (*Client, func() error, error) {
	c, err := New(cfg)
	if err != nil {
		return nil, nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(running) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	select {
	case <-c.ready:
		return c, stop, nil
	case err = <-c.failed:
	case <-ctx.Done():
		err = fmt.Errorf("connect to %s: %w", c.cfg.Endpoint, ctx.Err())
	}
	return nil, nil, errors.Join(err, stop())
}

// Ready is closed when the client has connected for the first time.
func (c *Client) Ready() <-chan struct{} { return c.ready }

// State is a snapshot.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.state
	state.Conflicts, state.Statements = c.conflicts.Load(), c.statements.Load()
	return state
}

// Query runs one request, of one or many statements, with bound parameters. While there is no connection it waits for
// one. ctx limits it all; without a deadline of its own Config.CallTimeout does. When ctx ends the call returns at
// once, but a request that was sent by then may still be executed.
//
// A failed statement makes it a [*QueryError] with the cause. Statements outside of a transaction had their effect even
// when others failed.
func (c *Client) Query(ctx context.Context, surql string, vars map[string]any) (Results, error) {
	if t := c.alive(); t != nil {
		results, err := c.run(ctx, t, surql, vars)
		if err == nil || !c.untouched(t, err) {
			return results, err
		}
	}
	var results Results
	err := c.patiently(ctx, func(ctx context.Context, t *transport) (err error) {
		results, err = c.run(ctx, t, surql, vars)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// Version is the server's version, for instance "surrealdb-3.0.2".
func (c *Client) Version(ctx context.Context) (version string, err error) {
	err = c.patiently(ctx, func(ctx context.Context, t *transport) error {
		answer, err := t.call(ctx, "version")
		if err != nil {
			return err
		}
		return unmarshal(answer, &version, &c.pools.fields)
	})
	return version, err
}

// patiently waits for a connection and runs fn on it, again on the next one while a connection took nothing of it.
func (c *Client) patiently(ctx context.Context, fn func(context.Context, *transport) error) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.CallTimeout)
		defer cancel()
	}
	for {
		t, err := c.await(ctx)
		if err != nil {
			return err
		}
		if err = fn(ctx, t); err == nil || !c.untouched(t, err) {
			return err
		}
	}
}

// untouched reports that a request failed without any of it having reached the database, so that it can be sent on the
// next connection: the connection was lost before it was written, or the server refused it because it no longer knew
// us. Then the connection is dropped, and the next one is signed in.
func (c *Client) untouched(t *transport, err error) bool {
	if errors.Is(err, errUnsent) {
		return true
	}
	var e *QueryError
	if !errors.As(err, &e) || !sessionLost(e) {
		return false
	}
	t.fail(lost(fmt.Errorf("signed out by the server: %w", err)))
	return e.Statement <= 0
}

// run runs a request on one connection.
func (c *Client) run(ctx context.Context, t *transport, surql string, vars map[string]any) (Results, error) {
	answer, err := t.query(ctx, surql, vars)
	if err != nil {
		return nil, c.count(0, err)
	}
	results, err := parseRows(answer, &c.pools.fields)
	if err != nil {
		err = fmt.Errorf("query: %w", err)
	}
	return results, c.count(len(results), err)
}

func (c *Client) count(statements int, err error) error {
	if statements > 0 {
		c.statements.Add(uint64(statements))
	}
	if err != nil && IsConflict(err) {
		c.conflicts.Add(1)
	}
	return err
}

// alive is the current connection, nil while there is none.
func (c *Client) alive() *transport {
	if t := c.current.Load(); t != nil && !t.dead.Load() {
		return t
	}
	return nil
}

// await is the current connection, waiting for one if need be.
func (c *Client) await(ctx context.Context) (*transport, error) {
	for {
		c.mu.Lock()
		changed, closed, last := c.changed, c.closed, c.state.Err
		c.mu.Unlock()
		if t := c.alive(); t != nil {
			return t, nil
		}
		if closed {
			return nil, ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, notConnected(ctx, last)
		}
	}
}

func notConnected(ctx context.Context, last error) error {
	if last == nil {
		return fmt.Errorf("%w: %w", ErrNotConnected, ctx.Err())
	}
	return fmt.Errorf("%w (%w): %w", ErrNotConnected, ctx.Err(), last)
}
