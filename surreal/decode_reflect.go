package surreal

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/fxamacker/cbor/v2"
	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// reflect decodes into what no type switch knows. pointer points to v.
func (d *decoder) reflect(v reflect.Value, pointer any) error {
	if own, ok := pointer.(cbor.Unmarshaler); ok && !ownType(v.Type()) {
		raw, err := d.raw(answerDepth)
		if err != nil {
			return err
		}
		return own.UnmarshalCBOR(raw)
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return d.intoInt(v)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return d.intoUint(v)
	case reflect.Float32, reflect.Float64:
		return d.intoFloat(v)
	case reflect.String:
		if v.Type() == reflect.TypeFor[models.UUIDString]() {
			return d.intoSame(v)
		}
		s, err := d.string()
		v.SetString(s)
		return err
	case reflect.Bool:
		b, err := d.bool()
		v.SetBool(b)
		return err
	}
	switch {
	case ownType(v.Type()), v.Kind() == reflect.Interface, d.peek() == majorTag:
		return d.intoSame(v)
	case v.Kind() == reflect.Slice:
		return d.intoSlice(v)
	case v.Kind() == reflect.Array:
		return d.intoArray(v)
	case v.Kind() == reflect.Map:
		return d.intoMap(v)
	case v.Kind() == reflect.Struct:
		return d.intoStruct(v)
	}
	return fmt.Errorf("nothing can be decoded into a %s", v.Type())
}

// intoSame sets v to the value as SurrealDB has it, if that is its type.
func (d *decoder) intoSame(v reflect.Value) error {
	value, err := d.any()
	if err != nil {
		return err
	}
	if value == nil {
		v.SetZero()
		return nil
	}
	if !reflect.TypeOf(value).AssignableTo(v.Type()) {
		return mismatch(value, v.Type())
	}
	v.Set(reflect.ValueOf(value))
	return nil
}

func (d *decoder) intoInt(v reflect.Value) error {
	value, err := d.any()
	if err != nil {
		return err
	}
	var n int64
	switch value := value.(type) {
	case int64:
		n = value
	case uint64:
		if value > math.MaxInt64 {
			return fmt.Errorf("%d does not fit into a %s", value, v.Type())
		}
		n = int64(value)
	case models.DecimalString:
		if n, err = strconv.ParseInt(string(value), 10, 64); err != nil {
			return fmt.Errorf("the decimal %s does not fit into a %s", value, v.Type())
		}
	case models.CustomDuration: // a named type of time.Duration
		if v.Type().Kind() != reflect.Int64 || v.Type() == reflect.TypeFor[int64]() {
			return mismatch(value, v.Type())
		}
		n = int64(value.Duration)
	default:
		return mismatch(value, v.Type())
	}
	if v.OverflowInt(n) {
		return fmt.Errorf("%d does not fit into a %s", n, v.Type())
	}
	v.SetInt(n)
	return nil
}

func (d *decoder) intoUint(v reflect.Value) error {
	value, err := d.any()
	if err != nil {
		return err
	}
	n, ok := value.(uint64)
	switch decimal, isDecimal := value.(models.DecimalString); {
	case isDecimal:
		if n, err = strconv.ParseUint(string(decimal), 10, 64); err != nil {
			return fmt.Errorf("the decimal %s does not fit into a %s", decimal, v.Type())
		}
	case !ok:
		if negative, isInt := value.(int64); isInt {
			return fmt.Errorf("%d does not fit into a %s", negative, v.Type())
		}
		return mismatch(value, v.Type())
	}
	if v.OverflowUint(n) {
		return fmt.Errorf("%d does not fit into a %s", n, v.Type())
	}
	v.SetUint(n)
	return nil
}

func (d *decoder) intoFloat(v reflect.Value) error {
	value, err := d.any()
	if err != nil {
		return err
	}
	f, ok := floatOf(value)
	if !ok {
		return mismatch(value, v.Type())
	}
	v.SetFloat(f)
	return nil
}

// growth is how many items are made room for before the first of them has been read.
const growth = 256

func (d *decoder) intoSlice(v reflect.Value) error {
	if d.peek() == majorBytes && v.Type().Elem().Kind() == reflect.Uint8 {
		b, err := d.byteString()
		v.SetBytes(b)
		return err
	}
	if d.peek() != majorArray {
		return d.misfit(v.Type().String())
	}
	n, indefinite, err := d.count(majorArray)
	if err != nil {
		return err
	}
	items := reflect.MakeSlice(v.Type(), 0, min(n, growth))
	for i := 0; d.more(i, n, indefinite); i++ {
		if i == items.Cap() {
			items = grow(items)
		}
		items = items.Slice(0, i+1)
		if err := d.into(items.Index(i)); err != nil {
			return at(fmt.Sprintf("[%d]", i), err)
		}
	}
	v.Set(items)
	return nil
}

func grow(items reflect.Value) reflect.Value {
	grown := reflect.MakeSlice(items.Type(), items.Len(), 2*items.Cap()+8)
	reflect.Copy(grown, items)
	return grown
}

func (d *decoder) intoArray(v reflect.Value) error {
	if d.peek() == majorBytes && v.Type().Elem().Kind() == reflect.Uint8 {
		b, err := d.byteString()
		if err == nil && len(b) != v.Len() {
			err = fmt.Errorf("%d bytes do not fit into a %s", len(b), v.Type())
		}
		reflect.Copy(v, reflect.ValueOf(b))
		return err
	}
	if d.peek() != majorArray {
		return d.misfit(v.Type().String())
	}
	n, indefinite, err := d.count(majorArray)
	if err != nil {
		return err
	}
	v.SetZero()
	for i := 0; d.more(i, n, indefinite); i++ {
		if i == v.Len() {
			return fmt.Errorf("more items than fit into a %s", v.Type())
		}
		if err := d.into(v.Index(i)); err != nil {
			return at(fmt.Sprintf("[%d]", i), err)
		}
	}
	return nil
}

func (d *decoder) intoMap(v reflect.Value) error {
	if d.peek() != majorMap {
		return d.misfit(v.Type().String())
	}
	if v.Type().Key().Kind() != reflect.String {
		return fmt.Errorf("an object does not fit into a %s: its keys are texts", v.Type())
	}
	n, indefinite, err := d.count(majorMap)
	if err != nil {
		return err
	}
	members := reflect.MakeMapWithSize(v.Type(), min(n, growth))
	for i := 0; d.more(i, n, indefinite); i++ {
		key, err := d.key()
		if err != nil {
			return err
		}
		value := reflect.New(v.Type().Elem()).Elem()
		if err := d.into(value); err != nil {
			return at(key, err)
		}
		members.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), value)
	}
	v.Set(members)
	return nil
}

func (d *decoder) intoStruct(v reflect.Value) error {
	if d.peek() != majorMap {
		return d.misfit(v.Type().String())
	}
	n, indefinite, err := d.count(majorMap)
	if err != nil {
		return err
	}
	fields := d.fields.of(v.Type())
	for i := 0; d.more(i, n, indefinite); i++ {
		key, err := d.text()
		if err != nil {
			return errors.New("a key of an object is no text of known length")
		}
		f, ok := fields.find(key)
		if !ok {
			if err := d.skip(answerDepth); err != nil {
				return err
			}
			continue
		}
		target, err := f.reach(v)
		if err == nil {
			err = d.into(target)
		}
		if err != nil {
			return at(f.name, err)
		}
	}
	return nil
}
