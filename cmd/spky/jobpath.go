package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// checkPath refuses what the runner would refuse to call, before it is written.
// The runner's own check is the wall; this one only saves a detour.
func checkPath(path string) error {
	decoded, err := url.PathUnescape(strings.SplitN(path, "?", 2)[0])
	switch {
	case path == "":
		return errors.New("is missing; it is the route to POST to, for instance /documents/index")
	case !strings.HasPrefix(path, "/"), strings.HasPrefix(path, "//"):
		return fmt.Errorf("is %q; it has to start with one /, and names neither scheme nor host", path)
	case !utf8.ValidString(path) || utf8.RuneCountInString(path) > 2048:
		return errors.New("is longer than 2048 characters, or not UTF-8")
	case strings.ContainsAny(path, "@\\#") || strings.IndexFunc(path, unicode.IsControl) >= 0:
		return fmt.Errorf(`is %q; it must not contain @, \, # or control characters`, path)
	case err != nil:
		return fmt.Errorf("is %q; it has a broken %% escape", path)
	case slices.Contains(strings.Split(decoded, "/"), ".."):
		return fmt.Errorf("is %q; it must not contain a .. segment", path)
	case decoded == "/__spky" || strings.HasPrefix(decoded, "/__spky/"):
		return errors.New("leads to /__spky/, which is kept for the platform")
	}
	return nil
}
