package wf

import (
	"context"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// historyRows is how many steps, and how many events, are read at once of a large history. Each may have a mebibyte of
// JSON, which is up to 2.25 on the wire: so many always fit into an answer.
const historyRows = 16

// A history is what an instance has come to so far, or a part of that.
type history struct {
	Steps  []protocol.Step `json:"steps"`
	Events []eventRow      `json:"events"`
}

// addTo hands on what a run needs: of events those that no step has consumed.
func (h history) addTo(got *protocol.Acquired) {
	for _, s := range h.Steps {
		if s.Error != nil {
			s.Error.Stack, s.Stack = s.Stack, ""
		}
		got.Steps = append(got.Steps, s)
	}
	for _, e := range h.Events {
		if e.ConsumedBy == nil {
			got.Events = append(got.Events, e.event())
		}
	}
}

// readApart reads the history of an instance that was acquired without it, some rows at a time, and keeps the lease
// meanwhile. That takes as long as it takes: ctx does not end it, for the run that begins then can give the lease back.
func (d *database) readApart(ctx context.Context, got protocol.Acquired) (protocol.Acquired, error) {
	ctx, since := context.WithoutCancel(ctx), time.Now()
	held, err := d.turn(ctx, got.Instance)
	if err != nil || !held {
		return protocol.Acquired{State: "busy"}, err
	}
	defer func() { <-d.readers }()
	page := map[string]any{
		"id": got.Instance.ID, "incarnation": got.Instance.Incarnation, "rows": historyRows,
		"after": []any{surreal.None, surreal.None, surreal.None}, "from": 0,
	}
	for {
		part, err := surreal.First[history](ctx, d.db, "RETURN fn::spky::wf::history($id, $incarnation, $after, $from, $rows)", page)
		if err != nil {
			return protocol.Acquired{}, err
		}
		part.addTo(&got)
		if len(part.Steps) < historyRows && len(part.Events) < historyRows {
			got.Now = got.Now.Add(time.Since(since))
			return got, nil
		}
		part.next(page)
		if ack, err := d.Renew(ctx, got.Instance.ID, got.Instance.Fence); err != nil || !ack.OK {
			return protocol.Acquired{State: "busy"}, err
		}
	}
}

// turn waits until the history may be read, and keeps the lease meanwhile: false says that it is lost.
func (d *database) turn(ctx context.Context, of protocol.Instance) (held bool, err error) {
	ticker := time.NewTicker(protocol.RenewEvery)
	defer ticker.Stop()
	for {
		select {
		case d.readers <- struct{}{}:
			return true, nil
		case <-ticker.C:
			if ack, err := d.Renew(ctx, of.ID, of.Fence); err != nil || !ack.OK {
				return false, err
			}
		}
	}
}

// next makes page the one after h.
func (h history) next(page map[string]any) {
	if n := len(h.Steps); n > 0 {
		last := h.Steps[n-1]
		page["after"] = []any{last.Kind, last.Name, last.Occurrence}
	}
	if n := len(h.Events); n > 0 {
		page["from"] = h.Events[n-1].event().Number
	}
}

// weight is about how many bytes a value has on the wire, and not less by much.
func weight(value any) int {
	size := 9 // a number
	switch v := value.(type) {
	case string:
		size += len(v)
	case []any:
		for _, one := range v {
			size += weight(one)
		}
	case map[string]any:
		for key, one := range v {
			size += 9 + len(key) + weight(one)
		}
	}
	return size
}
