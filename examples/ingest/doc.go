// Command ingest is an example of a backend whose work arrives as jobs.
//
// POST /documents/index splits a text into pages, counts its words and writes both to SurrealDB as
// rows of the user whose job it is. POST /documents/summary picks the sentences that say most of an
// indexed text, and fails now and then on purpose, so that retries can be seen. openapi.yml has the
// details, schema/ the tables, texts/ some texts to begin with.
//
// POST /materials starts the durable workflow INGEST (workflow.go): it counts a text's pages, converts them
// in batches of ten, sleeps, waits for somebody to review the result, and publishes it. progress/ is a
// user who watches it.
//
// It takes its configuration from the environment:
//
//	API_AUTH_TOKEN    the bearer token of every request; mandatory
//	HOST, PORT        where to listen; 127.0.0.1 and 3660
//	SPKY_DB_URL       the database; ws://127.0.0.1:8666
//	SPKY_DB_NS        its namespace; main
//	SPKY_DB_NAME      its name; main
//	SPKY_DB_USER      a system user who may write; root
//	SPKY_DB_PASS      his password; root
//	SPKY_OUTBOX_TABLE the table that the jobs come from, and that workflows run from; job
//	SPKY_BACKEND      its name on the instances of workflows, for operators
//
// What makes it a good backend of jobs, which run at least once: a job that runs again finds what it
// wrote before and writes the same rows; it says with its status code whether trying again makes
// sense; its health check fails while it can't work; and it finishes what it has begun when it is
// asked to stop.
package main
