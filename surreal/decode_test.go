package surreal

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/surrealdb/surrealdb.go/pkg/models"
	"github.com/surrealdb/surrealdb.go/surrealcbor"
	"pgregory.net/rapid"
)

// Into an any comes what comes with the SDK; only NONE within record ids is kept.
func TestDecodesAsTheSDKDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw, err := Marshal(anyValue(3).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		var ours, theirs any
		if err := Unmarshal(raw, &ours); err != nil {
			t.Fatal(err)
		}
		if err := surrealcbor.Unmarshal(raw, &theirs); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%#v", ours) != fmt.Sprintf("%#v", theirs) {
			t.Fatalf("%x\nours   %#v\ntheirs %#v", raw, ours, theirs)
		}
	})
}

func TestDecodeInto(t *testing.T) {
	t.Parallel()
	type status string
	type number int32
	type wait time.Duration
	text := "x"
	for name, tc := range map[string]struct {
		sent, want any
	}{
		"int":                {7, 7},
		"named int":          {-7, number(-7)},
		"int in float":       {7, 7.0},
		"float32 in float64": {1.5, 1.5},
		"float in float32":   {1.5, float32(1.5)},
		"decimal in float":   {models.DecimalString("1.5"), 1.5},
		"decimal in int":     {models.DecimalString("15"), 15},
		"decimal in uint":    {models.DecimalString("15"), uint(15)},
		"decimal in string":  {models.DecimalString("1.5"), "1.5"},
		"named string":       {"x", status("x")},
		"table in string":    {models.Table("x"), "x"},
		"pointer":            {"x", &text},
		"NONE in pointer":    {None, (*string)(nil)},
		"NULL in int":        {nil, 0},
		"NONE in struct":     {None, RecordID{}},
		"NONE in slice":      {None, []string(nil)},
		"strings":            {[]any{"a", "b"}, []string{"a", "b"}},
		"array":              {[]any{1, 2}, [2]int{1, 2}},
		"short array":        {[]any{1}, [2]int{1, 0}},
		"bytes in array":     {[]byte{1, 2}, [2]byte{1, 2}},
		"map":                {map[string]any{"a": 1}, map[status]int{"a": 1}},
		"nested":             {map[string]any{"a": []any{map[string]any{"b": true}}}, map[string][]map[string]bool{"a": {{"b": true}}}},
		"datetime":           {time.Unix(1, 2), time.Unix(1, 2).UTC()},
		"Datetime":           {time.Unix(1, 2), Datetime(time.Unix(1, 2).UTC())},
		"duration":           {time.Second, time.Second},
		"named duration":     {time.Second, wait(time.Second)},
		"uuid from text":     {models.UUIDString("018e0000-0000-7000-8000-000000000001"), mustUUID(t, "018e0000-0000-7000-8000-000000000001")},
		"raw":                {[]any{1, nil}, cbor.RawMessage{0x82, 1, 0xf6}},
		"raw null":           {nil, cbor.RawMessage{0xf6}},
		"folded key":         {map[string]any{"NAME": "x"}, struct{ Name string }{"x"}},
		"exact key first":    {map[string]any{"Name": "x", "NAME": "y"}, struct{ NAME, Name string }{"y", "x"}},
		"unknown key":        {map[string]any{"other": []any{1}}, struct{ Name string }{}},
		"long unknown key":   {map[string]any{strings.Repeat("k", 100): 1}, struct{ Name string }{}},
		"embedded":           {map[string]any{"id": NewRecordID("a", "b"), "More": 3}, tagged{base: base{ID: NewRecordID("a", "b")}}},
	} {
		raw, err := Marshal(tc.sent)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		into := reflect.New(reflect.TypeOf(tc.want))
		err = Unmarshal(raw, into.Interface())
		if name == "embedded" { // a hidden pointer can't be set
			if err == nil || !strings.Contains(err.Error(), "More: the embedded *surreal.extra is nil and hidden") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := into.Elem().Interface(); err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %#v, %v; want %#v", name, got, err, tc.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sent  any
		into  any
		words string
	}{
		"text in int":       {"a", new(int), "a string does not fit into a int"},
		"record in int":     {NewRecordID("a", 1), new(int), "does not fit"},
		"record in string":  {NewRecordID("a", 1), new(string), "does not fit"},
		"record in struct":  {NewRecordID("a", 1), new(struct{ Table string }), "does not fit"},
		"bool in string":    {true, new(string), "a bool does not fit into a string"},
		"int in bool":       {1, new(bool), "does not fit into a bool"},
		"float in int":      {1.5, new(int), "does not fit"},
		"large in int8":     {300, new(int8), "300 does not fit into a int8"},
		"negative in uint":  {-1, new(uint), "-1 does not fit"},
		"large in uint8":    {300, new(uint8), "300 does not fit into a uint8"},
		"decimal in int":    {models.DecimalString("1.5"), new(int), "the decimal 1.5"},
		"text in time":      {"2020-01-01T00:00:00Z", new(time.Time), "does not fit"},
		"duration in int64": {time.Second, new(int64), "does not fit"},
		"array in map":      {[]any{}, new(map[string]any), "does not fit"},
		"object in slice":   {map[string]any{}, new([]string), "does not fit"},
		"object in int map": {map[string]any{"a": 1}, new(map[int]int), "its keys are texts"},
		"long array":        {[]any{1, 2, 3}, new([2]int), "more items"},
		"bytes in array":    {[]byte{1}, new([2]byte), "1 bytes"},
		"text in bytes":     {"a", new([]byte), "does not fit"},
		"into channel":      {1, new(chan int), "nothing can be decoded"},
		"into other":        {1, new(error), "does not fit"},
		"place":             {[]any{map[string]any{"a": []any{1, "x"}}}, new([]struct{ A []int }), "[0].A[1]: a string does not fit"},
		"own, failing":      {1, new(stubborn), "no"},
		"own, panicking":    {1, new(panicking), "oh"},
		"300 years":         {cbor.RawMessage{0xce, 0x81, 0x1b, 0x0, 0x0, 0x0, 0x2, 0x33, 0xf2, 0xe6, 0x0}, new(time.Duration), "does not fit"},
	} {
		raw, err := Marshal(tc.sent)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := Unmarshal(raw, tc.into); err == nil || !strings.Contains(err.Error(), tc.words) {
			t.Errorf("%s: %v (%v); want %q", name, err, reflect.ValueOf(tc.into).Elem(), tc.words)
		}
	}
}

type stubborn struct{ X int }

func (*stubborn) UnmarshalCBOR([]byte) error { return errors.New("no") }

type panicking struct{ X int }

func (*panicking) UnmarshalCBOR([]byte) error { panic("oh") }

type upper struct{ text string }

func (u upper) MarshalCBOR() ([]byte, error)     { return Marshal(strings.ToUpper(u.text)) }
func (u *upper) UnmarshalCBOR(data []byte) error { return Unmarshal(data, &u.text) }

func TestTypesWithTheirOwnEncoding(t *testing.T) {
	t.Parallel()
	raw, err := Marshal([]upper{{"a"}, {"b"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []upper
	if err := Unmarshal(raw, &got); err != nil || !reflect.DeepEqual(got, []upper{{"A"}, {"B"}}) {
		t.Errorf("%v, %v", got, err)
	}
}

// Encodings SurrealDB's own encoder does not use, but CBOR has.
func TestDecodeUnusualEncodings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		raw  []byte
		want any
	}{
		"indefinite array":  {[]byte{0x9f, 1, 2, 0xff}, []any{uint64(1), uint64(2)}},
		"indefinite map":    {[]byte{0xbf, 0x61, 'a', 1, 0xff}, map[string]any{"a": uint64(1)}},
		"indefinite text":   {[]byte{0x7f, 0x61, 'a', 0x61, 'b', 0xff}, "ab"},
		"indefinite bytes":  {[]byte{0x5f, 0x41, 1, 0x41, 2, 0xff}, []byte{1, 2}},
		"wide integer":      {[]byte{0x1b, 0, 0, 0, 0, 0, 0, 0, 1}, uint64(1)},
		"half":              {[]byte{0xf9, 0x3e, 0}, float32(1.5)},
		"half, negative":    {[]byte{0xf9, 0xc0, 0}, float32(-2)},
		"half, tiny":        {[]byte{0xf9, 0, 1}, float32(math.Ldexp(1, -24))},
		"half, infinite":    {[]byte{0xf9, 0x7c, 0}, float32(math.Inf(1))},
		"undefined":         {[]byte{0xf7}, nil},
		"unknown tag":       {[]byte{0xd8, 0x63, 1}, uint64(1)},
		"datetime as text":  {append([]byte{0xc0, 0x74}, "2020-01-01T00:00:00Z"...), Datetime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))},
		"duration, short":   {[]byte{0xce, 0x81, 5}, Duration(5 * time.Second)},
		"duration, empty":   {[]byte{0xce, 0x80}, Duration(0)},
		"duration, long":    {[]byte{0xce, 0x82, 0x1b, 0x0, 0x0, 0x0, 0x2, 0x33, 0xf2, 0xe6, 0x0, 7}, models.CustomDurationString("300y1w1d7ns")},
		"record as text":    {append([]byte{0xc8, 0x63}, "a:b"...), NewRecordID("a", "b")},
		"NONE in an id":     {[]byte{0xc8, 0x82, 0x61, 'a', 0x82, 0xc6, 0xf6, 0xf6}, NewRecordID("a", []any{None, nil})},
		"NONE beside an id": {[]byte{0x82, 0xc8, 0x82, 0x61, 'a', 1, 0xc6, 0xf6}, []any{NewRecordID("a", uint64(1)), nil}},
	} {
		var got any
		if err := Unmarshal(tc.raw, &got); err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %#v, %v; want %#v", name, got, err, tc.want)
		}
	}
}

// What was decoded is nobody else's memory.
func TestDecodedBytesAreTheCallers(t *testing.T) {
	t.Parallel()
	raw, err := Marshal([]byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	var a, b []byte
	if err := errors.Join(Unmarshal(raw, &a), Unmarshal(raw, &b)); err != nil {
		t.Fatal(err)
	}
	a[0] = 'x'
	if string(b) != "abc" {
		t.Errorf("b is %s", b)
	}
}
