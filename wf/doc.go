// Package wf runs durable workflows in a Go backend: ordinary code, made of steps whose results are
// stored in SurrealDB. After a crash, a deploy or a month of sleep the code runs again from the top, and
// steps that are done return what they returned before. docs/workflows.md is the guide,
// docs/protocol.md what is written to the database, and package wftest runs workflows in unit tests.
//
// # Life of an instance
//
//	            run
//	queued ──────────────▶ running ──────────────▶ complete, errored
//	  ▲ ▲ ◀── hand-over ──────┤
//	  │ │                     │ a sleep, an event, a long pause between attempts
//	  │ └── run: due, or ── waiting
//	  │     the event came
//	  │
//	  └─ Resume ── paused ◀── Pause ── queued, waiting; running, when what runs is stored
//
//	Terminate: from every live state to terminated.   Retry: from errored to queued.
//	Restart: from every state to queued, without its steps and events.
//
// A run is one request of the sync processor, answered by [Engine.Handler]. It holds the instance's
// lease; of two requests for one instance one runs and the other is told to come again.
//
// # Guarantees
//
//   - [Workflow.Create] writes the instance and its first job in one transaction.
//   - A step's result is stored once, before the next step begins, and never changes. Each run, the
//     first included, sees it as JSON keeps it.
//   - A step's function may be called again while its result is not stored: steps made with [Do]
//     happen at least once; with a retry limit of 0, at most once; with [Query], exactly once.
//   - An attempt that a crash ended counts, and the waits between attempts survive crashes.
//   - A step that failed for good gives the same [StepError] in every run.
//   - A sleeping or waiting instance costs nothing but its rows.
//   - An event satisfies one wait. One that was sent before a deadline wins over the deadline.
//   - A run that has lost its instance, to a restart, a termination, or another run, writes nothing
//     however late it notices: no step, no status, no job.
//   - Code that no longer fits the stored steps is noticed, and said so on the instance; see [Strict].
//
// # What a workflow owes
//
// It decides only on its params and on what its steps returned. It returns errors that it does not
// handle, above all [ErrSuspended]. It starts goroutines that make steps with [Go] and [Branch] only.
//
// # Concurrency
//
// An [Engine], a [Workflow] and an [Instance] may be used from any number of goroutines, a [Step] from
// those of its run. Every goroutine of the engine belongs to a run or to Close, which waits for all
// of them; a step's function that ignores the end of its context is the exception, and is left behind.
package wf
