package surreal

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// Format is a value as SurrealQL, as SurrealDB itself writes it: 'text', 1, 1.5f, job:ab12.
func Format(v any) string {
	var b strings.Builder
	formatValue(&b, v)
	return b.String()
}

// formatValue writes a value as SurrealQL, as SurrealDB itself writes it.
func formatValue(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("NULL")
	case models.CustomNil:
		b.WriteString("NONE")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		formatString(b, v)
	case float64:
		formatFloat(b, v)
	case float32:
		formatFloat(b, float64(v))
	case []any:
		formatArray(b, v)
	case map[string]any:
		formatObject(b, v)
	case RecordID:
		formatID(b, v)
	case []byte:
		b.WriteString(`b"` + strings.ToUpper(hex.EncodeToString(v)) + `"`)
	default:
		formatSpecial(b, v)
	}
}

func formatSpecial(b *strings.Builder, v any) {
	switch v := v.(type) {
	case UUID:
		b.WriteString("u'" + v.String() + "'")
	case models.UUIDString:
		b.WriteString("u'" + string(v) + "'")
	case models.DecimalString:
		b.WriteString(trimDecimal(string(v)) + "dec")
	case models.CustomDateTime:
		b.WriteString("d'" + formatTime(v.Time) + "'")
	case time.Time:
		b.WriteString("d'" + formatTime(v) + "'")
	case models.CustomDuration:
		b.WriteString(FormatDuration(v.Duration))
	case time.Duration:
		b.WriteString(FormatDuration(v))
	case models.CustomDurationString:
		b.WriteString(string(v))
	case models.Table:
		formatName(b, string(v))
	case cbor.Tag:
		formatTag(b, v)
	case models.GeometryPoint:
		b.WriteString("(" + plainFloat(v.Longitude) + ", " + plainFloat(v.Latitude) + ")")
	default:
		if kind, coordinates, ok := geoJSON(v); ok {
			b.WriteString("{ type: '" + kind + "', " + coordinatesKey(kind) + ": ")
			formatCoordinates(b, coordinates)
			b.WriteString(" }")
			return
		}
		fmt.Fprint(b, v)
	}
}

// formatString prefers single quotes, unless that would mean escaping one.
func formatString(b *strings.Builder, s string) {
	if strings.Contains(s, "'") {
		quote(b, s, '"')
		return
	}
	quote(b, s, '\'')
}

// plainFloat is the shortest decimal that reads back as f. Where two are equally near, Go takes the even one and
// SurrealDB the larger one.
func plainFloat(f float64) string {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	mantissa, _, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	exact, _, _ := strings.Cut(strconv.FormatFloat(f, 'e', 800, 64), "e")
	if strings.TrimRight(exact, "0") != mantissa+"5" || !strings.Contains(mantissa, ".") {
		return text
	}
	last := strings.LastIndexAny(text, "12345678")
	return text[:last] + string(text[last]+1) + text[last+1:]
}

func formatFloat(b *strings.Builder, f float64) {
	switch {
	case math.IsNaN(f):
		b.WriteString("NaN")
	case math.IsInf(f, 1):
		b.WriteString("Infinity")
	case math.IsInf(f, -1):
		b.WriteString("-Infinity")
	default:
		b.WriteString(plainFloat(f) + "f")
	}
}

func formatArray(b *strings.Builder, items []any) {
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		formatValue(b, item)
	}
	b.WriteByte(']')
}

func formatObject(b *strings.Builder, m map[string]any) {
	b.WriteString("{ ")
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteString(", ")
		}
		if isObjectKey(key) {
			b.WriteString(key)
		} else {
			quote(b, key, '"')
		}
		b.WriteString(": ")
		formatValue(b, m[key])
	}
	b.WriteString(" }")
}

// formatCoordinates writes numbers without the mark of floats.
func formatCoordinates(b *strings.Builder, v any) {
	items, ok := v.([]any)
	if !ok {
		if f, isFloat := v.(float64); isFloat {
			b.WriteString(plainFloat(f))
			return
		}
		formatValue(b, v)
		return
	}
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		formatCoordinates(b, item)
	}
	b.WriteByte(']')
}

func trimDecimal(s string) string {
	if strings.Contains(s, ".") && !strings.ContainsAny(s, "eE") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// formatTime is RFC 3339 in UTC with 0, 3, 6 or 9 digits of the second, and a sign for years beyond four digits.
func formatTime(t time.Time) string {
	t = t.UTC()
	layout := "-01-02T15:04:05Z"
	switch ns := t.Nanosecond(); {
	case ns == 0:
	case ns%1e6 == 0:
		layout = "-01-02T15:04:05.000Z"
	case ns%1e3 == 0:
		layout = "-01-02T15:04:05.000000Z"
	default:
		layout = "-01-02T15:04:05.000000000Z"
	}
	year := fmt.Sprintf("%04d", t.Year())
	switch {
	case t.Year() > 9999:
		year = fmt.Sprintf("+%d", t.Year())
	case t.Year() < 0:
		year = fmt.Sprintf("-%04d", -t.Year())
	}
	return year + t.Format(layout)
}

// FormatDuration is d as SurrealDB writes durations: 1h30m, 1w1d, 1ms500µs, 0ns. A negative duration, which SurrealDB
// does not have, gets a minus sign.
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0ns"
	}
	if d < 0 {
		return "-" + models.FormatDuration(int64(-d))
	}
	return models.FormatDuration(int64(d))
}
