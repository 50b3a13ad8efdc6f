package retention

import (
	"encoding/json"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
)

// TestCountsStayAsTheyArePruned counts what finished before, between and after passes.
func TestCountsStayAsTheyArePruned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now().UTC()
	for i, age := range []time.Duration{time.Minute, 90 * time.Minute, 5 * time.Hour, 30 * time.Hour} {
		r.exec(`FOR $n IN 0..4 {
				CREATE job SET path = '/mail/' + <string>$n, status = 'success', created_at = $at - 10s, updated_at = $at;
				CREATE job SET path = '/pay', status = ['failed', 'cancelled'][$n % 2], created_at = $at - 10s, delay = 4000, updated_at = $at;
				CREATE job SET path = '/__spky/workflow/ALPHA', status = 'success', created_at = $at - 10s, updated_at = $at;
			}`, map[string]any{"at": now.Add(-age)})
		r.exec(writeInstances, map[string]any{"key": []string{"a", "b", "c", "d"}[i], "binding": "ALPHA", "finished": now.Add(-age)})
	}
	r.exec("CREATE job SET path = '/mail/1', status = 'pending'", nil)
	count := func() string {
		t.Helper()
		all, partial, err := Finished(r.ctx, r.db, Window{Since: now.Add(-24 * time.Hour), Until: now.Add(time.Second), Tables: []string{"job"}})
		r.check(err)
		if partial {
			t.Error("the counts are said to be partial")
		}
		sum := map[string]Count{}
		hours := map[time.Time]bool{}
		for _, c := range all {
			hours[c.Hour] = true
			s := sum[c.Of+" "+c.Name]
			s.Success, s.Failed, s.Killed, s.WallMS = s.Success+c.Success, s.Failed+c.Failed, s.Killed+c.Killed, s.WallMS+c.WallMS
			sum[c.Of+" "+c.Name] = s
		}
		text, err := json.Marshal([]any{len(hours), len(all), sum["job /mail/:id"], sum["job /pay"], sum["api ALPHA"], len(sum)})
		r.check(err)
		return string(text)
	}
	before := count()
	hour := `"hour":"0001-01-01T00:00:00Z","scope":"","of":"","name":"",`
	if want := `[3,9,{` + hour + `"success":12,"failed":0,"killed":0,"wall_ms":120000},{` + hour + `"success":0,"failed":6,"killed":6,"wall_ms":72000},{` + hour + `"success":3,"failed":3,"killed":3,"wall_ms":16200000},3]`; before != want {
		t.Errorf("counted\n%s, want\n%s", before, want)
	}
	for _, keep := range []time.Duration{4 * time.Hour, time.Hour, time.Second} {
		r.configure(config.Retention{Success: keep, Failed: keep, RunSuccess: keep, RunFailed: keep}, "job")
		if n := r.pass(r.pruner("a")); n == 0 {
			t.Errorf("nothing is older than %v", keep)
		}
		if after := count(); after != before {
			t.Errorf("after what is older than %v is pruned\n%s, before\n%s", keep, after, before)
		}
		r.exec("DELETE _00_lease", nil)
	}
	r.want("left", "RETURN array::len((SELECT VALUE id FROM job))", "1")
}

// TestTooManyToCount has more rows than are looked at, all created in the window; and then before it.
func TestTooManyToCount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`INSERT INTO job (array::range(0, $many).map(|$n| {
			RETURN { path: '/x', status: 'success', created_at: time::now() - 1h - duration::from_millis($n), updated_at: time::now() - 1m };
		})) RETURN NONE`, map[string]any{"many": MaxWalked + 50})
	now := time.Now()
	for since, want := range map[time.Duration]bool{2 * time.Hour: true, 30 * time.Minute: false} {
		all, partial, err := Finished(r.ctx, r.db, Window{Since: now.Add(-since), Until: now.Add(time.Second), Tables: []string{"job"}})
		r.check(err)
		if partial != want || len(all) != 1 || all[0].Success != MaxWalked {
			t.Errorf("since %v: partial is %v, want %v; %+v", since, partial, want, all)
		}
	}
}
