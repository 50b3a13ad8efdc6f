// Package client is the admin API over HTTP, with the methods of package admin: what is written for
// the operations themselves works through it unchanged.
//
//	admin.Durable   Client.Durable
//	admin.Jobs      Client.Jobs
//	…
//
// # Errors
//
// They are those of package admin: [admin.ErrNotFound], [admin.ErrExists], *[admin.StateError],
// *[admin.InputError], with the server's words. What only a server can say (not signed in, not
// allowed, too many attempts, its database is away) is an *[Error]; a server that cannot be reached
// is an *[UnreachableError].
package client
