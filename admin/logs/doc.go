// Package logs keeps the newest lines of a process's log in memory, for those who look at it from
// outside: the admin API, the command line, agents.
//
// A [Ring] holds a bounded number of lines, each cut to a bounded length, whatever is logged. Writing
// a line never waits for a reader; a reader that is too slow misses lines, and sees it by a gap in
// their numbers.
package logs
