package api

import (
	"net/http"
	"slices"
	"strings"
)

// A Scope is what a token lets its bearer do: read, or all.
type scope = string

const (
	scopeOpen scope = ""
	scopeRead scope = "read"
	scopeFull scope = "full"
)

// A route is one line of the table: what the document says of it, and what serves it.
type route struct {
	method string
	path   string // below /admin/api
	name   string // the document's operationId
	tag    string
	says   string // in a sentence
	scope  scope
	query  []param
	// body is a zero value of what it takes, nil for nothing; answer one of what it answers with. A
	// stream's answer is the data of its events, by their names.
	body   any
	answer any
	status int // of success, 200 where it is 0
	events map[string]any
	// refuses are the statuses that it can answer with beside those that all can.
	refuses []int
	// streams serves events instead of one answer.
	serve   func(*call) (any, error)
	streams func(*call, *stream) error
	raw     http.Handler // serves everything itself
}

func (r route) success() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

// takes is like what a request may carry: nothing that says anything where a verb takes no body, so that nobody thinks
// that what he sent has been heard; nil where it is not looked at.
func (r route) takes() any {
	if r.body == nil && r.method != http.MethodGet {
		return struct{}{}
	}
	return r.body
}

// variables are the names in the path.
func (r route) variables() []string {
	var names []string
	for part := range strings.SplitSeq(r.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// byPath groups routes.
func byPath(routes []route) map[string][]route {
	paths := map[string][]route{}
	for _, r := range routes {
		paths[r.path] = append(paths[r.path], r)
	}
	return paths
}

// methods are those that a path takes, for an Allow header.
func methods(routes []route) string {
	var all []string
	for _, r := range routes {
		all = append(all, r.method)
		if r.method == http.MethodGet && r.streams == nil && r.raw == nil {
			all = append(all, http.MethodHead)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// pick is the route of a path for a method.
func pick(routes []route, method string) (route, bool) {
	for _, r := range routes {
		head := method == http.MethodHead && r.method == http.MethodGet && r.streams == nil && r.raw == nil
		if r.method == method || head {
			return r, true
		}
	}
	return route{}, false
}
