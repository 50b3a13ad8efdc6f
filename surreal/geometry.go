package surreal

import (
	"strconv"

	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// geoJSON is a geometry as GeoJSON's type and coordinates: a []any of numbers, nested as the type wants. Those of a
// collection are its geometries.
func geoJSON(v any) (kind string, coordinates any, ok bool) {
	switch v := v.(type) {
	case models.GeometryPoint:
		return "Point", point(v), true
	case models.GeometryLine:
		return "LineString", each(v, point), true
	case models.GeometryPolygon:
		return "Polygon", each(v, line), true
	case models.GeometryMultiPoint:
		return "MultiPoint", each(v, point), true
	case models.GeometryMultiLine:
		return "MultiLineString", each(v, line), true
	case models.GeometryMultiPolygon:
		return "MultiPolygon", each(v, polygon), true
	case models.GeometryCollection:
		return "GeometryCollection", []any(v), true
	}
	return "", nil, false
}

// coordinatesKey is where GeoJSON keeps a geometry's coordinates.
func coordinatesKey(kind string) string {
	if kind == "GeometryCollection" {
		return "geometries"
	}
	return "coordinates"
}

func point(p models.GeometryPoint) any     { return []any{p.Longitude, p.Latitude} }
func line(l models.GeometryLine) any       { return each(l, point) }
func polygon(p models.GeometryPolygon) any { return each(p, line) }

func each[S ~[]E, E any](items S, one func(E) any) []any {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = one(item)
	}
	return list
}

// taggedGeometry decodes a geometry, whose parts have tags of their own.
func (d *decoder) taggedGeometry(tag uint64) (any, error) {
	if tag < tagPoint || tag > tagGeometryGroup {
		return d.taggedOther(tag)
	}
	items, err := d.array()
	if err != nil {
		return nil, err
	}
	switch tag {
	case tagPoint:
		return pointOf(items)
	case tagLine:
		return parts[models.GeometryLine, models.GeometryPoint](items)
	case tagPolygon:
		return parts[models.GeometryPolygon, models.GeometryLine](items)
	case tagMultiPoint:
		return parts[models.GeometryMultiPoint, models.GeometryPoint](items)
	case tagMultiLine:
		return parts[models.GeometryMultiLine, models.GeometryLine](items)
	case tagMultiPolygon:
		return parts[models.GeometryMultiPolygon, models.GeometryPolygon](items)
	}
	return models.GeometryCollection(items), nil
}

func pointOf(items []any) (any, error) {
	if len(items) != 2 {
		return nil, errUnexpected
	}
	longitude, ok1 := floatOf(items[0])
	latitude, ok2 := floatOf(items[1])
	if !ok1 || !ok2 {
		return nil, errUnexpected
	}
	return models.GeometryPoint{Longitude: longitude, Latitude: latitude}, nil
}

// parts makes a geometry of the geometries it consists of.
func parts[G ~[]P, P any](items []any) (any, error) {
	whole := make(G, 0, len(items))
	for _, item := range items {
		part, ok := item.(P)
		if !ok {
			return nil, mismatch(item, "geometry")
		}
		whole = append(whole, part)
	}
	return whole, nil
}

// floatOf is any of SurrealDB's numbers as a float.
func floatOf(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	case uint64:
		return float64(v), true
	case int64:
		return float64(v), true
	case models.DecimalString:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil
	}
	return 0, false
}
