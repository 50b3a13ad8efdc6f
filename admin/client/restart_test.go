package client_test

import (
	"errors"
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/surreal"
)

// TestTheClientRestartsFromAStep: from afar as from near, also what is refused.
func TestTheClientRestartsFromAStep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.client.Durable()
	id, err := d.Create(r.ctx, admin.NewInstance{Binding: "ALPHA"})
	r.check(err)
	r.check(surreal.Exec(r.ctx, r.db, `LET $key = type::record('_00_wf_instance', $id);
		CREATE type::record('_00_wf_step', [$id, 0, 'sleep', 's', 1]) SET instance = $key, seq = 1, kind = 'sleep', name = 's', occurrence = 1,
			status = 'waiting', attempts = [], started_at = time::now(), wake_at = time::now() + 1h`, map[string]any{"id": id}))
	if _, err := d.RestartFrom(r.ctx, id, admin.StepRef{Name: "s", Type: "do"}); !errors.Is(err, admin.ErrStepNotFound) || !strings.Contains(err.Error(), `step do "s" not found`) {
		t.Errorf("from what there is not: %v", err)
	}
	var input *admin.InputError
	if _, err := d.RestartFrom(r.ctx, id, admin.StepRef{Name: "s", Count: -1}); !errors.As(err, &input) {
		t.Errorf("from what can't be: %v", err)
	}
	if was, err := d.RestartFrom(r.ctx, id, admin.StepRef{Name: "s", Count: 1, Type: "sleep"}); err != nil || was != "queued" {
		t.Errorf("from the sleep: %s, %v", was, err)
	}
	if i, err := d.Get(r.ctx, id); err != nil || i.Incarnation != 1 {
		t.Errorf("it is %+v, %v", i, err)
	}
	if _, err := d.RestartFrom(r.ctx, "nobody", admin.StepRef{Name: "s"}); !errors.Is(err, admin.ErrNotFound) {
		t.Errorf("of nobody: %v", err)
	}
}
