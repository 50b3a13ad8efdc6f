// Package integration holds end-to-end tests and no code: real database, real HTTP, real processes,
// and what happens when each of them dies, freezes or loses its network.
//
// Nodes that a test kills, freezes or terminates are child processes: this package's test binary
// again, told by its environment what to be. Databases that a test kills are its own; all other tests
// share one server and have a database each.
package integration
