package admin

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

const (
	benchJobs      = 200_000
	benchInstances = 50_000
	benchPart      = 2_000
)

// fillJobsStatement writes jobs into two tables, of which one of a hundred failed and one of ten is due tomorrow.
const fillJobsStatement = `INSERT INTO {{table}} (<array> $from..$to).map(|$n| {
	LET $s = IF $n % 100 = 7 { 'failed' } ELSE IF $n % 10 = 1 { 'pending' } ELSE IF $n % 9999 = 5 { 'processing' } ELSE { 'success' };
	RETURN { id: rand::ulid(), path: IF $n % 3 = 0 { '/__spky/workflow/INGEST' } ELSE { '/documents/index' }, status: $s,
		lease_epoch: IF $s = 'pending' { NONE } ELSE { 1 }, delay: IF $s = 'pending' { 86400000 } ELSE { NONE }, payload: { n: $n, text: 'a payload of a hundred bytes or so, as most of them may be, give or take a few of those bytes' } }
}) RETURN NONE`

const fillInstancesStatement = `INSERT INTO _00_wf_instance (<array> $from..$to).map(|$n| { RETURN {
	id: 'i' + <string>$n, binding: ['INGEST', 'MAIL', 'PAY'][$n % 3], job_table: 'job', owner: IF $n % 50 = 0 { user:ann } ELSE { NONE },
	status: IF $n % 100 = 7 { 'errored' } ELSE IF $n % 10 = 1 { 'waiting' } ELSE { 'complete' },
	params: { n: $n }, created_at: time::now() } }) RETURN NONE`

// BenchmarkLists measures pages of lists over 200,000 jobs and 50,000 instances; ms/op is what a page
// takes.
func BenchmarkLists(b *testing.B) {
	ctx := context.Background()
	db := benchRig(b)
	jobs := NewJobs(JobsConfig{DB: db, Tables: []string{"job", "mail"}})
	durable := NewDurable(DurableConfig{DB: db, Backends: []config.Backend{{Name: "api", Workflows: []config.Workflow{{Binding: "INGEST"}, {Binding: "MAIL"}, {Binding: "PAY"}}}}})
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	for name, o := range map[string]JobListOptions{
		"jobs/all": {}, "jobs/failed": {Status: outbox.Failed}, "jobs/pending": {Status: outbox.Pending}, "jobs/processing": {Status: outbox.Processing},
		"jobs/durable": {Origin: "durable"}, "jobs/query": {Query: "documents"}, "jobs/rare": {Query: "nowhere"}, "jobs/one table": {Table: "mail"},
	} {
		for _, number := range []int{1, 10} {
			b.Run(fmt.Sprint(name, "/page ", number), func(b *testing.B) {
				o := o
				for range number - 1 {
					page, err := jobs.List(ctx, o)
					must(err)
					o.Cursor = page.Next
				}
				for b.Loop() {
					_, err := jobs.List(ctx, o)
					must(err)
				}
			})
		}
	}
	for name, o := range map[string]ListOptions{
		"instances/all": {}, "instances/errored": {Status: wf.Errored}, "instances/one workflow": {Binding: "MAIL"}, "instances/owner": {Owner: "user:ann"},
		"instances/owner and state": {Owner: "user:ann", Status: wf.Waiting}, "instances/query": {Query: "i4999"},
	} {
		for _, number := range []int{1, 10} {
			b.Run(fmt.Sprint(name, "/page ", number), func(b *testing.B) {
				o := o
				for range number - 1 {
					page, err := durable.List(ctx, o)
					must(err)
					o.Cursor = page.Next
				}
				for b.Loop() {
					_, err := durable.List(ctx, o)
					must(err)
				}
			})
		}
	}
	cluster := NewCluster(ClusterConfig{DB: db, Tables: []string{"job", "mail"}})
	b.Run("overview", func(b *testing.B) {
		for b.Loop() {
			_, err := cluster.Overview(ctx)
			must(err)
		}
	})
}

func benchRig(b *testing.B) *surreal.Client { return populated(b, benchJobs, benchInstances) }

func populated(b *testing.B, jobs, instances int) *surreal.Client {
	b.Helper()
	ctx := context.Background()
	target := devdbtest.Fresh(b)
	db, stop, err := surreal.Connect(ctx, surreal.Config{
		Endpoint: target.Endpoint, Namespace: target.Namespace, Database: target.Database, Username: target.User, Password: target.Password,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = stop() })
	exec := func(statement string, vars map[string]any) {
		if err := surreal.Exec(ctx, db, statement, vars); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := schema.Apply(ctx, db); err != nil {
		b.Fatal(err)
	}
	for _, table := range []string{"job", "mail"} {
		ddl, err := config.OutboxSchema(table, config.OutboxOptions{})
		if err != nil {
			b.Fatal(err)
		}
		exec(ddl, nil)
		if _, err := schema.PrepareOutbox(ctx, db, table); err != nil {
			b.Fatal(err)
		}
		for from := 0; from < jobs/2; from += benchPart {
			exec(strings.Replace(fillJobsStatement, "{{table}}", table, 1), map[string]any{"from": from, "to": from + benchPart})
		}
	}
	for from := 0; from < instances; from += benchPart {
		exec(fillInstancesStatement, map[string]any{"from": from, "to": from + benchPart})
	}
	return db
}
