package mcp

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"sp00ky.cloud/spky/admin"
)

const (
	// wholeValue is the longest value that is shown whole without being asked for, and how much is shown
	// of a longer one.
	wholeValue = 1 << 10
	// maxPiece and defaultPiece are how much of a value one call shows, in bytes of JSON.
	maxPiece     = 16 << 10
	defaultPiece = 4 << 10
)

// A value is JSON that somebody else wrote: whole, or a piece of it.
type value struct {
	JSON  json.RawMessage `json:"json,omitempty" jsonschema:"the whole value, if it is short"`
	Bytes int             `json:"bytes" jsonschema:"how long the whole value is, as JSON"`
	Piece string          `json:"piece,omitempty" jsonschema:"a piece of the value's JSON text, if it is long"`
	Next  int             `json:"next_offset,omitempty" jsonschema:"where the next piece begins"`
	Rest  string          `json:"rest,omitempty" jsonschema:"how to get the rest"`
}

// whole shows a value, or its beginning. pointer says where it is.
func whole(text json.RawMessage, pointer string) (value, error) {
	if len(text) == 0 {
		text = json.RawMessage("null")
	}
	text, err := cleanJSON(text)
	if err != nil || len(text) <= wholeValue {
		return value{JSON: text, Bytes: len(text)}, err
	}
	return piece(text, pointer, 0, wholeValue), nil
}

// piece shows a part of a value that is clean already.
func piece(text json.RawMessage, pointer string, offset, limit int) value {
	from := boundary(string(text), offset)
	to := boundary(string(text), from+limit)
	if from == 0 && to == len(text) {
		return value{JSON: text, Bytes: len(text)}
	}
	v := value{Bytes: len(text), Piece: string(text[from:to])}
	if to < len(text) {
		v.Next = to
		v.Rest = fmt.Sprintf("call again with pointer %q and offset %d, or with a longer pointer for a part of it", pointer, to)
	}
	return v
}

// A pick chooses one value, or a part of one, of what a tool could show.
type pick struct {
	Pointer string `json:"pointer,omitempty" jsonschema:"show only this value, in pieces: a JSON pointer into everything there is, see the tool's description"`
	Offset  int    `json:"offset,omitempty" jsonschema:"with pointer: where in the value's JSON text the piece begins, in bytes"`
	Limit   int    `json:"limit,omitempty" jsonschema:"with pointer: how long the piece is, in bytes"`
}

// parts are the pointer's parts, at least one.
func (p pick) parts() []string {
	all := strings.Split(strings.TrimPrefix(p.Pointer, "/"), "/")
	for i := range all {
		all[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(all[i])
	}
	return all
}

// of gives the piece of a document that was picked.
func (p pick) of(document any) (value, error) {
	text, err := encode(document)
	if err != nil {
		return value{}, err
	}
	found, err := decode(text)
	if err != nil {
		return value{}, fmt.Errorf("decode answer: %w", err)
	}
	for i, part := range p.parts() {
		if found, err = child(found, part); err != nil {
			return value{}, inputf("pointer %q: part %d: %v", p.Pointer, i+1, err)
		}
	}
	if text, err = plain(found); err != nil {
		return value{}, err
	}
	if p.Offset > len(text) {
		return value{}, inputf("offset %d: the value at %q has only %d bytes", p.Offset, p.Pointer, len(text))
	}
	limit := p.Limit
	if limit == 0 {
		limit = defaultPiece
	}
	return piece(text, p.Pointer, p.Offset, limit), nil
}

// child is what a pointer's part names.
func child(v any, token string) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if c, ok := v[token]; ok {
			return c, nil
		}
		return nil, fmt.Errorf("there is no %q; there are %s", token, some(v))
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) {
			return nil, fmt.Errorf("there is no %q; the list has the places 0 to %d", token, len(v)-1)
		}
		return v[i], nil
	}
	return nil, fmt.Errorf("there is no %q: the value is no object and no list", token)
}

// some names the keys of an object, not all of very many.
func some(v map[string]any) string {
	const most = 20
	keys := sorted(v)
	if len(keys) > most {
		return fmt.Sprintf("%q and %d more", keys[:most], len(keys)-most)
	}
	return fmt.Sprintf("%q", keys)
}

// inputf is something that cannot be meant.
func inputf(format string, args ...any) error {
	return admin.NewInputError(fmt.Sprintf(format, args...))
}

// shortError is an error without its stack and with a short message.
func shortError(e *admin.Error, most int) *admin.Error {
	if e == nil {
		return nil
	}
	return &admin.Error{Name: cut(e.Name, 100), Message: cut(e.Message, most)}
}
