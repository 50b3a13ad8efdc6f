package surreal

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/surrealdb/surrealdb.go/pkg/models"
	"pgregory.net/rapid"
)

func TestIDsAreWrittenAndReadLikeTheDatabaseDoes(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), testContext(t)
	rapid.Check(t, func(t *rapid.T) {
		id := anyID(rapid.OneOf(anyValue(1), rapid.Just[any](None), anyRange(), anySet())).Draw(t, "id")
		want, err := First[string](ctx, c, "RETURN <string>$id", map[string]any{"id": id})
		if err != nil {
			t.Fatalf("%#v: %v", id, err)
		}
		got := FormatID(id)
		if got != want {
			t.Fatalf("%#v\n is %s\nwant %s", id, got, want)
		}
		back, err := ParseID(got)
		if err != nil {
			t.Fatalf("%#v: %v", id, err)
		}
		if again := FormatID(back); again != got {
			t.Fatalf("%s was read as %s", got, again)
		}
		home, err := First[RecordID](ctx, c, "RETURN $id", map[string]any{"id": id})
		if err != nil || FormatID(home) != got {
			t.Fatalf("%s came home as %s, %v", got, FormatID(home), err)
		}
		same, err := First[bool](ctx, c, "RETURN $a = $b", map[string]any{"a": id, "b": back})
		if err != nil || !same {
			t.Fatalf("%s was read as another record: %#v, %v", got, back, err)
		}
	})
}

// anyRange generates ranges, of which either end may be missing.
func anyRange() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		ends := []any{nil, nil}
		for i := range ends {
			if kind := rapid.SampledFrom([]uint64{0, tagIncluded, tagExcluded}).Draw(t, "kind"); kind != 0 {
				ends[i] = cbor.Tag{Number: kind, Content: rapid.OneOf(rapid.Int64().AsAny(), rapid.String().AsAny(), rapid.Float64Range(-9, 9).AsAny(), rapid.Bool().AsAny()).Draw(t, "end")}
			}
		}
		return cbor.Tag{Number: tagRange, Content: ends}
	})
}

// anySet generates sets, whose items are in order as the database keeps them.
func anySet() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		items := []any{}
		for _, n := range slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.Int64(), 0, 3, rapid.ID[int64]).Draw(t, "items"))) {
			items = append(items, n)
		}
		return cbor.Tag{Number: tagSet, Content: items}
	})
}

func TestFormatID(t *testing.T) {
	t.Parallel()
	id := mustUUID(t, "018e0000-0000-7000-8000-000000000001")
	point := models.GeometryPoint{Longitude: 1, Latitude: 2.5}
	for want, id := range map[string]RecordID{
		"m:a":                             NewRecordID("m", "a"),
		"m:`a-b`":                         NewRecordID("m", "a-b"),
		"m:`123`":                         NewRecordID("m", "123"),
		"m:123":                           NewRecordID("m", 123),
		"m:-5":                            NewRecordID("m", int64(-5)),
		"m:9ab":                           NewRecordID("m", "9ab"),
		"m:`it's`":                        NewRecordID("m", "it's"),
		"m:`é`":                           NewRecordID("m", "é"),
		"m:`\\``":                         NewRecordID("m", "`"),
		"m:u'" + id.String() + "'":        NewRecordID("m", id),
		"m:['x', 1, NONE, NULL]":          NewRecordID("m", []any{"x", 1, None, nil}),
		"m:{ a: 1, \"b c\": 'x' }":        NewRecordID("m", map[string]any{"b c": "x", "a": 1}),
		"`a-b`:k":                         NewRecordID("a-b", "k"),
		`m:["it's", 'q"q', "'\""]`:        NewRecordID("m", []any{"it's", `q"q`, `'"`}),
		"m:[1.5f, 1f, 1.5dec]":            NewRecordID("m", []any{1.5, float32(1), models.DecimalString("1.50")}),
		"m:[1h30m, 0ns]":                  NewRecordID("m", []any{90 * time.Minute, Duration(0)}),
		"m:[d'2023-11-14T22:13:20.120Z']": NewRecordID("m", []any{time.Unix(1700000000, 120000000)}),
		"m:[(1, 2.5)]":                    NewRecordID("m", []any{point}),
		"m:[{ type: 'LineString', coordinates: [[1, 2.5], [1, 2.5]] }]": NewRecordID("m", []any{models.GeometryLine{point, point}}),
		"m:[t:4, foo, b\"01FF\"]": NewRecordID("m", []any{NewRecordID("t", 4), models.Table("foo"), []byte{1, 255}}),
	} {
		if got := FormatID(id); got != want {
			t.Errorf("%#v is %s, want %s", id, got, want)
		}
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]RecordID{
		"job:a":               NewRecordID("job", "a"),
		" job:a ":             NewRecordID("job", "a"),
		"job:7":               NewRecordID("job", int64(7)),
		"job:007":             NewRecordID("job", int64(7)),
		"job:-7":              NewRecordID("job", int64(-7)),
		"job:⟨7⟩":             NewRecordID("job", "7"),
		"job:`7`":             NewRecordID("job", "7"),
		"job:``":              NewRecordID("job", ""),
		"job:[user:``]":       NewRecordID("job", []any{NewRecordID("user", "")}),
		"job:⟨a-b:c⟩":         NewRecordID("job", "a-b:c"),
		"⟨a b⟩:⟨c\\⟩d⟩":       NewRecordID("a b", "c⟩d"),
		"job:`\\u{1F600}\\n`": NewRecordID("job", "😀\n"),
		`job:u"018e0000-0000-7000-8000-000000000001"`:   NewRecordID("job", mustUUID(t, "018e0000-0000-7000-8000-000000000001")),
		"job:['a', 1, 1.5, 2f, 3dec, true, NONE, null]": NewRecordID("job", []any{"a", int64(1), 1.5, 2.0, models.DecimalString("3"), true, None, nil}),
		"job:[ [ ] , { } , ]":                           NewRecordID("job", []any{[]any{}, map[string]any{}}),
		"job:{a:1,'b':[x:y],}":                          NewRecordID("job", map[string]any{"a": int64(1), "b": []any{NewRecordID("x", "y")}}),
		"job:[1h30m, 0ns, 9us]":                         NewRecordID("job", []any{Duration(90 * time.Minute), Duration(0), Duration(9000)}),
		"job:[d'2020-01-01T00:00:00Z']":                 NewRecordID("job", []any{Datetime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))}),
	} {
		got, err := ParseID(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v; want %#v", text, got, err, want)
		}
	}
	for text, words := range map[string]string{
		"":                                  "nothing where a name should be",
		"job":                               "no colon",
		"job:":                              "nothing where a name should be",
		":a":                                "nothing where a name should be",
		"job:a b":                           `" b" follows`,
		"job:a-b":                           `"-b" follows`,
		"job:1..5":                          "follows",
		"job:rand()":                        `"()" follows`,
		"job:99999999999999999999":          "not an integer of 64 bits",
		"job:-x":                            "not an integer",
		"job:`a":                            "closing ` is missing",
		"job:⟨a":                            "closing ⟩ is missing",
		"job:⟨\\q⟩":                         `unknown escape \q`,
		"job:⟨\\u{110000}⟩":                 "not a character",
		"job:u'x'":                          "not a uuid",
		"job:[1 2]":                         "comma",
		"job:[1":                            "comma",
		"job:{a 1}":                         "want a comma or }",
		"job:[d'yesterday']":                "not a datetime",
		"job:[999999y]":                     "too long",
		"job:\xff":                          "UTF-8",
		"job:" + strings.Repeat("[", 1000):  "too deep",
		"job:" + strings.Repeat("a", 20000): "longer than",
		"job:1.5":                           "follows",
	} {
		if got, err := ParseID(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%.40q: %#v, %v; want %q", text, got, err, words)
		}
	}
}

func FuzzParseID(f *testing.F) {
	for _, seed := range []string{"job:a", "`a`:⟨b⟩", "j:['a', 1.5f, { a: d'2020-01-01T00:00:00Z' }, 1h30m, b\"00\"]", "j:u'018e0000-0000-7000-8000-000000000001'", "a:[b:[c:d]]", strings.Repeat("\x9d", 61), "j:[-Infinity,NaN,1e9]", "j:[1..5, ..=2, 'a'>.., ..]", "j:[{,}, {1, 2}, { a: .. }]", "j:{,,1}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseID(text)
		if err != nil {
			return
		}
		written := FormatID(id)
		back, err := ParseID(written)
		if err != nil {
			t.Fatalf("%q was read, but not %q: %v", text, written, err)
		}
		if again := FormatID(back); again != written {
			t.Fatalf("%q became %q", written, again)
		}
		if _, err := Marshal(id); err != nil {
			t.Fatalf("%q can't be sent: %v", text, err)
		}
	})
}

// Everything that imports the SDK is in this package; nothing of ours is imported by it.
func TestImports(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"sp00ky.cloud/spky`) {
			t.Errorf("%s imports a package of ours", file)
		}
	}
}
