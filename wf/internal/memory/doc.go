// Package memory keeps workflow instances in memory, under the rules of the database's functions
// fn::spky::wf::…: the same fences, leases, pauses, counts, and order of events. A test of package wf
// holds the two against each other.
//
// Its clock stands still until somebody moves it. What it keeps went through JSON, and what it gives
// out is a copy.
package memory
