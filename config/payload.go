package config

import (
	"math"

	"gopkg.in/yaml.v3"
)

// jsonObject is a payload: a mapping that is JSON in YAML's clothes. Keys and
// dates are texts as written.
type jsonObject struct {
	value map[string]any
}

func (o *jsonObject) decodeNode(d *decoder, at place) bool {
	if at.node.Kind != yaml.MappingNode {
		return d.mismatch(at, "a mapping")
	}
	value, ok := d.json(at)
	if !ok {
		return false
	}
	o.value, ok = value.(map[string]any)
	return ok
}

// json converts a node to what encoding/json makes of the same value, but for
// whole numbers, which stay int64.
func (d *decoder) json(at place) (any, bool) {
	at.node = deref(at.node)
	if !d.spend(at) {
		return nil, false
	}
	switch at.node.Kind {
	case yaml.MappingNode:
		object := make(map[string]any)
		for _, p := range d.pairs(at.src, at.node) {
			value, ok := d.json(place{src: p.src, node: p.value, key: joinKey(at.key, p.key.Value)})
			if !ok {
				return nil, false
			}
			object[p.key.Value] = value
		}
		return object, true
	case yaml.SequenceNode:
		list := make([]any, 0, len(at.node.Content))
		for i, item := range at.node.Content {
			value, ok := d.json(place{src: at.src, node: item, key: joinIndex(at.key, i)})
			if !ok {
				return nil, false
			}
			list = append(list, value)
		}
		return list, true
	}
	return d.jsonScalar(at)
}

func (d *decoder) jsonScalar(at place) (any, bool) {
	if isText(at.node) {
		return at.node.Value, true
	}
	var value any
	err := at.node.Decode(&value)
	switch v := value.(type) {
	case nil:
		if err == nil {
			return nil, true
		}
	case bool:
		return v, true
	case int:
		return int64(v), true
	case int64:
		return v, true
	case uint64:
		return v, true
	case float64:
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			return v, true
		}
	}
	d.fault(at, "found "+describe(at.node)+", allowed: values that JSON has", "write it as text in quotes")
	return nil, false
}
