// Command progress is a user of the example: it signs in as one, asks for a material, and shows how the
// workflow that makes it comes along, until it has ended.
//
//	go run ./examples/ingest/progress -document gettysburg
//	go run ./examples/ingest/progress -email ann@example.com -password 'correct horse'
//
// What it shows comes from two LIVE SELECTs on the platform's tables, of which a user sees the rows of his
// own instances, and from nothing else: there is no server between it and the database, and nothing polls.
// A browser does the same with the JavaScript SDK. Only after a lost connection, and at the start, it
// reads once what it could not have heard.
//
// Without -document it shows the user's newest instance, or waits for one.
package main
