package surreal

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/surrealdb/surrealdb.go/pkg/models"
	"pgregory.net/rapid"
)

func mustUUID(tb testing.TB, text string) UUID {
	tb.Helper()
	var u UUID
	if err := u.UnmarshalText([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	return u
}

// What is sent, what the database says it is, and what comes back (reports 42 and 43).
func TestEveryKindOfValueGoesThereAndBack(t *testing.T) {
	t.Parallel()
	c := open(t)
	type named string
	id := mustUUID(t, "018e0000-0000-7000-8000-000000000001")
	moment := time.Date(2024, 2, 29, 12, 30, 15, 123456789, time.FixedZone("x", 3600))
	point := models.GeometryPoint{Longitude: -0.118, Latitude: 51.5}
	cases := map[string]struct {
		sent any
		kind string
		back any
	}{
		"nil":             {nil, "null", nil},
		"nil pointer":     {(*int)(nil), "null", nil},
		"nil map":         {map[string]any(nil), "null", nil},
		"None":            {None, "none", nil},
		"zero time":       {time.Time{}, "none", nil},
		"bool":            {true, "bool", true},
		"int":             {-7, "int", int64(-7)},
		"int64 min":       {int64(math.MinInt64), "int", int64(math.MinInt64)},
		"int64 max":       {int64(math.MaxInt64), "int", uint64(math.MaxInt64)},
		"uint32":          {uint32(math.MaxUint32), "int", uint64(math.MaxUint32)},
		"float":           {1.1, "float", 1.1},
		"whole float":     {3.0, "float", float32(3)},
		"infinity":        {math.Inf(1), "float", float32(math.Inf(1))},
		"decimal":         {models.DecimalString("12345678901234567890.123"), "decimal", models.DecimalString("12345678901234567890.123")},
		"string":          {"é\x00😀\n", "string", "é\x00😀\n"},
		"empty string":    {"", "string", ""},
		"named string":    {named("x"), "string", "x"},
		"bytes":           {[]byte{0, 255}, "bytes", []byte{0, 255}},
		"empty bytes":     {[]byte{}, "bytes", []byte{}},
		"byte array":      {[2]byte{1, 2}, "bytes", []byte{1, 2}},
		"array":           {[]any{1, "a", nil}, "array", []any{uint64(1), "a", nil}},
		"empty array":     {[]string{}, "array", []any{}},
		"object":          {map[string]any{"a": map[string]int{"b": 1}}, "object", map[string]any{"a": map[string]any{"b": uint64(1)}}},
		"empty object":    {map[string]any{}, "object", map[string]any{}},
		"time":            {moment, "datetime", models.CustomDateTime{Time: moment.UTC()}},
		"time before '70": {time.Unix(-5, 7), "datetime", models.CustomDateTime{Time: time.Unix(-5, 7).UTC()}},
		"Datetime":        {Datetime(moment), "datetime", models.CustomDateTime{Time: moment.UTC()}},
		"duration":        {90*time.Minute + 1, "duration", Duration(90*time.Minute + 1)},
		"zero duration":   {time.Duration(0), "duration", Duration(0)},
		"Duration":        {Duration(time.Hour), "duration", Duration(time.Hour)},
		"uuid":            {id, "uuid", id},
		"uuid text":       {models.UUIDString(id.String()), "uuid", id},
		"record":          {NewRecordID("job", "a-b"), "record", NewRecordID("job", "a-b")},
		"record, array":   {NewRecordID("job", []any{id, 1}), "record", NewRecordID("job", []any{id, uint64(1)})},
		"record pointer":  {pointer(NewRecordID("job", 7)), "record", NewRecordID("job", uint64(7))},
		"records":         {[]RecordID{NewRecordID("a", 1)}, "array", []any{NewRecordID("a", uint64(1))}},
		"point":           {point, "point", point},
		"line":            {models.GeometryLine{point, point}, "line", models.GeometryLine{point, point}},
		"polygon":         {square(), "polygon", square()},
		"points":          {models.GeometryMultiPoint{point}, "multipoint", models.GeometryMultiPoint{point}},
		"lines":           {models.GeometryMultiLine{{point, point}}, "multiline", models.GeometryMultiLine{{point, point}}},
		"polygons":        {models.GeometryMultiPolygon{square()}, "multipolygon", models.GeometryMultiPolygon{square()}},
		"geometries":      {models.GeometryCollection{point, square()}, "collection", models.GeometryCollection{point, square()}},
		"table":           {models.Table("job"), "table", models.Table("job")},
		"duration text":   {models.CustomDurationString("400y"), "duration", models.CustomDurationString("400y")},
		"CBOR tag":        {cbor.Tag{Number: 10, Content: "1.5"}, "decimal", models.DecimalString("1.5")},
		"named bool":      {mood(true), "bool", true},
		"named float":     {weight(1.1), "float", 1.1},
		"named int":       {size(5), "int", uint64(5)},
		"named list":      {sizes{1, 2}, "array", []any{uint64(1), uint64(2)}},
		"nil list":        {sizes(nil), "null", nil},
		"named keys":      {map[kind]size{"a": 1}, "object", map[string]any{"a": uint64(1)}},
		"pointers":        {[]*string{pointer("x"), nil}, "array", []any{"x", nil}},
		"raw":             {cbor.RawMessage{0x18, 0x2a}, "int", uint64(42)},
		"JSON number":     {json.Number("12345678901234567890"), "decimal", models.DecimalString("12345678901234567890")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, err := First[string](testContext(t), c, "RETURN type::of($v)", map[string]any{"v": tc.sent})
			if err != nil || !strings.HasPrefix(kind, tc.kind) && !strings.HasSuffix(kind, tc.kind+">") {
				t.Errorf("the database takes it for %s, %v; want %s", kind, err, tc.kind)
			}
			back, err := First[any](testContext(t), c, "RETURN $v", map[string]any{"v": tc.sent})
			if err != nil || !reflect.DeepEqual(back, tc.back) {
				t.Errorf("came back as %#v, %v; want %#v", back, err, tc.back)
			}
		})
	}
}

type (
	mood   bool
	weight float64
	size   uint16
	sizes  []size
	kind   string
)

func pointer[T any](v T) *T { return &v }

func square() models.GeometryPolygon {
	return models.GeometryPolygon{{{Longitude: 0, Latitude: 0}, {Longitude: 0, Latitude: 1}, {Longitude: 1, Latitude: 1}, {Longitude: 0, Latitude: 0}}}
}

// The server would answer these without saying whom; the call must end here and the connection live on.
func TestWhatTheServerCouldNotReadIsRefused(t *testing.T) {
	t.Parallel()
	c := open(t)
	var cycle any
	cycle = &cycle
	deep := func(levels int) any {
		var v any = 1
		for range levels {
			v = []any{v}
		}
		return v
	}
	type secret struct{ hidden int }
	cases := map[string]struct {
		value any
		words string
	}{
		"text":              {map[string]any{"a": []any{1, "\xff"}}, "x.a[1]: text is not valid UTF-8"},
		"key":               {map[string]any{"\xff": 1}, "not valid UTF-8"},
		"integer keys":      {map[int]string{1: "a"}, "keys of an object must be strings"},
		"negative duration": {-time.Second, "negative duration"},
		"negative Duration": {Duration(-1), "negative duration"},
		"large uint":        {uint64(math.MaxInt64) + 1, "does not fit"},
		"nested too deep":   {deep(101), "nested deeper than 100 levels"},
		"cycle":             {cycle, "nested deeper than 100 levels"},
		"channel":           {make(chan int), "no place in a database"},
		"function":          {func() {}, "no place in a database"},
		"hidden fields":     {secret{1}, "no exported field"},
		"big.Int":           {big.NewInt(1), "no exported field"},
		"year":              {time.Date(300000, 1, 1, 0, 0, 0, 0, time.UTC), "calendar"},
		"id without table":  {NewRecordID("", "a"), "needs a table"},
		"id nil":            {NewRecordID("job", nil), "is nil"},
		"id float":          {NewRecordID("job", 1.5), "float64"},
		"id bool":           {NewRecordID("job", true), "bool"},
		"id None":           {NewRecordID("job", None), "CustomNil"},
		"id within":         {NewRecordID("job", []any{"\xff"}), "not valid UTF-8"},
		"raw, cut off":      {cbor.RawMessage{0x82, 1}, "ends in the middle"},
		"raw, two":          {cbor.RawMessage{1, 1}, "more than one value"},
		"raw, empty":        {cbor.RawMessage{}, "ends in the middle"},
		"raw, text":         {cbor.RawMessage{0x61, 0xff}, "not valid UTF-8"},
		"raw, integer keys": {cbor.RawMessage{0xa1, 1, 1}, "must be text"},
		"raw, negative":     {cbor.RawMessage{0xce, 0x82, 0x20, 0}, "negative duration"},
		"JSON number":       {json.Number("many"), "not a number"},
		"struct, place":     {struct{ A struct{ B []string } }{struct{ B []string }{[]string{"\xff"}}}, "x.A.B[0]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.Query(testContext(t), "RETURN $x", map[string]any{"x": tc.value})
			if err == nil || !strings.Contains(err.Error(), tc.words) {
				t.Errorf("got %v, want %q", err, tc.words)
			}
			if IsUnreachable(err) {
				t.Errorf("%v counts as unreachable", err)
			}
		})
	}
	if err := Exec(testContext(t), c, "RETURN '\xff'", nil); !errors.Is(err, errNotUTF8) {
		t.Errorf("statement: %v", err)
	}
	if n, err := First[int](testContext(t), c, "RETURN 1", nil); n != 1 || err != nil {
		t.Errorf("afterwards: %v, %v", n, err)
	}
}

// As deep as the server takes it; devdb and server agree.
func TestDeepestNesting(t *testing.T) {
	t.Parallel()
	var v any = 1
	for range 60 {
		v = map[string]any{"a": v}
	}
	back, err := First[any](testContext(t), open(t), "RETURN $v", map[string]any{"v": v})
	if err != nil || back == nil {
		t.Errorf("%v, %v", back, err)
	}
}

type base struct {
	ID   RecordID `json:"id"`
	Kind string   `json:"kind"`
}

type tagged struct {
	base
	*extra
	Named    base          `json:"named"`
	Kind     string        `json:"kind"` // wins over base's
	Skip     string        `json:"-"`
	Empty    string        `json:"empty,omitempty"`
	When     time.Time     `json:"when,omitempty"`
	Whenever time.Time     `json:"whenever"`
	Wait     time.Duration `cbor:"wait" json:"other"`
	Opt      *string       `json:"opt"`
	Plain    int
	hidden   int
}

type extra struct{ More int }

func TestStructsFollowTheirTags(t *testing.T) {
	t.Parallel()
	v := tagged{
		base: base{ID: NewRecordID("a", 1), Kind: "inner"}, Kind: "outer", Skip: "x", Wait: time.Second, hidden: 1,
		Named: base{ID: NewRecordID("b", 2), Kind: "n"},
	}
	raw, err := Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"id": NewRecordID("a", uint64(1)), "kind": "outer", "whenever": nil, "wait": Duration(time.Second), "opt": nil, "Plain": uint64(0),
		"named": map[string]any{"id": NewRecordID("b", uint64(2)), "kind": "n"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	v.extra = &extra{5}
	if raw, err = Marshal(&v); err != nil {
		t.Fatal(err)
	}
	got = nil
	if err := Unmarshal(raw, &got); err != nil || got["More"] != uint64(5) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestStructsComeBack(t *testing.T) {
	t.Parallel()
	type job struct {
		ID       RecordID      `json:"id"`
		Name     string        `json:"name"`
		RunAt    time.Time     `json:"run_at"`
		Wait     time.Duration `json:"wait"`
		Attempts int           `json:"attempts"`
		Owner    *RecordID     `json:"owner,omitempty"`
		Tags     []string      `json:"tags"`
		Payload  any           `json:"payload"`
	}
	sent := job{
		ID: NewRecordID("job", "a"), Name: "n", RunAt: time.Unix(1, 123456789).UTC(), Wait: 5 * time.Second, Attempts: 3,
		Owner: pointer(NewRecordID("user", "u")), Tags: []string{"x"}, Payload: map[string]any{"a": "b"},
	}
	c := open(t)
	exec(t, c, "CREATE job CONTENT $job", map[string]any{"job": sent})
	got, err := First[[]job](testContext(t), c, "SELECT * FROM job", nil)
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], sent) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// What the encoder writes, the scanner finds well formed and the decoder reads back.
func TestEncodedValuesReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(3).Draw(t, "value")
		raw, err := Marshal(v)
		if err != nil {
			t.Fatalf("%#v: %v", v, err)
		}
		c := cursor{data: raw, strict: true}
		if err := c.skip(requestDepth + 1); err != nil || c.pos != len(raw) {
			t.Fatalf("%x: %v at %d", raw, err, c.pos)
		}
		var back any
		if err := Unmarshal(raw, &back); err != nil {
			t.Fatalf("%x: %v", raw, err)
		}
		again, err := Marshal(back)
		if err != nil || len(again) != len(raw) {
			t.Fatalf("%x became %x, %v", raw, again, err)
		}
		for cut := range raw {
			if Unmarshal(raw[:cut], &back) == nil {
				t.Fatalf("%x cut off at %d was read", raw, cut)
			}
		}
	})
}

// anyValue generates values the database stores, nested so deep.
func anyValue(depth int) *rapid.Generator[any] {
	plain := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Float64Range(-1e300, 1e300).AsAny(), rapid.String().AsAny(),
		rapid.SliceOf(rapid.Byte()).AsAny(),
		rapid.Custom(func(t *rapid.T) any {
			return time.Unix(rapid.Int64Range(-1e11, 1e11).Draw(t, "s"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns"))
		}),
		rapid.Custom(func(t *rapid.T) any { return time.Duration(rapid.Int64Min(0).Draw(t, "duration")) }),
		rapid.Custom(func(t *rapid.T) any { return anyUUID(t) }),
	}
	if depth == 0 {
		return rapid.OneOf(plain...)
	}
	return rapid.OneOf(append(plain,
		rapid.SliceOfN(anyValue(depth-1), 0, 4).AsAny(),
		rapid.MapOfN(rapid.String(), anyValue(depth-1), 0, 4).AsAny(),
		rapid.Custom(func(t *rapid.T) any { return anyID(anyValue(depth-1)).Draw(t, "id") }),
	)...)
}

func anyUUID(t *rapid.T) UUID {
	var u UUID
	copy(u.UUID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"))
	return u
}

// anyID generates record ids of every kind, with such values in arrays and objects.
func anyID(value *rapid.Generator[any]) *rapid.Generator[RecordID] {
	tricky := rapid.StringOfN(rapid.RuneFrom([]rune("aZ09_-e.:`'\"\\⟨⟩ \x00\x01\b\t\n\v\f\r\x7f\u0085é😀")), 1, 9, -1)
	words := rapid.SampledFrom([]string{"true", "none", "NULL", "NaN", "Infinity", "infinity", "_", "1_0", "1e5", "9ab", "select", "u", "00", "1.5", "rand()", "-1"})
	name := rapid.OneOf(tricky, words, rapid.StringN(1, 9, -1), rapid.StringMatching(`[a-z][a-z0-9_]{0,8}`))
	return rapid.Custom(func(t *rapid.T) RecordID {
		key := rapid.OneOf(
			name.AsAny(), rapid.Int64().AsAny(), rapid.Custom(func(t *rapid.T) any { return anyUUID(t) }),
			rapid.SliceOfN(value, 0, 4).AsAny(), rapid.MapOfN(rapid.OneOf(name, rapid.String()), value, 0, 4).AsAny(),
		).Draw(t, "key")
		return RecordID{Table: name.Draw(t, "table"), ID: key}
	})
}
