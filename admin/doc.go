// Package admin is what operators and agents do to jobs and workflow instances, as plain Go: the
// command line, the admin API, the MCP server and the dashboard are thin shells on it, and none of them
// has rules of its own.
//
//	Durable    workflows and their instances: list, look at, create, pause, resume, restart, terminate, retry, send events, watch
//	Jobs       the rows of the outbox tables: list, look at, create, cancel, retry, clear, watch
//	Cluster    the nodes and what they tell of the backends; everything at one glance
//	Explainer  why a job or an instance does not run, and what to do
//	Tokens     who may use the admin API
//	Audit      who did what
//
// They work on the database alone: with every node and backend down they answer the same, and what they
// write is carried out once those are back.
//
// # Guarantees
//
//   - A list is newest first and keyset paged: a page costs the same at the beginning and at the end, and
//     no statement of it sorts or scans a table. What is created meanwhile shows on no later page, what is
//     deleted is missing, and nothing is shown twice or left out.
//   - Lists, changes and overviews hold no payload, result, params or output. Where those are shown, what
//     the configuration redacts is not, nor in texts of errors that repeat it.
//   - Whatever is changed leaves one row in the audit, in the same transaction (Jobs.Clear: from before it
//     begins), with the actor of the context (see [WithActor]); what was refused or failed leaves one too.
//   - Of verbs that race, with each other or with what a node does, one wins, and every caller is told
//     the state that he found.
//   - A job is a row of a configured outbox table. Ids of other tables are not found, whatever they hold.
//   - What a user wrote into a row, in whatever column, keeps no other row from being shown.
//
// # Errors
//
//	*InputError   what was asked for is malformed; nothing was sent
//	ErrNotFound   there is no such job, instance, workflow or token
//	ErrExists     the id of a new job or instance is used already
//	*StateError   the state of the job or instance does not allow it; names the state and what it does allow
//	ErrToken      a token that is unknown, expired or revoked
//
// Anything else is the database's; package surreal tells those apart.
package admin
