package surreal

import (
	"errors"
	"testing"

	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// More events than can be kept while a registration is under way are an overflow of whoever is being registered.
func TestTooManyEarlyEvents(t *testing.T) {
	t.Parallel()
	table := feedTable{lives: map[[16]byte]*Live{}}
	table.publish(notification{live: [16]byte{9}, action: "CREATE"}) // nobody registers: not kept
	table.begin()
	for range earlyLimit + 1 {
		table.publish(notification{live: [16]byte{1}, action: "CREATE", record: []byte{0xc8, 0x82, 0x61, 'a', 1}})
	}
	live := newLive(nil, 0)
	live.id = [16]byte{1}
	table.commit(live)
	if events, overflow := live.Take(); len(events) != 1 || !overflow {
		t.Errorf("%d events, overflow %v", len(events), overflow)
	}
	if table.early != nil || table.overflow || table.registering != 0 {
		t.Error("something is left of the registration")
	}
}

func TestRegistrationOnALostConnection(t *testing.T) {
	t.Parallel()
	table := feedTable{lives: map[[16]byte]*Live{}}
	table.begin()
	table.fail(ErrDisconnected)
	live := newLive(nil, 0)
	table.commit(live)
	if !errors.Is(live.Err(), ErrDisconnected) {
		t.Errorf("got %v", live.Err())
	}
}

// A record that can't be named may be any: look at everything.
func TestEventOfAnUnreadableRecord(t *testing.T) {
	t.Parallel()
	live := newLive(nil, 0)
	live.add(waitingEvent{action: "UPDATE", record: []byte{0x01}})
	if events, overflow := live.Take(); len(events) != 0 || !overflow {
		t.Errorf("%v, overflow %v", events, overflow)
	}
	live.add(waitingEvent{action: "UPDATE"}) // without a record there is nothing to coalesce by
	live.add(waitingEvent{action: "UPDATE"})
	if events, overflow := live.Take(); len(events) != 2 || overflow {
		t.Errorf("%v, overflow %v", events, overflow)
	}
}

func TestReadUUID(t *testing.T) {
	t.Parallel()
	id := mustUUID(t, "018e0000-0000-7000-8000-000000000001")
	for name, v := range map[string]any{"bytes": id, "text": models.UUIDString(id.String())} {
		raw, err := Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := readUUID(raw); !ok || got != id.UUID {
			t.Errorf("%s: %x, %v", name, got, ok)
		}
	}
	for name, raw := range map[string][]byte{
		"nothing": nil, "number": {1}, "other tag": {0xc8, 1}, "short": {0xd8, 37, 0x42, 1, 2}, "cut off": {0xd8, 37, 0x50, 1}, "bad text": {0xc9, 0x61, 'x'},
	} {
		if got, ok := readUUID(raw); ok {
			t.Errorf("%s: %x", name, got)
		}
	}
}
