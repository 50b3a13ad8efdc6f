package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Spec is the part of a backend's OpenAPI document that decides which paths may
// be called: its POST routes. A Spec is immutable.
type Spec struct {
	// File is the path of the document.
	File string
	// Title and Version are those of its `info`, for display.
	Title, Version string

	routes []route
	bases  []string // the paths of its servers, without a trailing slash
}

// route is a path template, split at its slashes.
type route struct {
	text     string
	segments []segment
}

// Routes returns the path templates that have a POST operation, as written, in
// the order of the document.
func (s *Spec) Routes() []string {
	texts := make([]string, len(s.routes))
	for i, r := range s.routes {
		texts[i] = r.text
	}
	return texts
}

// AllowsPost reports whether a path is one of the POST routes. The query string
// is ignored. A parameter such as {id} stands for one path segment or a part of
// it, never for nothing, "." or "..". The path of one of the document's servers
// may precede the route. The comparison is exact: no case folding, no decoding
// of percent escapes, no trailing slash added or removed.
func (s *Spec) AllowsPost(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, '#') {
		return false
	}
	if s.matches(path) {
		return true
	}
	for _, base := range s.bases {
		if rest, ok := strings.CutPrefix(path, base); ok && s.matches(rest) {
			return true
		}
	}
	return false
}

func (s *Spec) matches(path string) bool {
	parts := strings.Split(path, "/")
	if slices.ContainsFunc(parts, isDots) {
		return false
	}
	return slices.ContainsFunc(s.routes, func(r route) bool { return r.matches(parts) })
}

// isDots reports whether a path segment means "here" or "above", also when it
// is percent-encoded.
func isDots(part string) bool {
	plain, err := url.PathUnescape(part)
	return err != nil || plain == "." || plain == ".."
}

func (r route) matches(parts []string) bool {
	if len(parts) != len(r.segments) {
		return false
	}
	for i, part := range parts {
		if !r.segments[i].matches(part) {
			return false
		}
	}
	return true
}

// segment is one part of a path template: the literal texts around and between
// its parameters. Without parameters there is exactly one literal.
type segment []string

func newRoute(text string) (route, error) {
	r := route{text: text}
	for part := range strings.SplitSeq(text, "/") {
		var s segment
		for {
			before, after, found := strings.Cut(part, "{")
			s = append(s, before)
			if !found {
				break
			}
			name, rest, closed := strings.Cut(after, "}")
			if !closed || name == "" {
				return route{}, fmt.Errorf("path template %s has an open or empty {}", quote(text))
			}
			part = rest
		}
		r.segments = append(r.segments, s)
	}
	return r, nil
}

// matches checks the literals in turn; each gap between two of them is a
// parameter and takes at least one byte.
func (s segment) matches(part string) bool {
	rest, ok := strings.CutPrefix(part, s[0])
	if !ok || len(s) == 1 {
		return ok && rest == ""
	}
	last := s[len(s)-1]
	for _, literal := range s[1 : len(s)-1] {
		if rest == "" {
			return false
		}
		i := strings.Index(rest[1:], literal)
		if i < 0 {
			return false
		}
		rest = rest[1+i+len(literal):]
	}
	return len(rest) > len(last) && strings.HasSuffix(rest, last)
}

// ParseSpec reads an OpenAPI 3 document in YAML or JSON. The name is for the
// Spec's File and for messages.
func ParseSpec(name string, content []byte) (*Spec, error) {
	if fault, line := encodingFault(content); fault != "" {
		return nil, fmt.Errorf("parse %s: line %d: %s", name, line, fault)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(content, &doc); err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("parse %s: the document is not a mapping", name)
	}
	root := doc.Content[0]
	if v := child(root, "openapi"); v == nil || !strings.HasPrefix(v.Value, "3.") {
		return nil, fmt.Errorf("parse %s: %s", name, versionFault(root, v))
	}
	paths := child(root, "paths")
	if paths == nil || paths.Kind != yaml.MappingNode || len(paths.Content) == 0 {
		return nil, fmt.Errorf("parse %s: the document has no paths", name)
	}
	s := &Spec{File: name, bases: serverPaths(root)}
	if info := child(root, "info"); info != nil {
		s.Title, s.Version = scalar(child(info, "title")), scalar(child(info, "version"))
	}
	for i := 0; i+1 < len(paths.Content); i += 2 {
		text := paths.Content[i].Value
		if !strings.HasPrefix(text, "/") || !hasPost(root, deref(paths.Content[i+1])) {
			continue // "x-…" extensions, and routes for other methods
		}
		r, err := newRoute(text)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", name, err)
		}
		s.routes = append(s.routes, r)
	}
	return s, nil
}

func versionFault(root, v *yaml.Node) string {
	switch swagger := child(root, "swagger"); {
	case v != nil:
		return "the document is openapi " + quote(v.Value) + ", not 3.x"
	case swagger != nil:
		return "the document is swagger " + quote(swagger.Value) + ", not openapi 3.x"
	}
	return "the key openapi is missing"
}

// hasPost reports whether a path item has a POST operation. References within
// the document are followed.
func hasPost(root, item *yaml.Node) bool {
	for range 8 { // a chain of references that is longer is a circle
		if item == nil || item.Kind != yaml.MappingNode {
			return false
		}
		if post := child(item, "post"); post != nil && !isNull(post) {
			return true
		}
		ref := scalar(child(item, "$ref"))
		pointer, ok := strings.CutPrefix(ref, "#/")
		if !ok {
			return false
		}
		item = root
		for name := range strings.SplitSeq(pointer, "/") {
			name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
			if item = child(item, name); item == nil {
				return false
			}
		}
	}
	return false
}

// serverPaths returns the paths of the document's servers, but "/".
func serverPaths(root *yaml.Node) []string {
	servers := child(root, "servers")
	if servers == nil || servers.Kind != yaml.SequenceNode {
		return nil
	}
	var bases []string
	for _, server := range servers.Content {
		u, err := url.Parse(scalar(child(deref(server), "url")))
		if err != nil {
			continue
		}
		if base := strings.TrimRight(u.Path, "/"); strings.HasPrefix(base, "/") && !strings.Contains(base, "{") {
			bases = append(bases, base)
		}
	}
	return bases
}

// child returns the value of a key of a mapping, or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return deref(n.Content[i+1])
		}
	}
	return nil
}

// scalar returns the text of a scalar node, or "".
func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}
