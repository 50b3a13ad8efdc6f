package admin

import (
	"context"
	"fmt"
	"slices"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// A hider takes what the configuration hides out of texts of errors, since backends and workflows like to say in them
// what they were given. That is read anew wherever such a text is to be shown, and only there. Where it is gone, or
// can't be read, or is too much, the text is hidden whole.
type hider struct {
	db    *surreal.Client
	rules redact.Rules
	// most is how many bytes of what rows hold are read for one answer. The texts of the largest beyond it are hidden
	// whole. Defaults to maxHeld.
	most int
}

// masks are those of several rows, by what names them.
type masks map[string]*redact.Mask

// of is the mask of a row; of one that was not found it is one that hides all.
func (m masks) of(name string) *redact.Mask {
	if found, ok := m[name]; ok {
		return found
	}
	return redact.Whole()
}

// hiddenPart is of how many rows what they hold is read at once.
const hiddenPart = 20

// hidden reads what rows hold, some at a time. What can't be read is left out; an error is one of the connection.
func hidden[K, R any](ctx context.Context, of []K, read func([]K) ([]R, error)) ([]R, error) {
	var all []R
	for part := range slices.Chunk(of, hiddenPart) {
		rows, err := read(part)
		if err != nil && !surreal.IsUnreachable(err) && ctx.Err() == nil { // perhaps because of one of them
			rows, err = nil, nil
			for one := range slices.Chunk(part, 1) {
				if found, err := read(one); err == nil {
					rows = append(rows, found...)
				}
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read what is hidden: %w", err)
		}
		all = append(all, rows...)
	}
	return all, nil
}
