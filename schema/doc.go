// Package schema holds every platform object of the database, as SurrealQL, and brings a database
// up to it.
//
// There are two kinds of objects. Platform tables (prefix _00_) and functions (fn::spky::…) belong
// to the platform: [Apply] defines them, [Verify] says what differs. Outbox tables belong to the
// user: [PrepareOutbox] only adds the columns and the index that are missing and never changes or
// drops one that exists.
//
// Guarantees:
//
//   - Apply is idempotent and safe to run from any number of processes at once, on an empty
//     database too: each applies the same statements in one transaction, which is repeated on a
//     conflict.
//   - A database that a newer version has already moved on is left alone.
//   - PrepareOutbox needs the right to define fields only when something is missing. Where it is
//     refused, the error carries the statements that somebody else has to run.
package schema
