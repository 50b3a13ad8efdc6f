package ssp

import (
	"net/http"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal"
)

// TestKeysOfAllTypesAreKeptApart has rows whose keys read alike and are not: each gets a run of its own, with an id of
// its own. Texts and numbers that nothing else reads like are keys as they are.
func TestKeysOfAllTypesAreKeptApart(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	g := newWeir(t)
	c := r.clockwork(g.backends, func(s *schedule.Spec) { s.ForEach = &config.ForEach{Query: "SELECT * FROM thing", Key: "k"} })
	want := map[string]string{
		"1": "1", "'1'": "'1'", `"'1'"`: `"'1'"`, "1.5": "1.5f", "'1.5'": "1.5", "'1.5f'": "'1.5f'", "2.0": "2f", "2dec": "2dec", "true": "true", "'true'": "'true'",
		"user:a": "user:a", "'user:a'": "'user:a'", "user:1": "user:1", "user:`1`": "user:`1`", "['x', 1]": "['x', 1]", `'["x",1]'`: `["x",1]`, "1h": "1h", "'1h'": "'1h'",
		"u'018e0000-0000-7000-8000-000000000001'": "u'018e0000-0000-7000-8000-000000000001'", "'018e0000-0000-7000-8000-000000000001'": "018e0000-0000-7000-8000-000000000001",
		"d'2026-01-01T00:00:00Z'": "d'2026-01-01T00:00:00Z'", "'2026-01-01T00:00:00Z'": "2026-01-01T00:00:00Z", "'a b'": "a b", "'007'": "007", "''": "''",
	}
	for expr := range want {
		r.exec("CREATE thing SET k = "+expr, nil)
	}
	c.tick()
	keys := map[string]bool{}
	jobs := map[string]bool{}
	for _, run := range c.runs("s") {
		keys[run.Key] = true
		if run.Target == nil || jobs[surreal.FormatID(*run.Target)] {
			t.Errorf("%+v has no job of its own", run)
			continue
		}
		jobs[surreal.FormatID(*run.Target)] = true
	}
	for expr, key := range want {
		if !keys[key] {
			t.Errorf("%s has no run with the key %s", expr, key)
		}
	}
	if len(keys) != len(want) {
		t.Errorf("%d keys, want %d: %v", len(keys), len(want), keys)
	}
	close(g.open)
}

// TestAQueryOfForEachWritesNothing has one that calls a function which writes: its rows are those that it saw, and what it
// wrote is gone.
func TestAQueryOfForEachWritesNothing(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	r.exec(`CREATE customer:one SET n = 1;
		DEFINE FUNCTION fn::touch($id: record) { UPDATE $id SET n += 1; CREATE trace; RETURN (SELECT VALUE n FROM ONLY $id) };
		DEFINE TABLE trace;`, nil)
	c := r.clockwork(answering(t, http.StatusOK), func(s *schedule.Spec) {
		s.ForEach = &config.ForEach{Query: "SELECT id, fn::touch(id) AS n FROM customer", Key: "id"}
	})
	run := c.tick()
	type row struct {
		Payload struct {
			Row struct {
				N int `json:"n"`
			} `json:"row"`
		} `json:"payload"`
	}
	if job, err := surreal.First[row](r.ctx, r.db, "SELECT payload FROM ONLY $id", map[string]any{"id": run.Target}); err != nil || job.Payload.Row.N != 2 {
		t.Errorf("the run's row: %+v, %v", job, err)
	}
	left, err := surreal.First[[]int](r.ctx, r.db, "RETURN [(SELECT VALUE n FROM ONLY customer:one), array::len((SELECT id FROM trace))]", nil)
	if err != nil || left[0] != 1 || left[1] != 0 {
		t.Errorf("it wrote: n is %d and there are %d traces, %v", left[0], left[1], err)
	}
}
