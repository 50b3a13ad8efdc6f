package surreal

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// value is the whole encoder: common types here, SurrealDB's own next, the rest by reflection.
func (e *encoder) value(v any, depth int) error {
	if depth < 0 {
		return errNesting
	}
	switch v := v.(type) {
	case nil:
		e.null()
	case string:
		return e.text(v)
	case bool:
		e.bool(v)
	case int:
		e.int(int64(v))
	case int64:
		e.int(v)
	case uint64:
		return e.uint(v)
	case float64:
		e.float(v)
	case map[string]any:
		return e.object(v, depth)
	case []any:
		return array(e, v, depth)
	case []map[string]any:
		return array(e, v, depth)
	case []RecordID:
		return array(e, v, depth)
	case []string:
		return array(e, v, depth)
	case RecordID:
		return e.recordID(v, depth)
	default:
		return e.surreal(v, depth)
	}
	return nil
}

// surreal encodes SurrealDB's own types.
func (e *encoder) surreal(v any, depth int) error {
	switch v := v.(type) {
	case models.CustomNil:
		e.none()
	case time.Time:
		return e.time(v)
	case models.CustomDateTime:
		return e.time(v.Time)
	case time.Duration:
		return e.duration(v)
	case models.CustomDuration:
		return e.duration(v.Duration)
	case UUID:
		e.uuid(v)
	case models.UUIDString:
		return e.tagged(tagUUIDText, string(v))
	case models.DecimalString:
		return e.tagged(tagDecimal, string(v))
	case models.CustomDurationString:
		return e.tagged(tagDurationText, string(v))
	case models.Table:
		return e.tagged(tagTable, string(v))
	case json.Number:
		n, err := number(v)
		if err != nil {
			return err
		}
		return e.value(n, depth)
	case cbor.RawMessage:
		return e.raw(v, depth)
	case cbor.Tag:
		e.tag(v.Number)
		return e.value(v.Content, depth-1)
	default:
		return e.geometry(v, depth)
	}
	return nil
}

func (e *encoder) geometry(v any, depth int) error {
	switch v := v.(type) {
	case models.GeometryPoint:
		e.tag(tagPoint)
		e.head(majorArray, 2)
		e.float(v.Longitude)
		e.float(v.Latitude)
		return nil
	case models.GeometryLine:
		e.tag(tagLine)
		return array(e, v, depth)
	case models.GeometryPolygon:
		e.tag(tagPolygon)
		return array(e, v, depth)
	case models.GeometryMultiPoint:
		e.tag(tagMultiPoint)
		return array(e, v, depth)
	case models.GeometryMultiLine:
		e.tag(tagMultiLine)
		return array(e, v, depth)
	case models.GeometryMultiPolygon:
		e.tag(tagMultiPolygon)
		return array(e, v, depth)
	case models.GeometryCollection:
		e.tag(tagGeometryGroup)
		return array(e, v, depth)
	}
	return e.reflect(reflect.ValueOf(v), depth)
}

func (e *encoder) object(m map[string]any, depth int) error {
	if m == nil {
		e.null()
		return nil
	}
	e.head(majorMap, uint64(len(m)))
	for key, value := range m {
		if err := e.member(key, value, depth); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) member(key string, value any, depth int) error {
	err := e.text(key)
	if err == nil {
		err = e.value(value, depth-1)
	}
	if err != nil {
		return at(key, err)
	}
	return nil
}

func array[S ~[]E, E any](e *encoder, items S, depth int) error {
	if items == nil {
		e.null()
		return nil
	}
	e.head(majorArray, uint64(len(items)))
	for i, item := range items {
		if err := e.value(item, depth-1); err != nil {
			return at(fmt.Sprintf("[%d]", i), err)
		}
	}
	return nil
}

// raw splices one value that is CBOR already, after checking what the server would choke on.
func (e *encoder) raw(raw []byte, depth int) error {
	c := cursor{data: raw, strict: true}
	err := c.skip(depth)
	switch {
	case errors.Is(err, errTooDeep):
		return errNesting
	case err != nil:
		return err
	case c.pos != len(raw):
		return errors.New("cbor: more than one value")
	}
	e.out = append(e.out, raw...)
	return nil
}
