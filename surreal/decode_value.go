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
	switch first := d.data[d.pos]; first {
	case 0xf4, 0xf5:
		d.pos++
		return first == 0xf5, nil
	case 0xf6, 0xf7:
		d.pos++
		return nil, nil
	}
	return d.floating()
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
	}
	text, err := d.take(arg)
	return string(text), err
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
	}
	content, err := d.take(size)
	return append(make([]byte, 0, len(content)), content...), err
}

// chunks reads the pieces of a string whose length was not known.
func (d *decoder) chunks(major byte) ([]byte, error) {
	all := []byte{}
	for !d.atBreak() {
		chunk, size, indefinite, err := d.head()
		if err != nil {
			return nil, err
		}
		if chunk != major || indefinite {
			return nil, errUnexpected
		}
		content, err := d.take(size)
		if err != nil {
			return nil, err
		}
		all = append(all, content...)
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
		err := id.UnmarshalText([]byte(text))
		return id, err
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
