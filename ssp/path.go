package ssp

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPath bounds a job's path in characters.
const maxPath = 2048

// reserved is where a backend's platform routes live: never reached because a user wrote it.
const reserved = "/__spky"

// target is the URL of a job: base with path below it. End users write path, so everything that
// could lead elsewhere is refused, and the result is built from parts, never parsed from a whole:
// its origin is base's whatever path says.
func target(base *url.URL, raw string) (*url.URL, error) {
	if err := checkPath(raw); err != nil {
		return nil, fmt.Errorf("path %.200q: %w", raw, err)
	}
	before, query, _ := strings.Cut(raw, "?")
	decoded, err := url.PathUnescape(before)
	if err != nil {
		return nil, fmt.Errorf("path %.200q: has a broken %% escape", raw)
	}
	if err := checkSegments(decoded); err != nil {
		return nil, fmt.Errorf("path %.200q: %w", raw, err)
	}
	prefix := strings.TrimSuffix(base.Path, "/")
	joined := &url.URL{Scheme: base.Scheme, Host: base.Host, Path: prefix + decoded, RawQuery: escapeQuery(query)}
	if escaped := strings.TrimSuffix(base.EscapedPath(), "/") + before; (&url.URL{Path: joined.Path, RawPath: escaped}).EscapedPath() == escaped {
		joined.RawPath = escaped // keeps %2F and the like as they were written
	}
	return joined, nil
}

func checkPath(raw string) error {
	switch {
	case raw == "":
		return errors.New("is missing or no string; it must start with /")
	case !strings.HasPrefix(raw, "/"):
		return errors.New("must start with /")
	case strings.HasPrefix(raw, "//"):
		return errors.New("must not name a host")
	case !utf8.ValidString(raw):
		return errors.New("is not UTF-8")
	case utf8.RuneCountInString(raw) > maxPath:
		return fmt.Errorf("is longer than %d characters", maxPath)
	case strings.ContainsAny(raw, "@\\#"):
		return errors.New(`must not contain @, \ or #; write %40, %5C or %23`)
	case strings.IndexFunc(raw, unicode.IsControl) >= 0:
		return errors.New("contains a control character")
	}
	return nil
}

// parameter is what some servers cut off a segment before they look at it: /..;x/ is /../ to them.
var parameter = regexp.MustCompile(`;[^/]*`)

// checkSegments judges the path as a backend will read it.
func checkSegments(decoded string) error {
	bare := parameter.ReplaceAllString(strings.ReplaceAll(decoded, `\`, "/"), "")
	lower := strings.ToLower(path.Clean(bare))
	switch {
	case !utf8.ValidString(decoded) || strings.IndexFunc(decoded, unicode.IsControl) >= 0:
		return errors.New("hides a control character or broken text behind an escape")
	case strings.Contains(decoded, "://"):
		return errors.New("must not contain a scheme")
	case strings.HasPrefix(decoded, "//"):
		return errors.New("must not name a host")
	case lower == reserved || strings.HasPrefix(lower, reserved+"/"):
		return fmt.Errorf("%s/ is reserved for rows that the platform wrote", reserved)
	}
	for segment := range strings.SplitSeq(bare, "/") {
		if segment == "." || segment == ".." {
			return fmt.Errorf("must not contain a %s segment", segment)
		}
	}
	return nil
}

// escapeQuery makes a query that a user wrote legal on the request line without changing what it says.
func escapeQuery(query string) string {
	var out strings.Builder
	for i := range len(query) {
		c := query[i]
		if c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' {
			fmt.Fprintf(&out, "%%%02X", c)
			continue
		}
		out.WriteByte(c)
	}
	return out.String()
}
