// Package proc runs other programs so that none of them outlives this one.
//
// A [Child] runs in a process group of its own: what it starts ends with it, and
// the terminal's Ctrl-C does not reach it before its owner wants that. A [Guard]
// is a small process beside this one that knows the groups and ends them when
// this process is gone, however it went, kill -9 included. On Linux the kernel
// tells the children as well.
//
// The order in which a group ends: SIGTERM to all of it, a grace, SIGKILL.
package proc
