package devdb_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

// Whatever passes through keeps its bytes: a type lost here would be lost for every client.
func TestValuesPassUnchanged(t *testing.T) {
	t.Parallel()
	c := signedIn(t, devdbtest.Fresh(t))
	for name, value := range map[string]cbor.RawMessage{
		"none":            {0xc6, 0xf6},
		"null":            {0xf6},
		"big integer":     {0x1b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"small integer":   {0x3b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"double":          marshal(t, math.Pi),
		"datetime":        marshal(t, cbor.Tag{Number: 12, Content: []any{1_700_000_000, 123_456_789}}),
		"duration":        marshal(t, cbor.Tag{Number: 14, Content: []any{90, 5}}),
		"decimal":         marshal(t, cbor.Tag{Number: 10, Content: "1.25"}),
		"uuid":            marshal(t, uuid{1, 2, 3}),
		"record":          marshal(t, cbor.Tag{Number: 8, Content: []any{"t", "a-b ⟩`"}}),
		"record by array": marshal(t, cbor.Tag{Number: 8, Content: []any{"t", []any{"x", uuid{9}}}}),
		"bytes":           marshal(t, []byte{0, 1, 255}),
		"text":            marshal(t, "nul \x00, emoji 👻"),
		"object":          marshal(t, map[string]any{"error": map[string]any{"code": 1, "kind": "k", "message": "m"}}),
		"nested":          marshal(t, []any{[]any{}, map[string]any{"a": cbor.RawMessage{0xc6, 0xf6}}}),
	} {
		t.Run(name, func(t *testing.T) {
			var back cbor.RawMessage
			c.query(&back, "RETURN $value", map[string]any{"value": value})
			if !bytes.Equal(back, value) {
				t.Errorf("%x came back as %x", value, back)
			}
		})
	}
}

// A record may have a field called error; it is not one.
func TestRecordWithErrorField(t *testing.T) {
	t.Parallel()
	c := signedIn(t, devdbtest.Fresh(t))
	c.query(nil, "CREATE t:1 SET error = { code: 1, kind: 'k', message: 'm' }")
	var rec struct {
		Error struct{ Code int } `cbor:"error"`
	}
	result := c.must("select", cbor.Tag{Number: 8, Content: []any{"t", 1}})
	if err := cbor.Unmarshal(result, &rec); err != nil || rec.Error.Code != 1 {
		t.Errorf("got %x (%v)", result, err)
	}
	c.query(nil, "DEFINE FUNCTION fn::e() { RETURN { error: 'text' } }")
	result = c.must("run", "fn::e", nil, []any{})
	var out map[string]string
	if err := cbor.Unmarshal(result, &out); err != nil || out["error"] != "text" {
		t.Errorf("got %x (%v)", result, err)
	}
}

// An id comes back byte for byte, whatever a client likes to use.
func TestIDsPassUnchanged(t *testing.T) {
	t.Parallel()
	c := dial(t, devdbtest.Fresh(t).Endpoint)
	for _, id := range []any{1, -1, "text", uint64(math.MaxUint64), uuid{5}, cbor.Tag{Number: 12, Content: []any{1, 2}}, []any{"odd"}} {
		if _, err := c.do(request{ID: id, Method: "ping"}); err != nil {
			t.Errorf("id %v: %v", id, err)
		}
		if _, err := c.do(request{ID: id, Method: "query"}); err == nil || err.Error() == "no reply" {
			t.Errorf("id %v: the refusal is %v", id, err)
		}
	}
}

// marshal encodes v with the keys of maps in order, as the engine keeps them: Go's own order is random.
func marshal(tb testing.TB, v any) cbor.RawMessage {
	tb.Helper()
	mode, err := cbor.EncOptions{Sort: cbor.SortBytewiseLexical}.EncMode()
	if err != nil {
		tb.Fatal(err)
	}
	b, err := mode.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
