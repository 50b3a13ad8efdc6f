package wf

import (
	"context"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// historyRows is how many steps, and how many events, are read at once where all together are too much for one answer:
// a row may have a mebibyte.
const historyRows = 32

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

// acquireApart acquires an instance whose history is too much for one answer, and reads it some rows at a time while
// it keeps the lease. That takes as long as it takes: ctx ends only the acquiring.
func (d *database) acquireApart(ctx context.Context, ask map[string]any) (protocol.Acquired, error) {
	ask["apart"] = true
	answer, err := d.calls.do(ctx, call{acquire: ask})
	if err != nil || answer.acquired.State != "acquired" {
		return answer.acquired, err
	}
	got, since := answer.acquired, time.Now()
	ctx = context.WithoutCancel(ctx)
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
