package config

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// pair is one key of a mapping, with the file that its value came from.
type pair struct {
	key   *yaml.Node
	value *yaml.Node
	src   *source
}

// checkTree reports duplicate keys, keys that are not texts and aliases that
// contain themselves, anywhere in a file, also below keys that are otherwise
// ignored. It reports whether the tree can be walked; duplicates do not forbid
// that.
func (d *decoder) checkTree(src *source, root *yaml.Node) bool {
	walkable := true
	open := make(map[*yaml.Node]bool)
	var visit func(n *yaml.Node, key string)
	visit = func(n *yaml.Node, key string) {
		open[n] = true
		defer delete(open, n)
		switch n.Kind {
		case yaml.AliasNode:
			if open[n.Alias] {
				d.fault(place{src: src, node: n, key: key}, "found an alias *"+n.Value+" inside the value that it stands for, allowed: aliases of finished values", "write the value out")
				walkable = false
			}
		case yaml.MappingNode:
			d.checkKeys(src, n, key)
			for i := 0; i+1 < len(n.Content); i += 2 {
				visit(n.Content[i+1], joinKey(key, n.Content[i].Value))
			}
		case yaml.SequenceNode:
			for i, item := range n.Content {
				visit(item, joinIndex(key, i))
			}
		}
	}
	visit(root, "")
	return walkable
}

// checkKeys reports the duplicate and the non-text keys of one mapping.
func (d *decoder) checkKeys(src *source, n *yaml.Node, parent string) {
	first := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		at := place{src: src, node: k, key: joinKey(parent, k.Value)}
		if k.Kind != yaml.ScalarNode {
			at.key = parent
			d.fault(at, "found "+describe(k)+" as a key, allowed: text", "write the key as plain text")
			continue
		}
		if isMerge(k) {
			continue
		}
		if line, dup := first[k.Value]; dup {
			d.fault(at, fmt.Sprintf("the key appears twice, first in line %d", line), "keep one of the two")
			continue
		}
		first[k.Value] = k.Line
	}
}

// pairs returns the keys of a mapping node in file order, with merge keys
// (`<<: *base`) spread out behind the mapping's own keys. Of duplicates the
// first one counts.
func (d *decoder) pairs(src *source, n *yaml.Node) []pair {
	var own []pair
	var merged []*yaml.Node
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if !d.spend(place{src: src, node: k}) {
			return own
		}
		switch {
		case k.Kind != yaml.ScalarNode:
		case isMerge(k):
			merged = append(merged, v)
		case !seen[k.Value]:
			seen[k.Value] = true
			own = append(own, pair{key: k, value: v, src: src})
		}
	}
	for _, m := range merged {
		for _, base := range mergeBases(m) {
			for _, p := range d.pairs(src, base) {
				if !seen[p.key.Value] {
					seen[p.key.Value] = true
					own = append(own, p)
				}
			}
		}
	}
	return own
}

// mergeBases returns the mappings behind the value of a merge key.
func mergeBases(v *yaml.Node) []*yaml.Node {
	v = deref(v)
	switch v.Kind {
	case yaml.MappingNode:
		return []*yaml.Node{v}
	case yaml.SequenceNode:
		var bases []*yaml.Node
		for _, item := range v.Content {
			if item = deref(item); item.Kind == yaml.MappingNode {
				bases = append(bases, item)
			}
		}
		return bases
	}
	return nil
}

// deref follows an alias to its value.
func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

func isMerge(k *yaml.Node) bool { return k.Kind == yaml.ScalarNode && k.Tag == "!!merge" }

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// describe names what a node holds, for messages. Long texts are cut.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return "no value"
	case "!!str", "!!timestamp":
		return "the text " + quote(n.Value)
	case "!!int", "!!float":
		return "the number " + cut(n.Value)
	case "!!bool":
		return n.Value
	default:
		return "a value tagged " + cut(tag)
	}
}

// quote quotes a value for a message and cuts it when it is long.
func quote(text string) string { return strconv.Quote(cut(text)) }

func cut(text string) string {
	const longest = 60
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

// joinKey appends a name to a key path, quoted when it would not be readable
// otherwise.
func joinKey(parent, name string) string {
	if name == "" || strings.ContainsAny(name, ". []\"\t\n\r") || len(name) > 80 {
		name = quote(name)
	}
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func joinIndex(parent string, i int) string { return fmt.Sprintf("%s[%d]", parent, i) }

func isScalar(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode }
