package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxPerSession and maxWatched bound subscriptions: each watched resource is a live query or two.
	maxPerSession = 20
	maxWatched    = 200
	// gather is how long changes are gathered before they are told as one.
	gather = 50 * time.Millisecond
)

// subscriptions are the resources that sessions want to hear of. Each resource is watched once, however
// many want to, and only as long as somebody does.
type subscriptions struct {
	server *Server
	ctx    context.Context // ends with the server
	group  sync.WaitGroup  // of everything that runs

	mu       sync.Mutex
	sessions map[*sdk.ServerSession]map[string]bool // the URIs of each
	watched  map[string]*watched                    // by URI
}

// A watched resource.
type watched struct {
	cancel context.CancelFunc
	ended  bool // nothing more changes, for all that is known
	want   int  // how many sessions want to hear of it
}

func newSubscriptions(s *Server) *subscriptions {
	return &subscriptions{server: s, ctx: s.ctx, sessions: map[*sdk.ServerSession]map[string]bool{}, watched: map[string]*watched{}}
}

// subscribe begins to watch a resource for a session; it is the protocol's handler.
func (all *subscriptions) subscribe(ctx context.Context, r *sdk.SubscribeRequest) error {
	if overHTTP(r.Extra) {
		return &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidRequest,
			Message: "over HTTP this server has no sessions, and so nobody to tell: subscribe with protocol version 2026-07-28 (subscriptions/listen), or over stdio",
		}
	}
	found, id, err := all.server.resourceOf(r.Params.URI)
	if err != nil {
		return err
	}
	state, err := found.state(all.server.cfg.acting(ctx), id)
	if err != nil {
		return resourceError(err)
	}
	return all.add(r.Session, r.Params.URI, func(ctx context.Context) { all.follow(ctx, found, r.Params.URI, id, state) })
}

// add notes that a session wants to hear of a resource, and has it followed if nobody did.
func (all *subscriptions) add(session *sdk.ServerSession, uri string, follow func(context.Context)) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	mine, known := all.sessions[session]
	w := all.watched[uri]
	switch {
	case all.ctx.Err() != nil:
		return all.ctx.Err()
	case mine[uri] && !w.ended:
		return nil
	case !mine[uri] && len(mine) >= maxPerSession:
		return resourceError(inputf("a session may subscribe to %d resources; unsubscribe from others first", maxPerSession))
	case w == nil && len(all.watched) >= maxWatched:
		return resourceError(inputf("%d resources are subscribed to already; try again later", maxWatched))
	}
	if !known {
		mine = map[string]bool{}
		all.sessions[session] = mine
		all.group.Go(func() { all.leave(session) })
	}
	if w == nil {
		w = &watched{ended: true}
		all.watched[uri] = w
	}
	if !mine[uri] {
		mine[uri] = true
		w.want++
	}
	if w.ended {
		all.start(w, follow)
	}
	return nil
}

// start follows a resource, with the lock held.
func (all *subscriptions) start(w *watched, follow func(context.Context)) {
	ctx, cancel := context.WithCancel(all.ctx)
	w.cancel, w.ended = cancel, false
	all.group.Go(func() {
		defer cancel()
		follow(ctx)
		all.mu.Lock()
		defer all.mu.Unlock()
		w.ended = true
	})
}

// follow tells the sessions of each change, until nothing more changes. state is the one that the
// session could know.
func (all *subscriptions) follow(ctx context.Context, r resource, uri, id, state string) {
	watching, stop, begun := patiently(ctx)
	defer stop()
	err := r.watch(watching, id, func(now string) error {
		begun()
		if now == state || ctx.Err() != nil {
			return ctx.Err()
		}
		state = now
		return all.tell(ctx, uri)
	})
	if err != nil && ctx.Err() == nil {
		// It is gone, or cannot be followed: whoever reads it now learns why.
		all.server.cfg.Logger.Warn("cannot follow a resource", "uri", uri, "error", err)
		_ = all.tell(ctx, uri) // fails only where everything ends
	}
}

// begin is how long a watch may take to begin once nobody wants it any more.
const begin = 5 * time.Second

// patiently gives a context that ends with ctx, but not before begun was called: to give up a live query
// while it is being registered would cost the database's connection, which others use too.
func patiently(ctx context.Context) (watching context.Context, stop context.CancelFunc, begun func()) {
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	has := make(chan struct{})
	unwanted := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(begin)
		defer timer.Stop()
		select {
		case <-has:
		case <-watching.Done():
		case <-timer.C:
		}
		cancel()
	})
	return watching, func() { unwanted(); cancel() }, sync.OnceFunc(func() { close(has) })
}

// tell says that a resource has changed, a little later: what follows closely is one change, and the
// session that has just subscribed has its answer.
func (all *subscriptions) tell(ctx context.Context, uri string) error {
	timer := time.NewTimer(gather)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return all.server.protocol.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri})
}

// unsubscribe ends what subscribe began; it is the protocol's handler.
func (all *subscriptions) unsubscribe(_ context.Context, r *sdk.UnsubscribeRequest) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.remove(r.Session, r.Params.URI)
	return nil
}

// remove forgets what a session wanted, with the lock held.
func (all *subscriptions) remove(session *sdk.ServerSession, uri string) {
	w := all.watched[uri]
	if !all.sessions[session][uri] || w == nil {
		return
	}
	delete(all.sessions[session], uri)
	w.want--
	if w.want == 0 {
		w.cancel()
		delete(all.watched, uri)
	}
}

// leave forgets a session once it has ended.
func (all *subscriptions) leave(session *sdk.ServerSession) {
	_ = session.Wait() // however it ended
	all.mu.Lock()
	defer all.mu.Unlock()
	for uri := range all.sessions[session] {
		all.remove(session, uri)
	}
	delete(all.sessions, session)
}

// close ends all watching, and every session, and waits for them.
func (all *subscriptions) close() {
	all.mu.Lock()
	var open []*sdk.ServerSession
	for session := range all.sessions {
		open = append(open, session)
	}
	all.mu.Unlock()
	for _, session := range open {
		_ = session.Close() // however it ends
	}
	all.group.Wait()
}
