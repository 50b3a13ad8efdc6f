package admin

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// fill writes instances as they would be after some life: of three workflows, in every state, some of
// the same microsecond, some with an owner, some stalled.
func (r *rig) fill(count int) []place {
	r.t.Helper()
	random := rand.New(rand.NewPCG(1, 2)) // the same every time
	ann := surreal.RecordID{Table: "user", ID: "ann"}
	var all []place
	var rows []map[string]any
	for i := range count {
		p := place{
			ID: instanceID(fmt.Sprintf("i%03d", i)), Newest: -int64(1_700_000_000_000_000 + random.IntN(count/2)*1000),
			Binding: []string{"ALPHA", "ALPHA_2", "BETA"}[random.IntN(3)], Status: Statuses()[random.IntN(7)],
		}
		row := map[string]any{
			"id": p.ID, "newest": p.Newest, "binding": p.Binding, "status": string(p.Status), "job_table": "job",
			"params": "secret", "output": "secret",
		}
		if random.IntN(3) == 0 {
			p.Owner = &ann
			row["owner"] = ann
		}
		if random.IntN(4) == 0 {
			row["stalled_at"] = surreal.Datetime(r.now())
			row["stalls"] = 1
		}
		all = append(all, p)
		rows = append(rows, row)
	}
	r.exec("INSERT INTO _00_wf_instance $rows", map[string]any{"rows": rows})
	slices.SortFunc(all, place.compare)
	return all
}

func (r *rig) walk(o ListOptions) []string {
	r.t.Helper()
	var ids []string
	for pages := 0; ; pages++ {
		page, err := r.durable.List(r.ctx, o)
		r.check(err)
		if len(page.Instances) > o.Limit || pages > 1000 {
			r.t.Fatalf("%+v: %d instances on page %d, limit %d", o, len(page.Instances), pages, o.Limit)
		}
		for _, i := range page.Instances {
			ids = append(ids, i.ID)
		}
		if page.Next == "" {
			return ids
		}
		o.Cursor = page.Next
	}
}

// TestList walks lists of every kind page by page, and holds them against sorting everything.
func TestList(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	all := r.fill(300)
	stalled := map[string]bool{}
	rows, err := surreal.First[[]place](r.ctx, r.db, "SELECT id, newest FROM _00_wf_instance WHERE stalled_at != NONE AND status IN ['queued', 'running', 'waiting']", nil)
	r.check(err)
	for _, row := range rows {
		stalled[key(row.ID)] = true
	}
	for _, o := range []ListOptions{
		{},
		{Binding: "ALPHA"},
		{Status: wf.Errored},
		{Binding: "BETA", Status: wf.Waiting},
		{Binding: "NONE"},
		{Owner: "user:ann"},
		{Owner: "user:ann", Status: wf.Complete},
		{Owner: "user:ann", Binding: "BETA", Status: wf.Queued},
		{Owner: "user:bob"},
		{Stalled: true},
		{Stalled: true, Binding: "ALPHA"},
		{Stalled: true, Owner: "user:ann"},
		{Stalled: true, Status: wf.Waiting},
		{Query: "i"},
		{Query: "i12"},
		{Query: "i1", Binding: "ALPHA", Status: wf.Complete},
		{Query: "i", Owner: "user:ann"},
		{Query: "i", Stalled: true},
		{Query: "x"},
	} {
		var want []string
		for _, p := range all {
			if (o.Binding == "" || p.Binding == o.Binding) && (o.Status == "" || p.Status == o.Status) &&
				(o.Owner == "" || p.Owner != nil && surreal.FormatID(*p.Owner) == o.Owner) && (!o.Stalled || stalled[key(p.ID)]) && strings.HasPrefix(key(p.ID), o.Query) {
				want = append(want, key(p.ID))
			}
		}
		if o.Query != "" {
			slices.Sort(want)
		}
		for _, o.Limit = range []int{1, 7, 1000} {
			if o.Limit == 1 && len(want) > 50 {
				continue
			}
			if got := r.walk(o); !slices.Equal(got, want) {
				t.Errorf("%+v:\n got %v\nwant %v", o, got, want)
			}
		}
	}
}

// TestListOfAnOwnerWithMany needs more than one part of the owner's instances for a page.
func TestListOfAnOwnerWithMany(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`INSERT INTO _00_wf_instance (<array> 0..2100).map(|$n| { RETURN { id: 'i' + <string>($n + 10000), newest: -$n / 3, binding: 'ALPHA',
		status: IF $n = 5 { 'errored' } ELSE { 'complete' }, job_table: 'job', owner: user:ann } }) RETURN NONE`, nil)
	page, err := r.durable.List(r.ctx, ListOptions{Owner: "user:ann", Status: wf.Errored})
	r.check(err)
	if len(page.Instances) != 1 || page.Instances[0].ID != "i10005" || page.Next != "" {
		t.Errorf("got %+v", page)
	}
	if got := r.walk(ListOptions{Owner: "user:ann", Limit: 400}); len(got) != 2100 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 2100 {
		t.Errorf("walked %d instances of 2100", len(got))
	}
}

// TestListShowsNoPayload also shows what a row says.
func TestListShowsNoPayload(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.create(NewInstance{Binding: "ALPHA", Params: []byte(`"secret"`), Owner: "user:ann"})
	r.exec("UPDATE $id SET output = 'secret', error = { name: 'E', message: 'm' }, stack = 'secret'", map[string]any{"id": instanceID(id)})
	page, err := r.durable.List(r.ctx, ListOptions{})
	r.check(err)
	if text := pretty(t, page); strings.Contains(text, "secret") || !strings.Contains(text, `"owner":"user:ann"`) || !strings.Contains(text, `"backend":"api"`) {
		t.Errorf("the list says %s", text)
	}
	if i := r.get(id); i.Error.Stack != "secret" || string(i.Output) != `"secret"` {
		t.Errorf("the instance is %s", pretty(t, i))
	}
	if page, err = NewDurable(DurableConfig{DB: r.db}).List(r.ctx, ListOptions{Binding: "BETA"}); err != nil || pretty(t, page) != `{"instances":[]}` {
		t.Errorf("an empty list is %s, %v", pretty(t, page), err)
	}
}

// TestRangesOfIDsSortNothing looks at lists that are in the order of their ids.
func TestRangesOfIDsSortNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for statement, scan := range map[string]string{prefixStatement: "DynamicScan", auditStatement: "RecordIdScan"} {
		_, text, _ := strings.Cut(statement, "\n") // without the comment
		plan := r.json("EXPLAIN "+text, map[string]any{"from": "a", "to": "b", "newest": -5, "id": "x", "limit": 20})
		if !strings.Contains(plan, scan) || strings.Contains(plan, "Sort") || strings.Contains(plan, "TableScan") || strings.Contains(plan, "Filter") {
			t.Errorf("%s\nis run as\n%s", text, strings.ReplaceAll(plan, `\n`, "\n"))
		}
	}
}

// TestListsSortNothing asks the database how it would run each statement.
func TestListsSortNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vars := map[string]any{"binding0": "ALPHA", "status0": "queued", "newest": -5, "limit": 20, "from": "ALPHA", "from0": "ALPHA", "to0": "BETA", "owner": surreal.RecordID{Table: "user", ID: "ann"}}
	for _, c := range []struct{ statement, index string }{
		{statePart, "wf_instance_list"},
		{stateSamePart, "wf_instance_list"},
		{bindingsStatement, "wf_instance_list"},
		{bindingsBetweenPart, "wf_instance_list"},
		{ownerStatement, "wf_instance_owner"},
		{ownerSameStatement, "wf_instance_owner"},
		{stalledStatement, "wf_instance_stalled"},
	} {
		var lines []string
		for line := range strings.Lines(c.statement) {
			if !strings.HasPrefix(line, "--") {
				lines = append(lines, line)
			}
		}
		plan := r.json("EXPLAIN "+strings.ReplaceAll(strings.Join(lines, ""), "{{n}}", "0"), vars)
		if !strings.Contains(plan, "IndexScan") || !strings.Contains(plan, c.index) || strings.Contains(plan, "Sort") || strings.Contains(plan, "Filter") ||
			strings.Contains(c.statement, "LIMIT") != strings.Contains(plan, "limit:") {
			t.Errorf("%s\nis run as\n%s", c.statement, strings.ReplaceAll(plan, `\n`, "\n"))
		}
	}
}

// TestListOfUndeclaredWorkflows finds instances of workflows that the configuration does not have, before,
// between and behind those that it has.
func TestListOfUndeclaredWorkflows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var want []string
	for i, binding := range []string{"AAA", "AAB", "ALPHA", "ALPHA_2", "AMID", "BETA", "TABLELESS", "TABLELESS_2", "ZZZ", "größe"} {
		r.exec("CREATE $id SET binding = $binding, status = 'complete', job_table = 'job', newest = $newest", map[string]any{"id": instanceID(binding[:1] + fmt.Sprint(i)), "binding": binding, "newest": i - 100})
		want = append(want, binding[:1]+fmt.Sprint(i))
	}
	if got := r.walk(ListOptions{Limit: 4}); !slices.Equal(got, want) {
		t.Errorf("walked %q, want %q", got, want)
	}
}

func TestListRefusals(t *testing.T) {
	t.Parallel()
	d := NewDurable(DurableConfig{})
	for says, o := range map[string]ListOptions{
		"limit":       {Limit: MaxPage + 1},
		"status":      {Status: "done"},
		"cursor":      {Cursor: "x"},
		"query":       {Query: "a:b"},
		"cursor \"1.": {Cursor: "1.a b"},
		"owner":       {Owner: "ann"},
		"never":       {Stalled: true, Status: wf.Complete},
	} {
		_, err := d.List(t.Context(), o)
		wants(t, fmt.Sprintf("%+v", o), err, new(*InputError), says)
	}
}

func TestWorkflows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(NewInstance{Binding: "BETA"})
	newest := r.create(NewInstance{Binding: "BETA"})
	r.exec("CREATE _00_wf_instance:old SET binding = 'GONE', status = 'complete', job_table = 'job'", nil)
	all, err := r.durable.Workflows(r.ctx)
	r.check(err)
	var said []string
	for _, w := range all {
		said = append(said, fmt.Sprint(w.Binding, " ", w.Declared(), " ", w.LastCreated != nil))
	}
	if want := []string{"ALPHA true false", "BETA true true", "GONE false true", "TABLELESS true false"}; !slices.Equal(said, want) {
		t.Errorf("workflows %q, want %q", said, want)
	}
	counts, err := r.durable.Counts(r.ctx, "BETA")
	r.check(err)
	if counts[0] != (Count{Status: wf.Queued, Count: 2}) || counts[4] != (Count{Status: wf.Complete}) {
		t.Errorf("counts %+v", counts)
	}
	if got, err := r.durable.Newest(r.ctx, "BETA"); got != newest || err != nil {
		t.Errorf("newest %s %v, want %s", got, err, newest)
	}
	if _, err := r.durable.Newest(r.ctx, "ALPHA"); err == nil || !strings.Contains(err.Error(), "has none") {
		t.Errorf("newest of none: %v", err)
	}
	if w, err := r.durable.Workflow(r.ctx, "GONE"); err != nil || w.Declared() {
		t.Errorf("GONE: %+v %v", w, err)
	}
	if _, err := r.durable.Workflow(r.ctx, "NOWHERE"); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("NOWHERE: %v", err)
	}
}
