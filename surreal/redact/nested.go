package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// maxNested is how deep JSON in a text may nest for it to be taken apart.
const maxNested = 200

// nested is what a text holds that is JSON: the runner sends it as that, by the same test. apart is false where it is JSON
// and can't be taken apart, so that nobody knows what it holds.
func nested(v any) (inner any, ok, apart bool) {
	text, isText := v.(string)
	if !isText || !json.Valid([]byte(text)) {
		return nil, false, true
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // else there is JSON that has no number in Go
	inner, err := takeApart(d, maxNested)
	return inner, true, err == nil
}

var errNotApart = errors.New("nested too deep, or with a name twice")

// takeApart reads a value. An object that has a name twice is refused: which of the two a backend takes is its own affair.
func takeApart(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	delim, ok := token.(json.Delim)
	if err != nil || !ok {
		return token, err
	}
	if depth == 0 {
		return nil, errNotApart
	}
	if delim == '[' {
		return takeListApart(d, depth)
	}
	out := map[string]any{}
	for d.More() {
		token, err := d.Token()
		name, _ := token.(string)
		if _, twice := out[name]; err != nil || twice {
			return nil, errNotApart
		}
		if out[name], err = takeApart(d, depth-1); err != nil {
			return nil, err
		}
	}
	_, err = d.Token()
	return out, err
}

func takeListApart(d *json.Decoder, depth int) (any, error) {
	out := []any{}
	for d.More() {
		v, err := takeApart(d, depth-1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := d.Token()
	return out, err
}

// maskedText is a text below path, with what stands hidden in it hidden where it is JSON.
func (r Rules) maskedText(path []string, text string) string {
	inner, ok, apart := nested(text)
	switch {
	case !ok:
		return text
	case !apart:
		return Shown
	}
	if masked := jsonOf(r.masked(path, inner)); masked != jsonOf(inner) {
		return masked
	}
	return text
}

// jsonOf is what was taken apart as JSON again.
func jsonOf(v any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // it was JSON
	return strings.TrimSuffix(out.String(), "\n")
}
