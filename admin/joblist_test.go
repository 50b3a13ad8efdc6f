package admin

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// table adds an outbox table to the rig.
func (r *rig) table(name string) {
	r.t.Helper()
	ddl, err := config.OutboxSchema(name, config.OutboxOptions{})
	r.check(err)
	r.exec(ddl, nil)
	_, err = schema.PrepareOutbox(r.ctx, r.db, name)
	r.check(err)
}

// A filled is a job that fillJobs wrote.
type filled struct {
	id      surreal.RecordID
	text    string
	newest  int64
	status  outbox.Status
	path    string
	stalled bool
	origin  string
}

// oddKeys are ids of every kind, hostile ones among them.
func oddKeys() []any {
	return []any{
		"a-b", "7", int64(7), int64(-7), "größe", "e f", "a:b", "` OR 1=1; --", "x⟩y", "🙂", "with\x00nul",
		[]any{"x", int64(1)},
		[]any{},
		map[string]any{"a": int64(1)},
		surreal.UUID{},
		strings.Repeat("long", 60),
	}
}

// fillJobs writes jobs into tables, some of the same microsecond, some without a time of creation, with
// ids of every kind; and answers with them in the order of lists: the newest first, those of one moment
// by table and then by id.
func (r *rig) fillJobs(count int, tables ...string) []filled {
	r.t.Helper()
	random := rand.New(rand.NewPCG(3, 4)) // the same every time
	var all []filled
	for _, table := range tables {
		var rows []map[string]any
		keys := oddKeys()
		for i := range count {
			keys = append(keys, fmt.Sprintf("i%03d", i))
		}
		for _, key := range keys {
			f := filled{
				id: surreal.RecordID{Table: table, ID: key}, status: outbox.Statuses()[random.IntN(5)],
				path: []string{"/a", "/Send/Mail", durablePath + "INGEST"}[random.IntN(3)], newest: int64(1_700_000_000_000_000 + random.IntN(count/3)*1000),
			}
			row := map[string]any{"id": f.id, "status": string(f.status), "path": f.path, "payload": "secret", "result": "secret", "newest": -f.newest, "listed": true}
			row["created_at"] = surreal.None
			f.origin = disguise(random.IntN(8), f, row)
			if f.status == outbox.Processing {
				f.stalled = random.IntN(2) == 0
				row["lease_until"] = surreal.Datetime(r.now().AddDate(0, 0, map[bool]int{true: -1, false: 1}[f.stalled]))
			}
			if random.IntN(10) == 0 {
				f.newest = 0
				row["newest"], row["listed"] = surreal.None, surreal.None
			}
			f.text = surreal.FormatID(f.id)
			all = append(all, f)
			rows = append(rows, row)
		}
		// The columns' VALUE would make newest of the present time.
		r.exec("DEFINE FIELD OVERWRITE newest ON "+table+" TYPE option<int>; DEFINE FIELD OVERWRITE listed ON "+table+" TYPE option<bool>; DEFINE FIELD OVERWRITE created_at ON "+table+" TYPE option<datetime>", nil)
		r.exec("INSERT INTO "+table+" $rows RETURN NONE", map[string]any{"rows": rows})
	}
	order := map[string]int{}
	for _, table := range tables { // as the database orders ids
		ids, err := surreal.First[[]surreal.RecordID](r.ctx, r.db, "SELECT VALUE id FROM "+table+" ORDER BY id", nil)
		r.check(err)
		for i, id := range ids {
			order[surreal.FormatID(id)] = i
		}
	}
	slices.SortFunc(all, func(a, b filled) int {
		switch {
		case (a.newest == 0) != (b.newest == 0):
			return map[bool]int{true: 1, false: -1}[a.newest == 0]
		case a.newest != b.newest:
			return int(b.newest - a.newest)
		case a.id.Table != b.id.Table:
			return strings.Compare(a.id.Table, b.id.Table)
		}
		return order[a.text] - order[b.text]
	})
	return all
}

// disguise gives a row one of the looks of the platform's own and of what others write, and says what it is.
func disguise(look int, f filled, row map[string]any) string {
	ran, over := look%2 == 0, f.status.Terminal()
	if ran {
		row["lease_epoch"] = 3
	}
	switch look / 2 {
	case 0:
		row["assigned_to"] = surreal.RecordID{Table: "user", ID: "ann"}
		return originApp
	case 1:
		row["errors"] = []any{map[string]any{"code": "refused"}}
		return originApp
	case 2:
		row["errors"] = []any{map[string]any{"code": "refused"}, map[string]any{"code": 500}}
	}
	return origin(ran && over && strings.HasPrefix(f.path, durablePath))
}

func walkJobs(r *rig, j *Jobs, o JobListOptions) []string {
	r.t.Helper()
	var ids []string
	for pages := 0; ; pages++ {
		page, err := j.List(r.ctx, o)
		r.check(err)
		if len(page.Jobs) > o.Limit || pages > 1000 {
			r.t.Fatalf("%+v: %d jobs on page %d, limit %d", o, len(page.Jobs), pages, o.Limit)
		}
		for _, job := range page.Jobs {
			ids = append(ids, job.ID)
		}
		if page.Next == "" {
			return ids
		}
		o.Cursor = page.Next
	}
}

// TestAllPendingJobsAreInTheOrderOfLists reads them from every place on, as a list does that has looked through many
// others: pages of one list may be read in both ways.
func TestAllPendingJobsAreInTheOrderOfLists(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.table("mail")
	r.fillJobs(90, "job", "mail")
	j := NewJobs(JobsConfig{DB: r.db, Backends: []config.Backend{{Name: "api", Table: "job"}, {Name: "post", Table: "mail"}}})
	o := JobListOptions{Status: outbox.Pending, Limit: 1}
	want := walkJobs(r, j, o)
	for n := range want {
		q, err := j.query(o)
		r.check(err)
		all, few, err := j.pending(r.ctx, q)
		r.check(err)
		var got []string
		for _, p := range all {
			got = append(got, surreal.FormatID(p.ID))
		}
		if !few || !slices.Equal(got, want[n:]) {
			t.Fatalf("from place %d on: %v\n got %q\nwant %q", n, few, got, want[n:])
		}
		page, err := j.List(r.ctx, o)
		r.check(err)
		o.Cursor = page.Next
	}
}

// TestJobList walks lists of every kind page by page, and holds them against sorting everything.
func TestJobList(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.table("mail")
	all := r.fillJobs(90, "job", "mail")
	j := NewJobs(JobsConfig{DB: r.db, Backends: []config.Backend{{Name: "api", Table: "job"}, {Name: "post", Table: "mail"}}})
	for _, o := range []JobListOptions{
		{},
		{Table: "job"},
		{Backend: "post"},
		{Status: outbox.Failed},
		{Status: outbox.Success, Table: "mail"},
		{Status: outbox.Pending},
		{Status: outbox.Processing},
		{Stalled: true},
		{Stalled: true, Table: "job"},
		{Origin: "durable"},
		{Origin: "app", Status: outbox.Cancelled},
		{Query: "send/"},
		{Query: "send/", Status: outbox.Pending},
		{Query: "i01"},
		{Query: "ingest", Origin: "durable", Backend: "api", Status: outbox.Success},
		{Query: "nowhere"},
	} {
		var want []string
		for _, f := range all {
			if (o.Table == "" || f.id.Table == o.Table) && (o.Backend == "" || f.id.Table == map[string]string{"api": "job", "post": "mail"}[o.Backend]) &&
				(o.Status == "" || f.status == o.Status) && (!o.Stalled || f.stalled) && (o.Origin == "" || f.origin == o.Origin) &&
				(o.Query == "" || strings.Contains(strings.ToLower(f.path+" "+f.text), o.Query)) {
				want = append(want, f.text)
			}
		}
		for _, o.Limit = range []int{1, 7, 1000} {
			got := walkJobs(r, j, o)
			if !slices.Equal(got, want) {
				t.Errorf("%+v:\n got %q\nwant %q", o, got, want)
			}
		}
	}
}

// TestListOfOneJob finds a job by its id, whatever the id is.
func TestListOfOneJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.table("mail")
	all := r.fillJobs(30, "job", "mail")
	j := NewJobs(JobsConfig{DB: r.db, Tables: []string{"job", "mail"}})
	for _, f := range all {
		if len(f.text) > 200 {
			continue
		}
		page, err := j.List(r.ctx, JobListOptions{Query: f.text})
		r.check(err)
		if len(page.Jobs) == 0 || len(page.Jobs) > 2 || !slices.ContainsFunc(page.Jobs, func(s JobSummary) bool { return s.ID == f.text }) {
			t.Errorf("%q: found %s", f.text, pretty(t, page.Jobs))
		}
		if got, err := j.Get(r.ctx, f.text); err != nil || got.ID != f.text {
			t.Errorf("get %q: %q, %v", f.text, got.ID, err)
		}
	}
	page, err := j.List(r.ctx, JobListOptions{Query: "i007", Limit: 5})
	r.check(err)
	if len(page.Jobs) != 2 || page.Next != topCursor {
		t.Errorf("a key that two tables have: %s", pretty(t, page))
	}
	if got := walkJobs(r, j, JobListOptions{Query: "i007", Limit: 5}); len(got) != 2 {
		t.Errorf("walked %q", got)
	}
}

// TestManyPendingJobs looks through the newest where there are too many to be sorted.
func TestManyPendingJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`INSERT INTO job (<array> 0..3000).map(|$n| { RETURN { id: $n, path: '/x', status: IF $n % 2 = 0 { 'pending' } ELSE { 'success' },
		created_at: d'2024-01-01T00:00:00Z' + duration::from_millis($n), delay: 1000 } }) RETURN NONE`, nil)
	got := walkJobs(r, r.jobs(), JobListOptions{Status: outbox.Pending, Limit: 100})
	var want []string
	for n := 2998; n >= 0; n -= 2 {
		want = append(want, fmt.Sprint("job:", n))
	}
	if !slices.Equal(got, want) {
		t.Errorf("walked %d jobs, want %d; they begin %q", len(got), len(want), got[:5])
	}
}

// TestFewPendingJobs finds the few that are among many others, all of them newer.
func TestFewPendingJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`INSERT INTO job (<array> 0..3000).map(|$n| { RETURN { id: $n, path: '/x', status: IF $n % 2 = 0 AND $n < 60 { 'pending' } ELSE { 'success' },
		created_at: d'2024-01-01T00:00:00Z' + duration::from_millis($n) } }) RETURN NONE`, nil)
	page, err := r.jobs().List(r.ctx, JobListOptions{Status: outbox.Pending, Limit: 20})
	r.check(err)
	if len(page.Jobs) != 20 || page.Jobs[0].ID != "job:58" || page.Jobs[19].ID != "job:20" {
		t.Errorf("the first page is %s", pretty(t, page))
	}
	if got := walkJobs(r, r.jobs(), JobListOptions{Status: outbox.Pending, Limit: 20}); len(got) != 30 || got[29] != "job:0" {
		t.Errorf("walked %q", got)
	}
}

// TestJobListShowsNoPayload also shows what a row says.
func TestJobListShowsNoPayload(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("DEFINE FIELD mine ON job TYPE any", nil)
	id := r.newJob(NewJob{Payload: []byte(`"secret"`)})
	r.exec("UPDATE job SET result = 'secret', errors = [{ code: 500, reason: 'secret' }], mine = 'secret'", nil)
	j := r.jobs()
	page, err := j.List(r.ctx, JobListOptions{})
	r.check(err)
	if text := pretty(t, page); strings.Contains(text, "secret") || !strings.Contains(text, `"backend":"api"`) || page.Jobs[0].ID != id {
		t.Errorf("listed %s", text)
	}
	if text := pretty(t, r.job(id)); strings.Count(text, "secret") != 4 {
		t.Errorf("got %s", text)
	}
}

// TestHostileRows shows and lists rows that hold anything in any column.
func TestHostileRows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("REMOVE TABLE job; DEFINE TABLE job SCHEMALESS", nil)
	for _, column := range []string{"status", "path", "payload", "assigned_to", "retries", "max_retries", "errors", "created_at", "timeout"} {
		r.exec("DEFINE FIELD "+column+" ON job TYPE any", nil)
	}
	_, err := schema.PrepareOutbox(r.ctx, r.db, "job")
	r.check(err)
	r.exec(`CREATE job:odd SET status = 12, path = [1], payload = $nan, max_retries = -5, retries = 'x', errors = 'none', created_at = NONE, timeout = 1h, assigned_to = 5, mine = <bytes>"x"`, map[string]any{"nan": math.NaN()})
	r.exec(`CREATE job:evil SET status = '<script>', path = "/x\n\u{1b}[31m", payload = NONE, errors = [1, { code: [1], reason: { a: 1 } }, { code: 500, at: 'x', attempt: -1 }]`, nil)
	r.exec(`CREATE job:none SET payload = NONE`, nil)
	r.exec(`CREATE job:regex SET path = '/x', payload = { deep: [/a+/] }, status = 'pending' RETURN NONE`, nil)
	j := r.jobs()
	page, err := j.List(r.ctx, JobListOptions{})
	r.check(err)
	if len(page.Jobs) != 4 {
		t.Errorf("listed %s", pretty(t, page))
	}
	for _, id := range []string{"odd", "evil", "none"} {
		job := r.job(id)
		if text := pretty(t, job); job.ID != "job:"+id || job.MaxRetries < 1 || job.Retries != 0 {
			t.Errorf("%s is %s", id, text)
		}
		for _, verb := range []func() error{func() error { _, err := j.Cancel(r.ctx, id); return err }, func() error { _, err := j.Retry(r.ctx, id); return err }} {
			wants(t, id, verb(), new(*StateError), "the job is")
		}
	}
	if regex := r.job("regex"); !strings.Contains(string(regex.Payload), "cannot send") || regex.Path != "/x" || regex.Status != outbox.Pending {
		t.Errorf("regex is %s", pretty(t, regex))
	}
	if odd := r.job("odd"); !strings.Contains(string(odd.Payload), "no JSON") || odd.Status != "" {
		t.Errorf("odd is %s", pretty(t, odd))
	}
}

// TestLongIDs walks over ids and paths that somebody chose so that lists choke on them.
func TestLongIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`LET $at = time::now();
		FOR $n IN 0..4 { CREATE type::record('job', string::repeat('z', 100000) + <string>$n) SET path = '/' + string::repeat('y', 500000), payload = {}, created_at = $at };
		CREATE job:short SET path = '/x', payload = {}, created_at = $at;
		CREATE job:last SET path = '/x', payload = {}, created_at = $at - 1s`, nil)
	j := r.jobs()
	seen, cursor := map[string]bool{}, ""
	for range 10 {
		page, err := j.List(r.ctx, JobListOptions{Limit: 1, Cursor: cursor})
		r.check(err)
		for _, job := range page.Jobs {
			seen[job.ID] = true
			if len(job.Path) > 2100 {
				t.Errorf("a path of %d bytes is listed whole", len(job.Path))
			}
		}
		if cursor = page.Next; cursor == "" {
			break
		}
		if len(cursor) > 500 {
			t.Fatalf("a cursor of %d bytes", len(cursor))
		}
	}
	if len(seen) != 6 || cursor != "" || !seen["job:short"] || !seen["job:last"] {
		t.Errorf("found %d jobs of 6, next %q", len(seen), cursor)
	}
	_, err := j.List(r.ctx, JobListOptions{Cursor: "1~job~x"})
	wants(t, "a cursor of nothing", err, new(*InputError), "begin the list again")
}

// TestJobListsSortNothing asks the database how it would run each statement, with other indexes present.
func TestJobListsSortNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("DEFINE INDEX idx_job_dispatch ON job FIELDS status, created_at; DEFINE INDEX idx_job_status ON job FIELDS status", nil)
	vars := map[string]any{"newest0": -5, "same": -5, "moment": -5, "after": surreal.RecordID{Table: "job", ID: "a"}, "status": "failed", "limit": 20}
	for _, c := range []struct{ name, index, plan string }{
		{"jobs_newest", "idx_job_newest", "access: [true] MoreThanEqual -5"},
		{"jobs_same", "idx_job_newest", "access: [true, -5]"},
		{"jobs_moment", "idx_job_newest", "access: [true, -5]"},
		{"jobs_untimed", "idx_job_newest", "access: [NONE]"},
		{"jobs_late", "idx_job_newest", "access: [NONE]"},
		{"jobs_late_after", "idx_job_newest", "access: [NONE]"},
		{"jobs_state", "idx_job_due", "access: [NONE, 'failed'] MoreThanEqual -5"},
		{"jobs_state_same", "idx_job_due", "access: [NONE, 'failed', -5]"},
		{"jobs_state_late", "idx_job_due", "access: [NONE, 'failed', NONE]"},
		{"jobs_state_late_after", "idx_job_due", "access: [NONE, 'failed', NONE]"},
	} {
		statement := jobStatement(c.name, "job", "0")
		plan := strings.ReplaceAll(r.json("EXPLAIN "+statement, vars), `\n`, "\n")
		limited := strings.Contains(statement, "LIMIT")
		if !strings.Contains(plan, "IndexScan") || !strings.Contains(plan, c.index) || !strings.Contains(plan, c.plan) || strings.Contains(plan, "Sort") ||
			limited != strings.Contains(plan, "limit:") || limited && strings.Contains(plan, "Filter") {
			t.Errorf("%s\nis run as\n%s", statement, plan)
		}
	}
}

func TestJobListRefusals(t *testing.T) {
	t.Parallel()
	j := NewJobs(JobsConfig{Backends: []config.Backend{{Name: "api", Table: "job"}, {Name: "bare"}}})
	for says, o := range map[string]JobListOptions{
		"limit":            {Limit: MaxPage + 1},
		"status":           {Status: "done"},
		"cursor":           {Cursor: "x"},
		"cursor \"1.":      {Cursor: "1.a"},
		"these filters":    {Cursor: jobPlace{ID: surreal.RecordID{Table: "user", ID: "ann"}}.cursor()},
		"origin":           {Origin: "moon"},
		"no outbox table":  {Table: "user"},
		"there are: api":   {Backend: "bare"},
		"never":            {Stalled: true, Status: outbox.Failed},
		"allowed: 500":     {Query: strings.Repeat("x", 501)},
		"there are: job":   {Table: "_00_wf_instance"},
		"allowed: pending": {Status: "' OR true"},
	} {
		_, err := j.List(t.Context(), o)
		wants(t, fmt.Sprintf("%+v", o), err, new(*InputError), says)
	}
	_, err := NewJobs(JobsConfig{}).List(t.Context(), JobListOptions{})
	wants(t, "without tables", err, new(*InputError), "no outbox table")
}
