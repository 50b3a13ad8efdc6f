// Package dag runs DAGs: jobs that wait for one another, the top-level `workflows` of the configuration.
//
// A run is a row, and each of its steps is one. Package schedule writes them; what starts a run is a tick of
// its clock, or somebody's wish. From then on a run is gone on with by [Store.Advance]: whenever a job of it
// is over, and now and then for all that something may have been missed for.
//
//	blocked ──▶ ready ──▶ dispatched ──▶ success        a step
//	   │          │            └───────▶ failed
//	   └──────────┴──▶ skipped
//
//	running ──▶ success, failed, killed                 a run; a retry makes it running again
//
// Guarantees:
//
//   - A step has one job at a time. What is done to a run is one transaction, which also counts the run's
//     revision: of two at one moment one comes after the other, and sees what it did. A job's id follows from
//     its run and its step.
//   - A run goes on while any node lives, whatever dies: nothing about it is only in a node's memory.
//   - A run that can't go on ends: a job that the outbox table refuses is a step that failed.
package dag
