// Package ssp is the sync processor: it runs the jobs of outbox tables.
//
//	LIVE feed ─┐
//	           ├─▶ due queue ─▶ claim (batched) ─▶ dispatch: one POST ─▶ settle (batched)
//	sweep ─────┘                                        │
//	                                                backend
//
// A [Node] is one running process. Any number of nodes work on the same tables; they share nothing
// but the database.
//
// Guarantees:
//
//   - What is executed is what the claim returned, after the writer's transaction committed. A
//     notification is only a hint, and its absence costs at most one sweep interval.
//   - While nothing crashes, a job's backend sees each attempt once. When a node or the database
//     dies, the job runs again: at least once, never lost, never stuck.
//   - What a job came to is written only while this node holds it. While the database is away the
//     outcome waits and is written when it is back.
//   - Backends have their own slots, queue, circuit and settler: none waits for another. A job in
//     backoff holds no slot. Within a backend the oldest due job goes first.
//   - Memory is bounded whatever the backlog: the queue holds a bounded number of ids, the database
//     holds the rest.
//   - A stop loses nothing and burns no attempt; see [Node.Run].
//
// Times are compared by the database's clock, which each heartbeat measures; in between a node runs
// on its monotonic clock.
package ssp
