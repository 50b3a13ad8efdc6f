package surreal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/gorilla/websocket"
)

// requestError decodes the error of a request the server refused as a whole.
func requestError(fault []byte) *QueryError {
	var wire struct {
		Code    int    `cbor:"code"`
		Message string `cbor:"message"`
		Kind    string `cbor:"kind"`
		Details any    `cbor:"details"`
	}
	if err := unmarshal(fault, &wire, nil); err != nil {
		return &QueryError{Statement: -1, Message: "undecodable error: " + err.Error()}
	}
	return &QueryError{Statement: -1, Message: wire.Message, Kind: wire.Kind, Details: wire.Details, Code: wire.Code}
}

// readError says in words why reading ended.
func readError(err error) error {
	var closed *websocket.CloseError
	switch {
	case errors.As(err, &closed) && closed.Code == websocket.CloseAbnormalClosure:
		return errors.New("the server hung up")
	case errors.As(err, &closed):
		return fmt.Errorf("the server closed it (%d %s)", closed.Code, closed.Text)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the server hung up")
	}
	return err
}

// dialError says in words why no WebSocket came about, and what to do.
func dialError(endpoint string, res *http.Response, err error) error {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case res != nil:
		return fmt.Errorf("%s does not answer like a SurrealDB (HTTP %s): check the address", endpoint, res.Status)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s: start SurrealDB there or correct the address: %w", endpoint, err)
	case errors.As(err, &dns):
		return fmt.Errorf("the host of %s is unknown: correct the address: %w", endpoint, err)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%s did not answer in time: check address, network and firewall: %w", endpoint, err)
	}
	return fmt.Errorf("connect to %s: %w", endpoint, err)
}
