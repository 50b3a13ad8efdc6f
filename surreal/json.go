package surreal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// jsonDepth is how deep JSON may nest. The database takes 100 levels of which rows, and what wraps them, need a few.
const jsonDepth = 64

// ToJSON is a decoded SurrealDB value as JSON: NONE and NULL become null, a record id its text (see [FormatID]), a
// datetime RFC 3339 with nanoseconds, a uuid its text, a decimal a number, a duration SurrealDB's text (1h30m), bytes
// base64, a geometry GeoJSON. Objects come sorted by key. NaN, the infinities and types that do not come from the
// database are errors that name the place.
func ToJSON(v any) ([]byte, error) {
	out, err := appendJSON(nil, v, answerDepth)
	if err != nil {
		return nil, fmt.Errorf("to JSON: %w", err)
	}
	return out, nil
}

func appendJSON(out []byte, v any, depth int) ([]byte, error) {
	if depth < 0 {
		return nil, errTooDeep
	}
	switch v := v.(type) {
	case nil, models.CustomNil:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case string:
		return appendJSONText(out, v)
	case int:
		return strconv.AppendInt(out, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(out, v, 10), nil
	case uint64:
		return strconv.AppendUint(out, v, 10), nil
	case float64:
		return appendJSONFloat(out, v)
	case float32:
		return appendJSONFloat(out, float64(v))
	case []any:
		return appendJSONList(out, v, depth)
	case map[string]any:
		return appendJSONObject(out, v, depth)
	}
	return appendJSONSpecial(out, v, depth)
}

func appendJSONSpecial(out []byte, v any, depth int) ([]byte, error) {
	if text, ok := jsonText(v); ok {
		return appendJSONText(out, text)
	}
	switch v := v.(type) {
	case models.DecimalString:
		return appendJSONDecimal(out, string(v))
	case []map[string]any:
		return appendJSONList(out, v, depth)
	case []RecordID:
		return appendJSONList(out, v, depth)
	}
	if kind, coordinates, ok := geoJSON(v); ok {
		return appendJSONObject(out, map[string]any{"type": kind, coordinatesKey(kind): coordinates}, depth)
	}
	return nil, fmt.Errorf("a %T is no value of the database", v)
}

// jsonText is what becomes a text in JSON.
func jsonText(v any) (string, bool) {
	switch v := v.(type) {
	case []byte:
		return base64.StdEncoding.EncodeToString(v), true
	case RecordID:
		return FormatID(v), true
	case UUID:
		return v.String(), true
	case models.UUIDString:
		return string(v), true
	case models.CustomDateTime:
		return v.UTC().Format(time.RFC3339Nano), true
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), true
	case models.CustomDuration:
		return FormatDuration(v.Duration), true
	case time.Duration:
		return FormatDuration(v), true
	case models.CustomDurationString:
		return string(v), true
	case models.Table:
		return string(v), true
	}
	return "", false
}

func appendJSONText(out []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, errNotUTF8
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return append(out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), nil
}

func appendJSONFloat(out []byte, f float64) ([]byte, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("%v is no number JSON has", f)
	}
	return append(out, text...), nil
}

func appendJSONDecimal(out []byte, s string) ([]byte, error) {
	if !json.Valid([]byte(s)) || s[0] == '"' {
		return nil, fmt.Errorf("the decimal %q is no number JSON has", s)
	}
	return append(out, s...), nil
}

func appendJSONList[S ~[]E, E any](out []byte, items S, depth int) ([]byte, error) {
	out = append(out, '[')
	var err error
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendJSON(out, item, depth-1); err != nil {
			return nil, at(fmt.Sprintf("[%d]", i), err)
		}
	}
	return append(out, ']'), nil
}

func appendJSONObject(out []byte, m map[string]any, depth int) ([]byte, error) {
	out = append(out, '{')
	var err error
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendJSONText(out, key); err == nil {
			out, err = appendJSON(append(out, ':'), m[key], depth-1)
		}
		if err != nil {
			return nil, at(key, err)
		}
	}
	return append(out, '}'), nil
}

// FromJSON turns JSON into values SurrealDB stores exactly: integers of 64 bits become int64, larger ones of at most
// 28 digits decimals, other numbers float64, null becomes nil (NULL). Longer integers, numbers beyond float64, nesting
// beyond 64 levels, invalid UTF-8 and anything after the value are errors.
func FromJSON(data []byte) (any, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("from JSON: %w", errNotUTF8)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, fmt.Errorf("from JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("from JSON: there is something after the value")
	}
	v, err := storable(v, jsonDepth)
	if err != nil {
		return nil, fmt.Errorf("from JSON: %w", err)
	}
	return v, nil
}

// storable replaces the numbers of decoded JSON, in place.
func storable(v any, depth int) (any, error) {
	if depth < 0 {
		return nil, fmt.Errorf("nested deeper than %d levels", jsonDepth)
	}
	var err error
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case []any:
		for i, item := range v {
			if v[i], err = storable(item, depth-1); err != nil {
				return nil, at(fmt.Sprintf("[%d]", i), err)
			}
		}
	case map[string]any:
		for key, item := range v {
			if v[key], err = storable(item, depth-1); err != nil {
				return nil, at(key, err)
			}
		}
	}
	return v, nil
}

// number reads a JSON number into the type that keeps it exactly: an int64, else a decimal for integers of at most 28
// digits, else a float64.
func number(n json.Number) (any, error) {
	text := string(n)
	if !strings.ContainsAny(text, ".eE") {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, nil
		}
		digits := strings.TrimPrefix(text, "-")
		if digits == "" || strings.Trim(digits, "0123456789") != "" {
			return nil, fmt.Errorf("%.40q is not a number", text)
		}
		if len(digits) <= 28 {
			return models.DecimalString(text), nil
		}
		return nil, fmt.Errorf("the integer %.40s… has more than 28 digits", text)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Errorf("%.40q is not a number a float can hold", text)
	}
	return f, nil
}
