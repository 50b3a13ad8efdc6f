// Package schedule starts jobs and workflow instances by the clock: the `schedules` of the configuration.
//
// Guarantees:
//
//   - A tick starts what it is for once, over any number of nodes: the transaction that starts it moves the
//     schedule to its next tick, and does nothing where another has done so.
//   - The database's clock decides what is due. The clock of the node's machine is not looked at.
//   - Ticks that no node was there for are made up for by one, the first of them; it is started as soon as
//     a node is there. What fell into a pause is not made up for.
//   - A change of the clocks skips nothing and repeats nothing: a time of day that is skipped counts at the
//     end of the gap, one that comes twice counts the first time. Where the hour is *, real time counts.
package schedule
