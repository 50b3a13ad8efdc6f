package surreal

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// field is one exported field of a struct as the database sees it.
type field struct {
	name      string
	index     []int
	omitEmpty bool
}

// value finds the field in a struct. It is not there behind a nil embedded pointer, or when it is empty and may be
// omitted.
func (f field) value(v reflect.Value) (reflect.Value, bool) {
	value, err := v.FieldByIndexErr(f.index)
	return value, err == nil && !(f.omitEmpty && isEmpty(value))
}

// reach finds the field to set it, making embedded structs that are not there.
func (f field) reach(v reflect.Value) (reflect.Value, error) {
	for i, x := range f.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() && !v.CanSet() {
				return v, fmt.Errorf("the embedded %s is nil and hidden", v.Type())
			}
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v, nil
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Struct:
		zero, ok := v.Interface().(interface{ IsZero() bool })
		return ok && zero.IsZero()
	}
	return v.IsZero()
}

// fieldCache remembers the fields of struct types, which never change.
type fieldCache struct{ known sync.Map }

// of works on a nil cache too, which remembers nothing.
func (c *fieldCache) of(t reflect.Type) *fieldSet {
	if c == nil {
		return newFieldSet(fieldsOf(t))
	}
	if known, ok := c.known.Load(t); ok {
		return known.(*fieldSet)
	}
	set := newFieldSet(fieldsOf(t))
	c.known.Store(t, set)
	return set
}

// fieldSet is a struct's fields, to be found by name.
type fieldSet struct {
	list   []field
	exact  map[string]int
	folded map[string]int // by name in lower case; the first of several
}

func newFieldSet(list []field) *fieldSet {
	set := &fieldSet{list: list, exact: make(map[string]int, len(list)), folded: make(map[string]int, len(list))}
	for i, f := range list {
		set.exact[f.name] = i
		folded := strings.ToLower(f.name)
		if _, taken := set.folded[folded]; !taken {
			set.folded[folded] = i
		}
	}
	return set
}

// find looks for the field of a key: exactly, or without regard to the case of ASCII letters.
func (s *fieldSet) find(key []byte) (field, bool) {
	i, ok := s.exact[string(key)]
	if !ok {
		var lower [64]byte
		n := copy(lower[:], key)
		for j, c := range lower[:n] {
			if c >= 'A' && c <= 'Z' {
				lower[j] = c + 'a' - 'A'
			}
		}
		i, ok = s.folded[string(lower[:n])]
		ok = ok && n == len(key)
	}
	if !ok {
		return field{}, false
	}
	return s.list[i], true
}

// fieldsOf follows encoding/json: embedded structs stand in for their fields unless a tag names them, and of two
// fields with one name the less embedded counts.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	var closed [][]int
	for _, sf := range reflect.VisibleFields(t) {
		if within(sf.Index, closed) {
			continue
		}
		name, omitEmpty, kind := readField(sf)
		if kind != embedded {
			closed = append(closed, sf.Index)
		}
		if kind != plain {
			continue
		}
		fields = addField(fields, field{name, sf.Index, omitEmpty})
	}
	return fields
}

func addField(fields []field, f field) []field {
	i := slices.IndexFunc(fields, func(other field) bool { return other.name == f.name })
	switch {
	case i < 0:
		return append(fields, f)
	case len(f.index) < len(fields[i].index):
		fields[i] = f
	}
	return fields
}

func within(index []int, closed [][]int) bool {
	return slices.ContainsFunc(closed, func(outer []int) bool {
		return len(outer) < len(index) && slices.Equal(outer, index[:len(outer)])
	})
}

// What a Go field is to the object.
const (
	plain = iota
	ignored
	embedded
)

// readField applies the tags; a cbor tag goes before a json tag.
func readField(sf reflect.StructField) (name string, omitEmpty bool, kind int) {
	tag, tagged := sf.Tag.Lookup("cbor")
	if !tagged {
		tag = sf.Tag.Get("json")
	}
	name, options, _ := strings.Cut(tag, ",")
	switch {
	case tag == "-":
		return "", false, ignored
	case name == "" && sf.Anonymous && embeds(sf.Type):
		return "", false, embedded
	case !sf.IsExported():
		return "", false, ignored
	case name == "":
		name = sf.Name
	}
	for option := range strings.SplitSeq(options, ",") {
		omitEmpty = omitEmpty || option == "omitempty" || option == "omitzero"
	}
	return name, omitEmpty, plain
}

// embeds reports structs that have fields to stand in for them, which time.Time for instance has not.
func embeds(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && !ownType(t) && slices.ContainsFunc(reflect.VisibleFields(t), reflect.StructField.IsExported)
}
