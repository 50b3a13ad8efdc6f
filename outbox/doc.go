// Package outbox is the job: one row of an outbox table, and the verbs on it.
//
//	           claim                 2xx
//	pending ───────────▶ processing ───────▶ success
//	   ▲   ◀── release ──────┤ attempt failed, attempts left: due again after the backoff
//	   │                     ├ attempt failed, none left ───────▶ failed
//	   │ retry               ├ cancel ──────────────────────────▶ cancelled
//	   └──── failed, cancelled, success                            (pending → cancelled directly)
//
// Cancel and retry are what operators do: functions of the schema, fn::spky::job::cancel and retry, which package admin
// calls.
//
// A claim carries a lease and an epoch. The epoch is a fencing token: it grows at every claim and
// whenever a job is taken away from its holder, and every later write of that holder names it. A
// holder that lost its job can write nothing any more.
//
// Guarantees:
//
//   - Of any number of claims of one job at one time, one succeeds.
//   - Claims and settlements travel in batches, but each row has its own fate: a row that the
//     database refuses, or that can't be read, never takes another row down with it.
//   - All times that are stored are the database's.
//
// A [Table] is safe for concurrent use.
package outbox
