package surreal

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/surrealdb/surrealdb.go/surrealcbor"
)

// Unmarshal decodes one CBOR value of SurrealDB into the variable that into points to. Into an any come: uint64 and
// int64 for integers (never negative, negative), float32 where that is exact and float64, string, bool, []byte, []any,
// map[string]any, [RecordID], [UUID], the SDK's datetime, duration and decimal types, nil for NONE and NULL.
// Whatever the data is, it gives an error and not a panic.
func Unmarshal(data []byte, into any) error {
	c := cursor{data: data}
	if err := c.skip(answerDepth); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return unmarshal(data, into)
}

// unmarshal is Unmarshal for data a cursor has walked over.
func unmarshal(data []byte, into any) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("decode into %T: %v", into, cause)
		}
	}()
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return errors.New("decode: want a pointer to decode into")
	}
	if err := surrealcbor.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decode into %T: %w", into, err)
	}
	return nil
}

// raiseLimits lifts the SDK decoder's limits on texts and arrays, which are below what the server stores and sends.
// The lengths in an answer are checked against the answer's own size before the decoder sees it, and an answer's size
// against Config.MaxMessage, so these limits have nothing left to protect.
var raiseLimits = sync.OnceFunc(func() {
	surrealcbor.MaxCBORStringLength = 1 << 32
	surrealcbor.MaxCBORArrayLength = 1 << 32
})

func isNone(raw []byte) bool {
	return len(raw) == 0 || bytes.Equal(raw, []byte{0xc6, 0xf6}) || raw[0] == 0xf6 || raw[0] == 0xf7
}
