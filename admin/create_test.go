package admin

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.create(NewInstance{Binding: "ALPHA", ID: "first-1", Params: []byte(` {"n": 12345678901234567, "x": [1, null]} `), Owner: "user:ann"})
	i := r.get(id)
	if id != "first-1" || i.Status != wf.Queued || i.Backend != "api" || i.Owner != "user:ann" || i.Binding != "ALPHA" {
		t.Errorf("created %s: %+v", id, i)
	}
	if string(i.Params) != `{"n":12345678901234567,"x":[1,null]}` || string(i.Output) != "null" {
		t.Errorf("params %s, output %s", i.Params, i.Output)
	}
	job := `[{"path":"/__spky/workflow/ALPHA","payload":{"instance":"first-1"},"status":"pending"}]`
	if got := r.json("SELECT path, payload, status FROM job", nil); got != job {
		t.Errorf("jobs %s, want %s", got, job)
	}
	for _, binding := range []string{"ALPHA", "BETA"} {
		if _, err := r.durable.Create(r.ctx, NewInstance{Binding: binding, ID: id, Params: []byte("2")}); !errors.Is(err, ErrExists) {
			t.Errorf("a used id for %s: %v", binding, err)
		}
	}
	if again := r.get(id); string(again.Params) != string(i.Params) || r.json("SELECT path, payload, status FROM job", nil) != job {
		t.Error("a refused create changed the first instance")
	}
	random := r.get(r.create(NewInstance{Binding: "BETA"}))
	if random.ID == "" || string(random.Params) != "{}" || random.Owner != "" {
		t.Errorf("created %+v", random)
	}
}

func TestCreateRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	exact := `"` + strings.Repeat("x", maxValue-2) + `"`
	r.create(NewInstance{Binding: "ALPHA", ID: "exact", Params: []byte(" " + exact + "\n")}) // 1 MiB passes
	signs := `"` + strings.Repeat(`<\u003e\u2028`, (maxValue-2)/5) + "xxxx"
	r.create(NewInstance{Binding: "ALPHA", ID: "escaped", Params: []byte(signs + `"`)}) // counted as they are, not as they were written
	for says, n := range map[string]NewInstance{
		"allowed: 1 MiB": {Binding: "ALPHA", Params: []byte(signs + `x"`)},
		"1048577 bytes":  {Binding: "ALPHA", Params: []byte(`"` + exact[1:len(exact)-1] + `x"`)},
		"not JSON":       {Binding: "ALPHA", Params: []byte(`{"a":`)},
		"id":             {Binding: "ALPHA", ID: "-a"},
		"100 letters":    {Binding: "ALPHA", ID: strings.Repeat("a", 101)},
		"newest":         {Binding: "ALPHA", ID: "latest"},
		"owner":          {Binding: "ALPHA", Owner: "ann"},
		"no outbox":      {Binding: "TABLELESS"},
	} {
		_, err := r.durable.Create(r.ctx, n)
		wants(t, says, err, new(*InputError), says)
	}
	if _, err := r.durable.Create(r.ctx, NewInstance{Binding: "GAMMA"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown workflow: %v", err)
	}
	if got := r.json("RETURN array::len(SELECT * FROM _00_wf_instance)", nil); got != "2" {
		t.Errorf("%s instances after all that", got)
	}
}

// TestCreateAllOrNothing refuses the job, and looks that no instance is left.
func TestCreateAllOrNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("DEFINE FIELD tenant ON job TYPE string", nil)
	_, err := r.durable.Create(r.ctx, NewInstance{Binding: "ALPHA"})
	wants(t, "create", err, new(*surreal.QueryError), "tenant")
	if r.json("SELECT id FROM _00_wf_instance", nil) != "[]" {
		t.Error("an instance without a job is left")
	}
}

// TestCreateAtOnce lets many create one id.
func TestCreateAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var mu sync.Mutex
	var all sync.WaitGroup
	made := 0
	for range 8 {
		all.Go(func() {
			_, err := r.durable.Create(r.ctx, NewInstance{Binding: "ALPHA", ID: "one", Params: json.RawMessage("1")})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made++
			case !errors.Is(err, ErrExists):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if jobs := r.json("RETURN array::len(SELECT id FROM job)", nil); made != 1 || jobs != "1" {
		t.Errorf("%d were told that they made it, and there are %s jobs", made, jobs)
	}
}
