// Package retention deletes finished jobs, instances of workflows and runs of DAGs that are older than they have to
// be kept, and keeps counts of them by the hour.
//
//	_00_retention:default ─▶ pass, once a minute, on one node ─▶ page of old rows ─▶ one transaction:
//	                                                             counts added up in _00_run_rollup,
//	                                                             rows deleted
//
// Guarantees:
//
//   - Only finished rows are deleted: each is judged again in the transaction that deletes it. A row that
//     somebody changes at that moment stays.
//   - Only tables that _00_retention:default names are touched, and of those only what has the columns and
//     the index of an outbox table.
//   - A row is counted once, in the transaction that deletes it, and never lost in between.
//   - An instance goes with its steps and events in one transaction, steps first: whoever listens for them
//     hears of their end. So does a run with its steps. A half-deleted instance is seen by nobody.
//   - One node prunes at a time; another takes over when it leaves, or is silent for longer than its lease.
//   - Work is done in small transactions, with a pause after each that is as long as it took.
//
// Jobs age by updated_at, instances and runs by finished_at. Neither is indexed: rows are found by the time of their
// creation, which is not later, and those that finished too late for that are passed over, each pass anew.
package retention
