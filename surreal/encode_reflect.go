package surreal

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// reflect encodes what no type switch knows: named types, pointers, typed maps and slices, structs.
func (e *encoder) reflect(v reflect.Value, depth int) error {
	if m, ok := marshaler(v); ok {
		raw, err := m.MarshalCBOR()
		if err != nil {
			return err
		}
		return e.raw(raw, depth)
	}
	switch v.Kind() {
	case reflect.Bool:
		e.bool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.int(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return e.uint(v.Uint())
	case reflect.Float32, reflect.Float64:
		e.float(v.Float())
	case reflect.String:
		return e.text(v.String())
	case reflect.Pointer:
		if v.IsNil() {
			e.null()
			return nil
		}
		return e.value(v.Elem().Interface(), depth-1)
	case reflect.Slice, reflect.Array:
		return e.list(v, depth)
	case reflect.Map:
		return e.typedMap(v, depth)
	case reflect.Struct:
		return e.record(v, depth)
	default:
		return fmt.Errorf("a %s has no place in a database", v.Type())
	}
	return nil
}

// marshaler finds a type's own encoding, on the value or on a pointer to it.
func marshaler(v reflect.Value) (cbor.Marshaler, bool) {
	if v.Kind() == reflect.Pointer && (v.IsNil() || ownType(v.Type().Elem())) {
		return nil, false
	}
	if m, ok := v.Interface().(cbor.Marshaler); ok {
		return m, true
	}
	if v.Kind() == reflect.Pointer || !reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[cbor.Marshaler]()) {
		return nil, false
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	m, ok := p.Interface().(cbor.Marshaler)
	return m, ok
}

// ownType reports the SDK's plain types, which the encoder knows itself: their MarshalCBOR lets through what the
// server can't decode. Ranges are generic, so only their own method knows them.
func ownType(t reflect.Type) bool {
	return strings.HasSuffix(t.PkgPath(), "surrealdb.go/pkg/models") && !strings.Contains(t.Name(), "[")
}

func (e *encoder) list(v reflect.Value, depth int) error {
	if v.Kind() == reflect.Slice && v.IsNil() {
		e.null()
		return nil
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		e.byteList(v)
		return nil
	}
	e.head(majorArray, uint64(v.Len()))
	for i := range v.Len() {
		if err := e.value(v.Index(i).Interface(), depth-1); err != nil {
			return at(fmt.Sprintf("[%d]", i), err)
		}
	}
	return nil
}

func (e *encoder) byteList(v reflect.Value) {
	if v.Kind() == reflect.Slice {
		e.bytes(v.Bytes())
		return
	}
	e.head(majorBytes, uint64(v.Len()))
	for i := range v.Len() {
		e.out = append(e.out, byte(v.Index(i).Uint()))
	}
}

func (e *encoder) typedMap(v reflect.Value, depth int) error {
	if v.Type().Key().Kind() != reflect.String {
		return fmt.Errorf("the keys of an object must be strings, not %s", v.Type().Key())
	}
	if v.IsNil() {
		e.null()
		return nil
	}
	e.head(majorMap, uint64(v.Len()))
	for items := v.MapRange(); items.Next(); {
		if err := e.member(items.Key().String(), items.Value().Interface(), depth); err != nil {
			return err
		}
	}
	return nil
}

// record encodes a struct as an object.
func (e *encoder) record(v reflect.Value, depth int) error {
	fields := e.fields.of(v.Type()).list
	if len(fields) == 0 && v.NumField() > 0 {
		return fmt.Errorf("a %s has no exported field", v.Type())
	}
	count := uint64(0)
	for _, f := range fields {
		if _, ok := f.value(v); ok {
			count++
		}
	}
	e.head(majorMap, count)
	for _, f := range fields {
		value, ok := f.value(v)
		if !ok {
			continue
		}
		if err := e.member(f.name, value.Interface(), depth); err != nil {
			return err
		}
	}
	return nil
}
