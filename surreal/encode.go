package surreal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// SurrealDB's CBOR tags.
const (
	tagNone          = models.TagNone
	tagTable         = models.TagTable
	tagRecordID      = models.TagRecordID
	tagUUIDText      = models.TagStringUUID
	tagDecimal       = models.TagStringDecimal
	tagDatetime      = models.TagCustomDatetime
	tagDurationText  = models.TagStringDuration
	tagDuration      = models.TagCustomDuration
	tagUUID          = models.TagSpecBinaryUUID
	tagPoint         = models.TagGeometryPoint
	tagLine          = models.TagGeometryLine
	tagPolygon       = models.TagGeometryPolygon
	tagMultiPoint    = models.TagGeometryMultiPoint
	tagMultiLine     = models.TagGeometryMultiLine
	tagMultiPolygon  = models.TagGeometryMultiPolygon
	tagGeometryGroup = models.TagGeometryCollection
)

// requestDepth is the server's own limit on nesting. A deeper request would be answered without its id, so that the
// caller would wait in vain.
const requestDepth = 100

var (
	errNegativeDuration = errors.New("a negative duration can't be stored")
	errNotUTF8          = errors.New("text is not valid UTF-8")
	errNesting          = fmt.Errorf("nested deeper than %d levels", requestDepth)
)

// Marshal is v in SurrealDB's CBOR, as bound parameters are sent. It refuses, naming the place in v, what the server
// could not decode: invalid UTF-8, map keys that are not strings, negative durations, integers beyond 64 bits,
// nesting beyond 100 levels, broken record ids.
//
// time.Time and time.Duration become SurrealDB's own types with full precision, the zero time.Time becomes NONE, nil
// becomes NULL. Struct fields are named by their cbor tag, else their json tag, else themselves, and know omitempty
// (which also leaves out a zero time).
func Marshal(v any) ([]byte, error) {
	e := encoder{fields: new(fieldCache)}
	if err := e.value(v, requestDepth); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return e.out, nil
}

// placeError is a value that can't be encoded and where it was found.
type placeError struct {
	place string
	err   error
}

func (e *placeError) Error() string { return e.place + ": " + e.err.Error() }
func (e *placeError) Unwrap() error { return e.err }

// at puts a place before those err already names.
func at(place string, err error) error {
	var inner *placeError
	if !errors.As(err, &inner) {
		return &placeError{place, err}
	}
	if !strings.HasPrefix(inner.place, "[") {
		place += "."
	}
	return &placeError{place + inner.place, inner.err}
}

// encoder writes values behind each other into one buffer.
type encoder struct {
	out    []byte
	fields *fieldCache
}

func (e *encoder) head(major byte, arg uint64) {
	major <<= 5
	switch {
	case arg < 24:
		e.out = append(e.out, major|byte(arg))
	case arg <= math.MaxUint8:
		e.out = append(e.out, major|24, byte(arg))
	case arg <= math.MaxUint16:
		e.out = binary.BigEndian.AppendUint16(append(e.out, major|25), uint16(arg))
	case arg <= math.MaxUint32:
		e.out = binary.BigEndian.AppendUint32(append(e.out, major|26), uint32(arg))
	default:
		e.out = binary.BigEndian.AppendUint64(append(e.out, major|27), arg)
	}
}

func (e *encoder) tag(tag uint64) { e.head(majorTag, tag) }

func (e *encoder) null() { e.out = append(e.out, 0xf6) }

func (e *encoder) none() { e.out = append(e.out, majorTag<<5|byte(tagNone), 0xf6) }

// literal writes a text known to be valid.
func (e *encoder) literal(s string) {
	e.head(majorText, uint64(len(s)))
	e.out = append(e.out, s...)
}

func (e *encoder) text(s string) error {
	if !utf8.ValidString(s) {
		return errNotUTF8
	}
	e.literal(s)
	return nil
}

func (e *encoder) tagged(tag uint64, s string) error {
	e.tag(tag)
	return e.text(s)
}

func (e *encoder) bytes(b []byte) {
	e.head(majorBytes, uint64(len(b)))
	e.out = append(e.out, b...)
}

func (e *encoder) bool(b bool) {
	if b {
		e.out = append(e.out, 0xf5)
		return
	}
	e.out = append(e.out, 0xf4)
}

func (e *encoder) int(n int64) {
	if n < 0 {
		e.head(majorNegative, uint64(^n))
		return
	}
	e.head(majorUint, uint64(n))
}

func (e *encoder) uint(n uint64) error {
	if n > math.MaxInt64 {
		return fmt.Errorf("%d does not fit into an int; send a decimal", n)
	}
	e.head(majorUint, n)
	return nil
}

func (e *encoder) float(f float64) {
	e.out = binary.BigEndian.AppendUint64(append(e.out, majorSimple<<5|27), math.Float64bits(f))
}

// time writes the seconds and nanoseconds since 1970.
func (e *encoder) time(t time.Time) error {
	if t.IsZero() {
		e.none()
		return nil
	}
	if year := t.UTC().Year(); year < -262000 || year > 262000 {
		return fmt.Errorf("the year %d is beyond the database's calendar", year)
	}
	e.tag(tagDatetime)
	e.head(majorArray, 2)
	e.int(t.Unix())
	e.int(int64(t.Nanosecond()))
	return nil
}

func (e *encoder) duration(d time.Duration) error {
	if d < 0 {
		return errNegativeDuration
	}
	e.tag(tagDuration)
	e.head(majorArray, 2)
	e.int(int64(d / time.Second))
	e.int(int64(d % time.Second))
	return nil
}

func (e *encoder) uuid(id UUID) {
	e.tag(tagUUID)
	e.bytes(id.UUID[:])
}

func (e *encoder) recordID(id RecordID, depth int) error {
	if err := checkID(id); err != nil {
		return err
	}
	e.tag(tagRecordID)
	e.head(majorArray, 2)
	if err := e.text(id.Table); err != nil {
		return err
	}
	return e.value(id.ID, depth-1)
}
