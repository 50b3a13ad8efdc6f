package surreal

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// Unmarshal decodes one value of SurrealDB's CBOR into the variable that into points to, and is strict about it: what
// does not fit is an error that names the place, whatever the data is it never panics, and no length in it makes it
// allocate more than the data can fill.
//
// Into an any come what the SDK decodes: uint64 and int64 for integers (not negative, negative), float32 where that is
// exact, else float64, string, bool, []byte, []any, map[string]any, [RecordID], [UUID], the SDK's datetime, duration,
// decimal and geometry types, nil for NONE and NULL. Only in the keys of record ids NONE stays [None], because there it
// makes another record.
//
// Elsewhere NONE and NULL give the zero value; integers also go into floats, decimals into whatever number or text holds
// them, datetimes into time.Time, durations into time.Duration. Structs follow the tags [Marshal] follows; keys match
// fields exactly or else without regard to case, and keys without a field are skipped.
func Unmarshal(data []byte, into any) error {
	c := cursor{data: data}
	if err := c.skip(answerDepth); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return unmarshal(data, into, nil)
}

// unmarshal is Unmarshal for data a cursor has walked over.
func unmarshal(data []byte, into any, fields *fieldCache) (err error) {
	defer func() {
		if cause := recover(); cause != nil { // a type's own UnmarshalCBOR
			err = fmt.Errorf("decode into %T: %v", into, cause)
		}
	}()
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return errors.New("decode: want a pointer to decode into")
	}
	d := decoder{cursor: cursor{data: data}, fields: fields}
	if err := d.into(target.Elem()); err != nil {
		return fmt.Errorf("decode into %T: %w", into, err)
	}
	return nil
}

// decoder reads values from the front of what a cursor has found well formed.
type decoder struct {
	cursor
	fields   *fieldCache
	keepNone bool // within the key of a record id
}

// into decodes the next value into v, which can be set. The types of most fields need no reflection.
func (d *decoder) into(v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		return d.intoPointer(v)
	}
	if d.isNull() && v.Type() != reflect.TypeFor[cbor.RawMessage]() {
		v.SetZero()
		return d.skip(answerDepth)
	}
	var err error
	switch p := v.Addr().Interface().(type) {
	case *any:
		*p, err = d.any()
	case *string:
		*p, err = d.string()
	case *bool:
		*p, err = d.bool()
	case *map[string]any:
		*p, err = d.object()
	case *[]any:
		*p, err = d.array()
	case *[]byte:
		*p, err = d.byteString()
	case *time.Time:
		*p, err = d.time()
	case *time.Duration:
		*p, err = d.duration()
	case *RecordID:
		*p, err = d.recordID()
	case *UUID:
		*p, err = d.uuid()
	case *cbor.RawMessage:
		raw, rawErr := d.raw(answerDepth)
		*p, err = append(cbor.RawMessage(nil), raw...), rawErr
	default:
		err = d.reflect(v, p)
	}
	return err
}

func (d *decoder) intoPointer(v reflect.Value) error {
	if d.isNull() {
		v.SetZero()
		return d.skip(answerDepth)
	}
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	return d.into(v.Elem())
}

// mismatch is a value that has no place in the Go type.
func mismatch(value, t any) error { return fmt.Errorf("a %T does not fit into a %v", value, t) }
