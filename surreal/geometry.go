package surreal

import "github.com/surrealdb/surrealdb.go/pkg/models"

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
