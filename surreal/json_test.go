package surreal

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/surrealdb/surrealdb.go/pkg/models"
)

func TestToJSON(t *testing.T) {
	t.Parallel()
	id := mustUUID(t, "018e0000-0000-7000-8000-000000000001")
	point := models.GeometryPoint{Longitude: 1, Latitude: 2.5}
	for want, v := range map[string]any{
		`null`: nil,
		`[null,true,-1,18446744073709551615,1.5,0.1,3]`: []any{None, true, int64(-1), uint64(math.MaxUint64), float32(1.5), 0.1, 3.0},
		`"<a> é"`:                                "<a> é",
		`{"":2,"a":1}`:                           map[string]any{"a": uint64(1), "": uint64(2)},
		`"job:` + "`a-b`" + `"`:                  NewRecordID("job", "a-b"),
		`"2023-11-14T22:13:20.123456789Z"`:       Datetime(time.Unix(1700000000, 123456789)),
		`"` + id.String() + `"`:                  id,
		`12345678901234567890.12`:                models.DecimalString("12345678901234567890.12"),
		`["1h30m","0ns"]`:                        []any{Duration(90 * time.Minute), Duration(0)},
		`"AQL/"`:                                 []byte{1, 2, 255},
		`{"coordinates":[1,2.5],"type":"Point"}`: point,
		`{"geometries":[{"coordinates":[1,2.5],"type":"Point"},{"coordinates":[[1,2.5]],"type":"MultiPoint"}],"type":"GeometryCollection"}`: models.GeometryCollection{point, models.GeometryMultiPoint{point}},
		`[{"id":"a:1"}]`: []map[string]any{{"id": NewRecordID("a", 1)}},
	} {
		got, err := ToJSON(v)
		if err != nil || string(got) != want {
			t.Errorf("%#v: %s, %v; want %s", v, got, err, want)
		}
		if !json.Valid(got) {
			t.Errorf("%s is no JSON", got)
		}
	}
	for words, v := range map[string]any{
		"a[1]: NaN":       map[string]any{"a": []any{1.0, math.NaN()}},
		"+Inf":            math.Inf(1),
		"chan int":        make(chan int),
		"UTF-8":           "\xff",
		"the decimal":     models.DecimalString("NaN"),
		"nested too deep": cyclic(),
	} {
		if got, err := ToJSON(v); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%T: %s, %v; want %q", v, got, err, words)
		}
	}
}

func cyclic() any {
	list := []any{nil}
	list[0] = list
	return list
}

func TestFromJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`null`:                          nil,
		`{"a": [1, -2, 1.0]}`:           map[string]any{"a": []any{int64(1), int64(-2), 1.0}},
		`9223372036854775807`:           int64(math.MaxInt64),
		`9223372036854775808`:           models.DecimalString("9223372036854775808"),
		`-1234567890123456789012345678`: models.DecimalString("-1234567890123456789012345678"),
		`1e3`:                           1000.0,
		`0.1`:                           0.1,
		`"é"`:                           "é",
		`true`:                          true,
	} {
		got, err := FromJSON([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v; want %#v", text, got, err, want)
		}
	}
	for text, words := range map[string]string{
		``:                                      "EOF",
		`{`:                                     "EOF",
		`1 2`:                                   "after the value",
		`NaN`:                                   "invalid character",
		`1e999`:                                 "not a number a float can hold",
		`{"a":[12345678901234567890123456789]}`: "a[0]: the integer",
		"\"\xff\"":                              "UTF-8",
		strings.Repeat("[", 70) + strings.Repeat("]", 70): "nested deeper than 64 levels",
	} {
		if got, err := FromJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%.30s: %#v, %v; want %q", text, got, err, words)
		}
	}
}

// JSON goes into the database and comes out the same.
func TestJSONThroughTheDatabase(t *testing.T) {
	t.Parallel()
	const text = `{"a":[1,-1,1.5,9007199254740993,12345678901234567890,"x",true,null,{}],"é":{"b":[]}}`
	v, err := FromJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := open(t)
	exec(t, c, "CREATE doc:1 SET v = $v", map[string]any{"v": v})
	back, err := First[any](testContext(t), c, "RETURN doc:1.v", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ToJSON(back)
	if err != nil || string(got) != text {
		t.Errorf("got  %s, %v\nwant %s", got, err, text)
	}
}

func FuzzFromJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,null,true,"x"]}`, `12345678901234567890`, `-0`, `1e-400`, `"\ud800"`, `[[[[]]]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := FromJSON(data)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is no JSON", data)
		}
		if _, err := Marshal(v); err != nil {
			t.Fatalf("%q can't be stored: %v", data, err)
		}
		once, err := ToJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := FromJSON(once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice, err := ToJSON(again); err != nil || string(twice) != string(once) {
			t.Fatalf("%s became %s, %v", once, twice, err)
		}
	})
}
