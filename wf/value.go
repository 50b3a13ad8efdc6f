package wf

import (
	"encoding/json"
	"errors"
	"fmt"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// encode makes a Go value what is stored: a JSON value of at most 1 MiB.
func encode(what string, v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", what, ErrNotJSON, err)
	}
	if size := surreal.JSONSize(data); size > protocol.MaxValue {
		return nil, fmt.Errorf("%s: %w (%d bytes); keep large data in rows of its own and return its id", what, ErrTooLarge, size)
	}
	value, err := surreal.FromJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", what, ErrNotJSON, err)
	}
	return value, nil
}

// decode makes a stored value a Go value again. Values take this way on the first run too, so that
// a workflow sees the same whether a step has just run or is replayed.
func decode[T any](what string, value any) (T, error) {
	var out T
	err := decodeInto(what, value, &out)
	return out, err
}

func decodeInto(what string, value, into any) error {
	data, err := surreal.ToJSON(value)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	var badType *json.UnmarshalTypeError
	if errors.As(err, &badType) {
		return fmt.Errorf("%s: the value does not fit %T: the code has changed since it was stored, or it was sent by somebody who took it for another type: %w", what, into, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
