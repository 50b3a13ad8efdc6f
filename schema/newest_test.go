package schema_test

import (
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// TestTheOrderOfListsIsNobodysToChoose has a record user, and an import, name a place of their own.
func TestTheOrderOfListsIsNobodysToChoose(t *testing.T) {
	t.Parallel()
	for name, ddl := range map[string]string{"ours": ours(t), "upstream's first": upstreams(t, "minimal"), "upstream's later": upstreams(t, "full")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newApplied(t, ddl)
			u := r.signUp("ann")
			before := time.Now().Add(-time.Minute)
			_, _ = u.try("CREATE job:mine SET path = '/x', assigned_to = $auth, newest = -9000000000000000, listed = NONE")
			_, _ = u.try("CREATE job:hidden SET path = '/x', assigned_to = $auth, listed = false")
			_, _ = u.try("UPDATE job:mine SET newest = -9000000000000000, listed = NONE")
			r.exec("CREATE job:future SET path = '/x', assigned_to = user:ann, created_at = d'2999-01-01T00:00:00Z'; UPDATE job:future SET newest = -9000000000000000, status = 'success'", nil)
			newest, err := surreal.First[[]int64](r.ctx, r.db, "SELECT VALUE newest FROM job WHERE listed = true", nil)
			if err != nil || len(newest) != 2 {
				t.Fatalf("%v, %v", newest, err)
			}
			for _, n := range newest {
				if at := time.UnixMicro(-n); at.Before(before) || at.After(time.Now().Add(time.Minute)) {
					t.Errorf("a job stands at %v", at)
				}
			}
			rows, ok := u.query("SELECT * FROM job").([]any)
			if !ok || len(rows) == 0 { // upstream's tables show everybody everything
				t.Fatalf("the user sees %v", rows)
			}
			for _, row := range rows {
				if row, ok := row.(map[string]any); !ok || row["newest"] != nil || row["listed"] != nil {
					t.Errorf("the user sees %v", row)
				}
			}
		})
	}
}
