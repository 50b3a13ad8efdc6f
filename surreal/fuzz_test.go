package surreal

import (
	"reflect"
	"testing"
	"time"

	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// seeds are frames like a server's.
func seeds(f *testing.F) {
	f.Helper()
	var live UUID
	live.UUID[0] = 7
	for _, v := range []any{
		map[string]any{"id": 1, "result": rows(1, "a", None, []any{RecordID{Table: "a", ID: 1}})},
		map[string]any{"id": "12", "result": []any{map[string]any{"status": "ERR", "result": "no", "kind": "Query", "details": map[string]any{"kind": "X"}}}},
		map[string]any{"id": 3, "error": map[string]any{"code": -32000, "message": "m", "kind": "Internal", "details": nil}},
		map[string]any{"result": map[string]any{"id": live, "action": "CREATE", "record": RecordID{Table: "a", ID: "b"}, "result": map[string]any{"n": 1.5}}},
		[]any{time.Unix(1, 2), time.Second, models.DecimalString("1.5"), models.GeometryPoint{}, true, -1, []byte{1}},
	} {
		raw, err := Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte{0x9f, 0x01, 0xff})
	f.Add([]byte{0xbf, 0x7f, 0x61, 'a', 0xff, 0x5f, 0x41, 0x00, 0xff, 0xff})
	f.Add([]byte{0xd8, 0x31, 0x82, 0xd8, 0x32, 1, 0xd8, 0x33, 2})
}

// Whatever a server sends, reading it neither panics nor allocates more than it sent.
func FuzzEnvelope(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, frame []byte) {
		env, err := parseEnvelope(frame)
		if err != nil {
			return
		}
		if env.fault != nil {
			_ = requestError(env.fault).Error()
		}
		if env.result == nil {
			return
		}
		if note, err := parseNotification(env.result); err == nil {
			live := newLive(nil, 1)
			live.add(waitingEvent{note.action, note.record, note.result})
			live.Take()
		}
		results, err := parseRows(env.result, nil)
		if err != nil {
			_ = err.Error()
		}
		for _, r := range results {
			var v any
			_ = r.Decode(&v)
		}
	})
}

func FuzzUnmarshal(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		type row struct {
			ID     RecordID       `json:"id"`
			N      int            `json:"n"`
			T      time.Time      `json:"t"`
			D      time.Duration  `json:"d"`
			U      *UUID          `json:"u"`
			M      map[string]int `json:"m"`
			Result []any          `json:"result"`
		}
		for _, into := range []any{new(any), new(row), new([]row), new(string), new(float64), new([]byte), new(RecordID), new(UUID), new(map[string]any), new(*int), new([2]int8)} {
			_ = Unmarshal(data, into)
		}
		var v any
		if Unmarshal(data, &v) != nil {
			return
		}
		_, _ = ToJSON(v)
		if raw, err := Marshal(v); err == nil {
			var back any
			if err := Unmarshal(raw, &back); err != nil {
				t.Fatalf("%x became %x, which can't be read: %v", data, raw, err)
			}
		}
	})
}

func TestUnmarshalNeverPanics(t *testing.T) {
	t.Parallel()
	if err := Unmarshal([]byte{1}, nil); err == nil {
		t.Error("into nothing")
	}
	if err := Unmarshal([]byte{1}, 5); err == nil {
		t.Error("into a number")
	}
	if err := Unmarshal(nil, new(any)); err == nil {
		t.Error("nothing")
	}
	var id RecordID
	raw, err := Marshal(RecordID{Table: "a", ID: "b"})
	if err != nil || Unmarshal(raw, &id) != nil || !reflect.DeepEqual(id, RecordID{Table: "a", ID: "b"}) {
		t.Errorf("%v, %v", id, err)
	}
}
