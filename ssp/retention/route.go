package retention

import (
	"regexp"
	"strings"
)

// maxRoute is how long a route is at most, in characters.
const maxRoute = 200

var (
	numeric = regexp.MustCompile(`^\d+$`)
	unique  = regexp.MustCompile(`^[0-9A-Za-z_-]*\d[0-9A-Za-z_-]*$`)
)

// minUnique is how long a part with a digit in it is at least to be taken for an id.
const minUnique = 16

// Route is what jobs with a path are counted under: the path without its query, with :id for each part that
// looks like one (a number, or sixteen and more letters and digits), cut to 200 characters.
func Route(path string) string {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if numeric.MatchString(part) || len(part) >= minUnique && unique.MatchString(part) {
			parts[i] = ":id"
		}
	}
	route := []rune(strings.Join(parts, "/"))
	return string(route[:min(len(route), maxRoute)])
}

// runs is how the paths of jobs begin that are runs of workflows. They are not counted: their instance is.
const runs = "/__spky/"
