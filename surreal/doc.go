// Package surreal is spky's connection to SurrealDB: the only package of the module that talks to the official Go SDK.
//
// # What it is made of
//
//	Client      supervises one WebSocket: dial → sign in → use → visible to callers → lost → back off → dial …
//	transport   one such WebSocket, an implementation of the SDK's connection.Connection
//	Live        a live query's events, coalesced per record, that never holds up the connection
//	codec       Go values to CBOR and back, refusing what the server could not answer
//
// A Client moves between two states only; callers never see a socket that is not signed in:
//
//	             dialled, signed in, namespace and database chosen
//	not connected ───────────────────────────────────────────────▶ connected
//	      ▲                                                            │
//	      └── reset, FIN, close frame, silence, expired session ◀──────┘
//
// While it is not connected calls wait. A call that is in flight when the connection drops fails at once with
// [ErrDisconnected]: nobody knows whether the database executed it, so repeat it only if it is guarded or idempotent.
//
// # Why not the SDK's own transports
//
// In surrealdb.go v1.4.0 one of them ends the process on a TCP reset and never sees a FIN, the other stalls every call
// behind a slow consumer of live events, and with both a call in flight hangs for 30 s when the connection is lost.
// The types (record ids, datetimes, durations) are the SDK's. The CBOR codec is ours: the SDK's decoder silently drops what
// does not fit, reads NONE in a record's key as NULL, which is another record, and is several times slower.
//
// # Errors
//
// A statement that failed is a [*QueryError], whose Message is always the cause, never "not executed due to a failed
// transaction". Ask [IsConflict], [IsAlreadyExists], [IsUniqueViolation], [IsNotFound], [IsThrown], [IsAuth] and
// [IsUnreachable] rather than comparing texts.
package surreal
