// Package devdb starts the embedded development database.
//
// It is SurrealDB's real engine (3.0.2, on rocksdb), which npm ships as a native module, behind a small Node program that
// speaks SurrealDB's own WebSocket RPC and HTTP. Any SurrealDB client can use it: the Go and JavaScript SDKs, Surrealist,
// curl. It is for development and tests; production runs a SurrealDB server.
//
//	db, err := devdb.Start(ctx, devdb.Config{Listen: "127.0.0.1:0", Progress: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	connect(db.Endpoint(), db.User(), db.Password())
//
// Tests take a database of their own from package devdbtest.
//
// # What it needs
//
// Node.js 20 or newer with npm. The program is unpacked once into spky's directory in the user's cache (SPKY_CACHE_DIR
// names another) and its two packages are installed there from a lock file: 70 MB over the network, 50 MB on disk. Later
// starts need neither network nor npm. Any number of processes may start at once: one installs, the others wait. An
// interrupted installation is done anew; one of another version that nobody has used for 30 days is removed. Without Node
// or npm, [Start] returns a [*MissingError], which names the three ways to get a database.
//
// # What it guarantees
//
//   - Start returns when clients can connect, and with one line that says the remedy when they cannot ([StartError]).
//   - A write that was acknowledged is there after a kill -9 of the database. [Config].Sync makes it wait for the disk,
//     too, so that it also outlives the machine; that costs half of the throughput.
//   - It ends with the process that started it, also when that is killed. A Ctrl-C in the terminal does not reach it, so
//     that whoever uses it can finish first. Close ends it cleanly.
//   - It listens on loopback only, and its password is not on a command line.
//   - A session that has not signed in is refused everything but use, version, ping, signin, signup, authenticate and
//     info. Who a session is, the engine says: after each sign-in, failed or not, invalidate or reset, it is asked again.
//     An anonymous use creates nothing; it takes effect with the sign-in.
//   - A client can name no session and no transaction but those of its own connection. Notifications go to the session
//     that asked for them.
//   - Requests of one session run side by side, but what changes the session (use, signin, signup, authenticate, refresh,
//     invalidate, reset, let, unset) waits for what came before it and holds back what comes after it.
//   - Values pass through byte for byte, in both directions.
//   - No message a client sends stops the database: garbage gets an error or a closed connection. Messages may have
//     128 MiB. A client that has 64 MiB of notifications unread is dropped; one that does not read its answers is not
//     read from.
//
// # Where it differs from a server
//
//   - Only CBOR is spoken over WebSocket and /rpc; /sql answers in JSON or CBOR. There is no /import, /export, /key or
//     GraphQL.
//   - It has one node and no background tasks: no changefeed garbage collection, no asynchronous events, no expiry of the
//     LIVE queries of a node that was killed. Those are evaluated at each write to their table (about 0.1 ms) until the
//     data directory is made anew; after a clean end there are none.
//   - There is no --allow-guests. Authentication is always off in the embedded engine, so to it a session that has not signed
//     in is root, not a guest, whatever its capabilities say.
//   - It may do what a server may when nothing is said: functions yes; network access, scripting and experimental features
//     no.
//   - As with a server, whoever can reach it and knows the password is root, and a page of any origin that runs in a
//     browser on this machine can reach it. Take another password than the default where that matters.
//   - As in a server of this version, a SurrealQL function that calls itself without end overflows the engine's stack and
//     ends the process. Some 10,000 calls deep are fine.
package devdb
