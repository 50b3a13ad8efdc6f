package surreal

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// any decodes the next value as the type it has in SurrealDB.
func (d *decoder) any() (any, error) {
	switch d.peek() {
	case majorUint:
		_, n, _, err := d.head()
		return n, err
	case majorNegative:
		_, n, _, err := d.head()
		if n > math.MaxInt64 {
			return nil, errors.New("an integer is beyond 64 bits")
		}
		return ^int64(n), err
	case majorBytes:
		return d.byteString()
	case majorText:
		return d.string()
	case majorArray:
		return d.array()
	case majorMap:
		return d.object()
	case majorTag:
		_, tag, _, err := d.head()
		if err != nil {
			return nil, err
		}
		return d.tagged(tag)
	}
	return d.simple()
}

func (d *decoder) simple() (any, error) {
	if d.pos >= len(d.data) {
		return nil, errTruncated
	}
	first := d.data[d.pos]
	_, bits, _, err := d.head()
	switch {
	case err != nil:
		return nil, err
	case first == 0xf4 || first == 0xf5:
		return first == 0xf5, nil
	case first == 0xf6 || first == 0xf7:
		return nil, nil
	case first == 0xf9:
		return halfFloat(uint16(bits)), nil
	case first == 0xfa:
		return math.Float32frombits(uint32(bits)), nil
	case first == 0xfb:
		return math.Float64frombits(bits), nil
	}
	return nil, fmt.Errorf("cbor: byte 0x%02x is no value", first)
}

// halfFloat widens a float of 16 bits.
func halfFloat(bits uint16) float32 {
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	var f float64
	switch exponent {
	case 0:
		f = math.Ldexp(fraction, -24)
	case 31:
		f = math.Inf(1)
		if fraction != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(fraction+1024, exponent-25)
	}
	if bits>>15 == 1 {
		f = -f
	}
	return float32(f)
}

// string decodes a text, or what SurrealDB sends as a text with a tag.
func (d *decoder) string() (string, error) {
	start := d.pos
	major, arg, indefinite, err := d.head()
	if err == nil && major == majorTag {
		switch arg {
		case tagTable, tagDecimal, tagUUIDText, tagDurationText:
			return d.string()
		}
	}
	switch {
	case err != nil:
		return "", err
	case major != majorText:
		d.pos = start
		return "", d.misfit("string")
	case indefinite:
		chunks, err := d.chunks(major)
		return string(chunks), err
	case arg > uint64(len(d.data)-d.pos):
		return "", errTruncated
	}
	d.pos += int(arg)
	return string(d.data[d.pos-int(arg) : d.pos]), nil
}

// byteString decodes bytes into memory of their own.
func (d *decoder) byteString() ([]byte, error) {
	if d.peek() != majorBytes {
		return nil, d.misfit("[]byte")
	}
	major, size, indefinite, err := d.head()
	switch {
	case err != nil:
		return nil, err
	case indefinite:
		return d.chunks(major)
	case size > uint64(len(d.data)-d.pos):
		return nil, errTruncated
	}
	d.pos += int(size)
	return append(make([]byte, 0, size), d.data[d.pos-int(size):d.pos]...), nil
}

// chunks reads the pieces of a string whose length was not known.
func (d *decoder) chunks(major byte) ([]byte, error) {
	all := []byte{}
	for !d.atBreak() {
		chunk, size, indefinite, err := d.head()
		switch {
		case err != nil:
			return nil, err
		case chunk != major || indefinite:
			return nil, errUnexpected
		case size > uint64(len(d.data)-d.pos):
			return nil, errTruncated
		}
		all = append(all, d.data[d.pos:d.pos+int(size)]...)
		d.pos += int(size)
	}
	return all, nil
}

func (d *decoder) bool() (bool, error) {
	start := d.pos
	v, err := d.any()
	b, ok := v.(bool)
	if err == nil && !ok {
		d.pos = start
		err = d.misfit("bool")
	}
	return b, err
}

// misfit says that the next value has no place in a type.
func (d *decoder) misfit(want string) error {
	v, err := d.any()
	if err != nil {
		return err
	}
	return mismatch(v, want)
}

// count reads the head of an array or map. It gives how many items may be expected, as far as the data can hold them.
func (d *decoder) count(major byte) (n int, indefinite bool, err error) {
	found, size, indefinite, err := d.head()
	switch {
	case err != nil:
		return 0, false, err
	case found != major:
		return 0, false, errUnexpected
	case size > uint64(len(d.data)-d.pos):
		return 0, false, errTruncated
	}
	return int(size), indefinite, nil
}

// more reports whether item i is still to come.
func (d *decoder) more(i, n int, indefinite bool) bool {
	if indefinite {
		return !d.atBreak()
	}
	return i < n
}

func (d *decoder) array() ([]any, error) {
	if d.peek() != majorArray {
		return nil, d.misfit("[]any")
	}
	n, indefinite, err := d.count(majorArray)
	if err != nil {
		return nil, err
	}
	items := make([]any, 0, n)
	for i := 0; d.more(i, n, indefinite); i++ {
		item, err := d.any()
		if err != nil {
			return nil, at(fmt.Sprintf("[%d]", i), err)
		}
		items = append(items, item)
	}
	return items, nil
}

func (d *decoder) object() (map[string]any, error) {
	if d.peek() != majorMap {
		return nil, d.misfit("map[string]any")
	}
	n, indefinite, err := d.count(majorMap)
	if err != nil {
		return nil, err
	}
	members := make(map[string]any, n/2) // a member takes at least two bytes
	for i := 0; d.more(i, n, indefinite); i++ {
		key, err := d.key()
		if err != nil {
			return nil, err
		}
		if members[key], err = d.any(); err != nil {
			return nil, at(key, err)
		}
	}
	return members, nil
}

func (d *decoder) key() (string, error) {
	if d.peek() != majorText {
		return "", errors.New("a key of an object is no text")
	}
	return d.string()
}

func (d *decoder) recordID() (RecordID, error) {
	v, err := d.any()
	id, ok := v.(RecordID)
	if err == nil && !ok {
		err = mismatch(v, "RecordID")
	}
	return id, err
}

func (d *decoder) uuid() (UUID, error) {
	v, err := d.any()
	if text, ok := v.(models.UUIDString); ok {
		var id UUID
		return id, id.UnmarshalText([]byte(text))
	}
	id, ok := v.(UUID)
	if err == nil && !ok {
		err = mismatch(v, "UUID")
	}
	return id, err
}

func (d *decoder) time() (time.Time, error) {
	v, err := d.any()
	t, ok := v.(models.CustomDateTime)
	if err == nil && !ok {
		err = mismatch(v, "time.Time")
	}
	return t.Time, err
}

func (d *decoder) duration() (time.Duration, error) {
	v, err := d.any()
	t, ok := v.(models.CustomDuration)
	if err == nil && !ok {
		err = mismatch(v, "time.Duration")
	}
	return t.Duration, err
}

// pair reads an array of up to two integers, as datetimes and durations are.
func (d *decoder) pair() (seconds, nanoseconds int64, err error) {
	n, indefinite, err := d.count(majorArray)
	if err != nil || n > 2 || indefinite {
		return 0, 0, errors.Join(err, errUnexpected)
	}
	var parts [2]int64
	for i := range n {
		major, arg, _, err := d.head()
		switch {
		case err != nil:
			return 0, 0, err
		case arg > math.MaxInt64:
			return 0, 0, errors.New("an integer is beyond 64 bits")
		case major == majorUint:
			parts[i] = int64(arg)
		case major == majorNegative:
			parts[i] = ^int64(arg)
		default:
			return 0, 0, errUnexpected
		}
	}
	return parts[0], parts[1], nil
}
