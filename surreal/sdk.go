package surreal

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/fxamacker/cbor/v2"
	surrealdb "github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/connection"
	"github.com/surrealdb/surrealdb.go/pkg/connection/gorillaws"
)

// errSupervised refuses what would change the session under everybody who uses the same connection.
var errSupervised = errors.New("the session belongs to the supervised client and can't be changed")

// DB is the official SDK's view of the current connection, waiting for one as Query does. It ends with that connection,
// so ask for it anew for every piece of work. Signing in or out, Use, Let and Unset are refused; sessions and
// transactions of their own (Attach, Begin) work. Closing it does nothing.
//
// A transaction begun with it notifies no live query, and a failed statement does not end it: prefer Query.
func (c *Client) DB(ctx context.Context) (*surrealdb.DB, error) {
	var db *surrealdb.DB
	err := c.patiently(ctx, func(ctx context.Context, t *transport) error {
		conn, err := newSDKConnection(t)
		if err != nil {
			return err
		}
		db, err = surrealdb.FromConnection(ctx, conn)
		return err
	})
	return db, err
}

// sdkConnection lets the SDK use a transport. The embedded connection is never connected: it is there for
// GetUnmarshaler, whose result's type only the SDK can name. Every other method is ours.
type sdkConnection struct {
	connection.Connection
	transport *transport
}

var _ connection.WebSocketConnection = (*sdkConnection)(nil)

func newSDKConnection(t *transport) (*sdkConnection, error) {
	endpoint, err := url.Parse(t.cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	cfg := connection.NewConfig(endpoint)
	cfg.Unmarshaler = sdkDecoder{}
	return &sdkConnection{gorillaws.New(cfg), t}, nil
}

// sdkDecoder is this package's decoder as the SDK wants it.
type sdkDecoder struct{}

func (sdkDecoder) Unmarshal(data []byte, into any) error { return Unmarshal(data, into) }

func (c *sdkConnection) IsClosed() bool { return c.transport.dead.Load() }

func (c *sdkConnection) Connect(context.Context) error {
	if c.IsClosed() {
		return fmt.Errorf("%w: %w", errUnsent, c.transport.reason())
	}
	return nil
}

func (c *sdkConnection) Close(context.Context) error { return nil }

func (c *sdkConnection) Send(ctx context.Context, method string, params ...any) (*connection.RPCResponse[cbor.RawMessage], error) {
	return c.Call(ctx, &connection.RPCRequest{Method: method, Params: params})
}

func (c *sdkConnection) Call(ctx context.Context, req *connection.RPCRequest) (*connection.RPCResponse[cbor.RawMessage], error) {
	answer, err := c.transport.roundTrip(ctx, req.Method, func(e *encoder, id uint64) error {
		return encodeRequest(e, id, req)
	})
	if err != nil {
		return nil, sdkError(err)
	}
	return &connection.RPCResponse[cbor.RawMessage]{ID: req.ID, Result: &answer}, nil
}

func encodeRequest(e *encoder, id uint64, req *connection.RPCRequest) error {
	request := map[string]any{"id": id, "method": req.Method, "params": req.Params}
	if req.Params == nil {
		request["params"] = []any{}
	}
	if req.Session != nil {
		request["session"] = req.Session
	}
	if req.Txn != nil {
		request["txn"] = req.Txn
	}
	return e.object(request, requestDepth+2)
}

// sdkError is an error of the database as the SDK's own type, from which its users take kind and details.
func sdkError(err error) error {
	var refused *QueryError
	if !errors.As(err, &refused) {
		return err
	}
	raw, encodeErr := Marshal(map[string]any{
		"code": refused.Code, "message": refused.Message, "kind": refused.Kind, "details": refused.Details,
	})
	if encodeErr != nil {
		return err
	}
	var rpc connection.RPCError //nolint:staticcheck // deprecated, and what the SDK returns
	if rpc.UnmarshalCBOR(raw) != nil {
		return err
	}
	return &rpc
}

func (c *sdkConnection) Use(context.Context, string, string) error   { return errSupervised }
func (c *sdkConnection) Let(context.Context, string, any) error      { return errSupervised }
func (c *sdkConnection) Unset(context.Context, string) error         { return errSupervised }
func (c *sdkConnection) Invalidate(context.Context) error            { return errSupervised }
func (c *sdkConnection) Authenticate(context.Context, string) error  { return errSupervised }
func (c *sdkConnection) SignUp(context.Context, any) (string, error) { return "", errSupervised }
func (c *sdkConnection) SignIn(context.Context, any) (string, error) { return "", errSupervised }
func (c *sdkConnection) SignUpWithRefresh(context.Context, any) (*connection.Tokens, error) {
	return nil, errSupervised
}

func (c *sdkConnection) SignInWithRefresh(context.Context, any) (*connection.Tokens, error) {
	return nil, errSupervised
}

// LiveNotifications hands out the events of a live query that was registered through the SDK. The channel is closed
// when the live query ends. Of several events of one record that wait, only the latest comes.
func (c *sdkConnection) LiveNotifications(id string) (chan connection.Notification, error) {
	var uuid UUID
	if err := uuid.UnmarshalText([]byte(id)); err != nil {
		return nil, fmt.Errorf("live query %q: %w", id, err)
	}
	live := newLive(c.transport, 0)
	live.id = uuid.UUID
	out := make(chan connection.Notification)
	if err := c.transport.feeds.adopt(live, func() {
		c.transport.running.Go(func() { c.pump(live, out) })
	}); err != nil {
		return nil, err
	}
	return out, nil
}

// CloseLiveNotifications ends what LiveNotifications started. It does not kill the live query.
func (c *sdkConnection) CloseLiveNotifications(id string) error {
	var uuid UUID
	if err := uuid.UnmarshalText([]byte(id)); err != nil {
		return fmt.Errorf("live query %q: %w", id, err)
	}
	if live := c.transport.feeds.remove(uuid.UUID); live != nil {
		live.end(ErrClosed)
	}
	return nil
}

// pump moves events from the live query to the SDK's channel, at its reader's pace.
func (c *sdkConnection) pump(live *Live, out chan<- connection.Notification) {
	defer close(out)
	for {
		<-live.C()
		events, _ := live.Take()
		for _, event := range events {
			note := connection.Notification{ID: &UUID{UUID: live.id}, Action: connection.Action(event.Action)}
			if err := event.Decode(&note.Result); err != nil {
				c.transport.log.Warn("event of a live query", "error", err)
				continue
			}
			select {
			case out <- note:
			case <-live.ended:
				return
			}
		}
		if live.Err() != nil {
			return
		}
	}
}
