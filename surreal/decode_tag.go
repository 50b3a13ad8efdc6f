package surreal

import (
	"fmt"
	"math"
	"time"

	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// tagged decodes what follows a tag. The content of a tag nobody knows stands for itself, and so do ranges and sets, which
// the SDK has no types for that could hold any; but not within a record id.
func (d *decoder) tagged(tag uint64) (any, error) {
	switch tag {
	case tagNone:
		if d.keepNone {
			return None, d.skip(answerDepth)
		}
		return nil, d.skip(answerDepth)
	case tagRecordID:
		return d.taggedID()
	case tagDatetime:
		s, ns, err := d.pair()
		return models.CustomDateTime{Time: time.Unix(s, ns).UTC()}, err
	case tagDuration:
		return d.taggedDuration()
	case tagUUID:
		return d.taggedUUID()
	case tagTable:
		s, err := d.string()
		return models.Table(s), err
	case tagUUIDText:
		s, err := d.string()
		return models.UUIDString(s), err
	case tagDecimal:
		s, err := d.string()
		return models.DecimalString(s), err
	case tagDurationText:
		s, err := d.string()
		return models.CustomDurationString(s), err
	case 0:
		s, err := d.string()
		if err != nil {
			return nil, err
		}
		t, err := time.Parse(time.RFC3339Nano, s)
		return models.CustomDateTime{Time: t.UTC()}, err
	}
	return d.taggedGeometry(tag)
}

func (d *decoder) taggedDuration() (any, error) {
	s, ns, err := d.pair()
	if err != nil {
		return nil, err
	}
	if s < 0 || ns < 0 || ns >= int64(time.Second) {
		return nil, fmt.Errorf("a duration of %d s and %d ns", s, ns)
	}
	if s > (math.MaxInt64-ns)/int64(time.Second) {
		return longDuration(s, ns), nil
	}
	return Duration(time.Duration(s)*time.Second + time.Duration(ns)), nil
}

// longDuration is a duration beyond time.Duration's 292 years, which only a text holds.
func longDuration(s, ns int64) models.CustomDurationString {
	const year = 365 * 24 * 60 * 60
	return models.CustomDurationString(fmt.Sprintf("%dy", s/year) + models.FormatDuration(s%year*int64(time.Second)+ns))
}

func (d *decoder) taggedUUID() (any, error) {
	b, err := d.byteString()
	if err != nil {
		return nil, err
	}
	if len(b) != 16 {
		return nil, fmt.Errorf("a uuid has %d bytes", len(b))
	}
	var id UUID
	copy(id.UUID[:], b)
	return id, nil
}

// taggedID reads [table, key].
func (d *decoder) taggedID() (any, error) {
	if d.peek() == majorText { // the text form that only clients send
		s, err := d.string()
		if err != nil {
			return nil, err
		}
		return ParseID(s)
	}
	n, indefinite, err := d.count(majorArray)
	if err != nil || n != 2 || indefinite {
		return nil, fmt.Errorf("a record id is no pair: %w", errUnexpected)
	}
	var id RecordID
	if id.Table, err = d.string(); err != nil {
		return nil, err
	}
	outer := d.keepNone
	d.keepNone = true
	id.ID, err = d.any()
	d.keepNone = outer
	return id, err
}
