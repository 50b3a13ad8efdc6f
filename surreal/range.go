package surreal

import (
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// Ranges and sets, which no Go type stands for. Within a record id they are a [cbor.Tag] each, so that the id that comes
// is the id that goes; elsewhere they are lists: of the two ends, NULL where there is none, and of the items.
const (
	tagRange    = 49
	tagIncluded = 50
	tagExcluded = 51
	tagSet      = 56
)

// taggedOther decodes what follows a tag that no Go type stands for.
func (d *decoder) taggedOther(tag uint64) (any, error) {
	content, err := d.any()
	if err != nil || !d.keepNone {
		return content, err
	}
	return cbor.Tag{Number: tag, Content: content}, nil
}

// bound is one end of a range.
func bound(end any) (value any, tag uint64) {
	if t, ok := end.(cbor.Tag); ok && (t.Number == tagIncluded || t.Number == tagExcluded) {
		return t.Content, t.Number
	}
	return nil, 0
}

// formatTag writes 1..5, 1>..=5, .. and {1, 2}.
func formatTag(b *strings.Builder, t cbor.Tag) {
	items, ok := t.Content.([]any)
	switch {
	case ok && t.Number == tagRange && len(items) == 2:
		from, kind := bound(items[0])
		if kind != 0 {
			formatValue(b, from)
		}
		if kind == tagExcluded {
			b.WriteByte('>')
		}
		b.WriteString("..")
		to, kind := bound(items[1])
		if kind == tagIncluded {
			b.WriteByte('=')
		}
		if kind != 0 {
			formatValue(b, to)
		}
	case ok && t.Number == tagSet:
		formatSet(b, items)
	default:
		formatValue(b, t.Content)
	}
}

// formatSet writes a set so that it can't be taken for an object or a block.
func formatSet(b *strings.Builder, items []any) {
	b.WriteByte('{')
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		formatValue(b, item)
	}
	if len(items) < 2 {
		b.WriteByte(',')
	}
	b.WriteByte('}')
}

// ranged reads one value, or a range that begins with it.
func (p *parser) ranged(depth int) (any, error) {
	p.space()
	from := any(nil)
	if !p.ranges() {
		value, err := p.value(depth)
		if err != nil || !p.ranges() {
			return value, err
		}
		from = cbor.Tag{Number: tagIncluded, Content: value}
		if p.accept(">") {
			from = cbor.Tag{Number: tagExcluded, Content: value}
		}
	}
	p.accept("..")
	kind := uint64(tagExcluded)
	if p.accept("=") {
		kind = tagIncluded
	} else if p.ends() {
		return cbor.Tag{Number: tagRange, Content: []any{from, nil}}, nil
	}
	to, err := p.value(depth)
	return cbor.Tag{Number: tagRange, Content: []any{from, cbor.Tag{Number: kind, Content: to}}}, err
}

// ranges reports that what comes next is the middle of a range.
func (p *parser) ranges() bool {
	return strings.HasPrefix(p.rest, "..") || strings.HasPrefix(p.rest, ">..")
}

// ends reports that no value comes next.
func (p *parser) ends() bool {
	rest := strings.TrimLeft(p.rest, " \t\r\n")
	return rest == "" || strings.ContainsRune(",]}", rune(rest[0]))
}

// isSet reports that what follows a brace is a set. What begins with a name and a colon is an object, as for the
// database, although a set of record ids looks the same.
func (p *parser) isSet() bool {
	ahead := *p
	if ahead.space(); strings.HasPrefix(ahead.rest, "}") {
		return false
	}
	_, err := ahead.objectKey()
	return err != nil
}

func (p *parser) set(depth int) (any, error) {
	items := []any{}
	for p.space(); !p.accept("}"); p.space() {
		if len(items) == 0 && p.accept(",") { // an empty one
			continue
		}
		item, err := p.ranged(depth)
		if err == nil {
			err = p.separator("}")
		}
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return cbor.Tag{Number: tagSet, Content: items}, nil
}
