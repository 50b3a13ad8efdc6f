// Package admin is what operators and agents do to jobs and workflow instances, as plain Go: the
// command line, the admin API and the MCP server are thin shells on it, and none of them has rules of
// its own.
//
// [Durable] lists workflows and their instances, looks at one of them step by step, creates, pauses,
// resumes, restarts, terminates and retries instances, sends them events, and follows one while it
// runs. It works on the database alone: with every node and backend down it answers the same, and what
// it writes is carried out once they are back.
//
// # Errors
//
//	*InputError   what was asked for is malformed; nothing was sent
//	ErrNotFound   there is no such instance, or no such workflow
//	ErrExists     the id of a new instance is used already
//	*StateError   the state of the instance does not allow it; names the state and what it does allow
//
// Anything else is the database's; package surreal tells those apart.
package admin
