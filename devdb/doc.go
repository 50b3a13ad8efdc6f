// Package devdb starts the embedded development database.
//
// It is SurrealDB's real engine (3.0.2, on rocksdb), which npm ships as a native module, behind a small Node program that
// speaks SurrealDB's own WebSocket RPC and HTTP. Any SurrealDB client can use it. It is for development and tests;
// production runs a SurrealDB server.
//
//	db, err := devdb.Start(ctx, devdb.Config{Listen: "127.0.0.1:0"})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	connect(db.Endpoint(), db.User(), db.Password())
//
// # What it needs
//
// Node.js 20 or newer with npm. The host program is unpacked once into spky's directory in the user's cache
// (SPKY_CACHE_DIR overrides it) and its two packages are installed there from a lock file; later starts need no network.
// Any number of processes may start at once: one installs, the others wait. Without Node, [Start] returns a
// [*MissingError] that names the three ways to get a database.
package devdb
