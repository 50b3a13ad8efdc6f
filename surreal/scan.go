package surreal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// CBOR's major types.
const (
	majorUint = iota
	majorNegative
	majorBytes
	majorText
	majorArray
	majorMap
	majorTag
	majorSimple
)

// answerDepth is how deep an answer may nest. The server stores at most 100 levels; an answer wraps a few around them.
const answerDepth = 256

var (
	errTruncated  = errors.New("cbor: the data ends in the middle of a value")
	errTooDeep    = errors.New("cbor: nested too deep")
	errUnexpected = errors.New("cbor: not the expected kind of value")
)

// cursor walks CBOR without decoding it. Every length it returns fits into what is left of the data, so that nobody
// allocates by the word of a broken or hostile peer.
type cursor struct {
	data []byte
	pos  int
	// strict also checks what the server refuses to decode: text is UTF-8, keys of maps are text, durations are
	// not negative.
	strict bool
}

// head reads a value's first bytes. indefinite marks lengths that are not known in advance.
func (c *cursor) head() (major byte, arg uint64, indefinite bool, err error) {
	if c.pos >= len(c.data) {
		return 0, 0, false, errTruncated
	}
	first := c.data[c.pos]
	major, info := first>>5, first&0x1f
	c.pos++
	switch {
	case info < 24:
		return major, uint64(info), false, nil
	case info == 31 && major >= majorBytes && major <= majorMap:
		return major, 0, true, nil
	case info > 27:
		return 0, 0, false, fmt.Errorf("cbor: byte 0x%02x starts no value", first)
	}
	size := 1 << (info - 24)
	if len(c.data)-c.pos < size {
		return 0, 0, false, errTruncated
	}
	var wide [8]byte
	copy(wide[8-size:], c.data[c.pos:c.pos+size])
	c.pos += size
	return major, binary.BigEndian.Uint64(wide[:]), false, nil
}

// peek is the major type of the next value, majorSimple at the end of the data.
func (c *cursor) peek() byte {
	if c.pos >= len(c.data) {
		return majorSimple
	}
	return c.data[c.pos] >> 5
}

// isNull reports whether the next value is NULL, undefined or NONE.
func (c *cursor) isNull() bool {
	rest := c.data[c.pos:]
	switch {
	case len(rest) == 0:
		return false
	case rest[0] == 0xf6 || rest[0] == 0xf7:
		return true
	}
	return len(rest) > 1 && rest[0] == 0xc6 && (rest[1] == 0xf6 || rest[1] == 0xf7)
}

// raw walks over one value and returns its bytes, which are a part of the cursor's data.
func (c *cursor) raw(depth int) ([]byte, error) {
	start := c.pos
	if err := c.skip(depth); err != nil {
		return nil, err
	}
	return c.data[start:c.pos:c.pos], nil
}

// skip walks over one value that nests at most depth levels.
func (c *cursor) skip(depth int) error {
	if depth < 0 {
		return errTooDeep
	}
	major, arg, indefinite, err := c.head()
	if err != nil {
		return err
	}
	switch major {
	case majorBytes, majorText:
		return c.skipString(major, arg, indefinite)
	case majorArray:
		return c.skipItems(1, arg, indefinite, depth-1)
	case majorMap:
		return c.skipItems(2, arg, indefinite, depth-1)
	case majorTag:
		return c.skipTag(arg, depth-1)
	}
	return nil
}

func (c *cursor) skipString(major byte, size uint64, indefinite bool) error {
	if indefinite {
		return c.skipChunks(major)
	}
	content, err := c.take(size)
	if err == nil && c.strict && major == majorText && !utf8.Valid(content) {
		return errNotUTF8
	}
	return err
}

func (c *cursor) skipChunks(major byte) error {
	for !c.atBreak() {
		chunk, size, indefinite, err := c.head()
		if err != nil {
			return err
		}
		if chunk != major || indefinite {
			return errUnexpected
		}
		if err := c.skipString(major, size, false); err != nil {
			return err
		}
	}
	return nil
}

// skipItems walks over the items of an array (width 1) or a map (width 2).
func (c *cursor) skipItems(width int, count uint64, indefinite bool, depth int) error {
	if !indefinite && !c.holds(count) {
		return errTruncated
	}
	for n := uint64(0); indefinite || n < count; n++ {
		if indefinite && c.atBreak() {
			return nil
		}
		if c.strict && width == 2 && c.peek() != majorText {
			return errors.New("the keys of an object must be text")
		}
		for range width {
			if err := c.skip(depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *cursor) atBreak() bool {
	if c.pos < len(c.data) && c.data[c.pos] == 0xff {
		c.pos++
		return true
	}
	return false
}

func (c *cursor) skipTag(tag uint64, depth int) error {
	content := c.pos
	if err := c.skip(depth); err != nil {
		return err
	}
	if c.strict && tag == tagDuration {
		inner := cursor{data: c.data[content:c.pos]}
		if _, _, _, err := inner.head(); err == nil && inner.peek() == majorNegative {
			return errNegativeDuration
		}
	}
	return nil
}

// take reads the next size bytes, which are a part of the cursor's data.
func (c *cursor) take(size uint64) ([]byte, error) {
	if !c.holds(size) {
		return nil, errTruncated
	}
	c.pos += int(size)
	return c.data[c.pos-int(size) : c.pos], nil
}

// holds reports whether so many bytes are left.
func (c *cursor) holds(size uint64) bool { return size <= uint64(len(c.data)-c.pos) }

// text reads a text of known length. The bytes are a part of the cursor's data.
func (c *cursor) text() ([]byte, error) {
	major, size, indefinite, err := c.head()
	switch {
	case err != nil:
		return nil, err
	case major != majorText || indefinite:
		return nil, errUnexpected
	}
	return c.take(size)
}

// count reads the head of an array or map. It gives how many items may be expected, as far as the data can hold them.
func (c *cursor) count(major byte) (n int, indefinite bool, err error) {
	found, size, indefinite, err := c.head()
	switch {
	case err != nil:
		return 0, false, err
	case found != major:
		return 0, false, errUnexpected
	case !c.holds(size):
		return 0, false, errTruncated
	}
	return int(size), indefinite, nil
}

// more reports whether item i is still to come.
func (c *cursor) more(i, n int, indefinite bool) bool {
	if indefinite {
		return !c.atBreak()
	}
	return i < n
}

// pair reads an array of at most two integers; those that are not there are 0.
func (c *cursor) pair() (first, second int64, err error) {
	major, n, indefinite, err := c.head()
	if err != nil || major != majorArray || n > 2 || indefinite {
		return 0, 0, errors.Join(err, errUnexpected)
	}
	var parts [2]int64
	for i := range parts[:n] {
		if parts[i], err = c.integer(); err != nil {
			return 0, 0, err
		}
	}
	return parts[0], parts[1], nil
}

func (c *cursor) integer() (int64, error) {
	major, arg, _, err := c.head()
	switch {
	case err != nil:
		return 0, err
	case arg > math.MaxInt64:
		return 0, errors.New("an integer is beyond 64 bits")
	case major == majorUint:
		return int64(arg), nil
	case major == majorNegative:
		return ^int64(arg), nil
	}
	return 0, errUnexpected
}

// floating reads a float, of the width it has.
func (c *cursor) floating() (any, error) {
	first := c.data[c.pos]
	_, bits, _, err := c.head()
	switch {
	case err != nil:
		return nil, err
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

// fields walks over a map with text keys and hands every key and its raw value to visit.
func (c *cursor) fields(depth int, visit func(key, value []byte) error) error {
	major, count, indefinite, err := c.head()
	if err != nil {
		return err
	}
	if major != majorMap {
		return errUnexpected
	}
	for n := uint64(0); indefinite || n < count; n++ {
		if indefinite && c.atBreak() {
			return nil
		}
		key, err := c.text()
		if err != nil {
			return err
		}
		value, err := c.raw(depth - 1)
		if err != nil {
			return err
		}
		if err := visit(key, value); err != nil {
			return err
		}
	}
	return nil
}
