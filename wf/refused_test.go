package wf

import (
	"context"
	"errors"
	"testing"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// refusing is a store that takes everything but the steps.
type refusing struct {
	protocol.Store
	finished chan protocol.Finish
}

func (s refusing) Acquire(_ context.Context, id, binding, _, _ string) (protocol.Acquired, error) {
	return protocol.Acquired{State: "acquired", Instance: protocol.Instance{ID: id, Binding: binding, Fence: 1}}, nil
}

func (s refusing) Commit(context.Context, protocol.StepWrite) (protocol.Ack, error) {
	return protocol.Ack{}, errors.New("no such value")
}

func (s refusing) Finish(_ context.Context, f protocol.Finish) (protocol.Ack, error) {
	s.finished <- f
	return protocol.Ack{OK: true}, nil
}

// TestAStepThatTheStoreRefusesEndsTheInstance: every run would come to the same refusal.
func TestAStepThatTheStoreRefusesEndsTheInstance(t *testing.T) {
	t.Parallel()
	store := refusing{finished: make(chan protocol.Finish, 1)}
	e, err := New(t.Context(), Config{DB: &surreal.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	e.store = store
	Register(e, "B", func(ctx context.Context, _ Event[any], s *Step) (int, error) {
		return Do(ctx, s, "step", func(context.Context) (int, error) { return 1, nil })
	})
	def, _ := e.lookup("B")
	if res, err := e.pass(t.Context(), def, "B", "i", "", defaultAttempt); err != nil || res.State != string(Errored) {
		t.Errorf("the run came to %+v, %v", res, err)
	}
	if f := <-store.finished; f.Status != string(Errored) || f.Error == nil || f.Error.Name != nameFatal {
		t.Errorf("the instance ended as %+v", f)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAStepNameIsUTF8(t *testing.T) {
	t.Parallel()
	if err := checkName("a\xffb"); !errors.Is(err, ErrName) {
		t.Errorf("got %v", err)
	}
}
