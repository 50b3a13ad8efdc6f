// Package wftest runs durable workflows in unit tests: in memory, without a database, and in no time.
//
//	func TestIngest(t *testing.T) {
//		run := wftest.Run(t, Ingest, Params{Document: "a"},
//			wftest.Fail("convert", 1, errors.New("busy")),
//			wftest.Event("reviewed", Review{OK: true}))
//		var out Summary
//		run.Output(&out)
//		if run.Attempts("convert") != 2 {
//			t.Errorf("the conversion was not tried again:\n%s", run)
//		}
//	}
//
// # Guarantees
//
//   - It is the engine of package wf that runs the workflow; only the database and the clock are
//     replaced. The memory in the database's place keeps to its rules: a test of this module makes
//     the same calls to both and compares.
//   - Replays are forced. A run ends with the first step that it executes, or with those that are
//     parallel; the next run begins the code from the top, and gets from the store, through JSON,
//     what earlier runs did. No run sees what a function of a step returned in it. A value that JSON
//     loses, a variable set inside a step, or code that decides by chance is thus found by any test.
//     [WithoutReplays] turns it off.
//   - Nondeterminism fails the test: a step that runs although stored steps before it were not
//     reached, or an end that leaves some out. A workflow that has ended is replayed three more
//     times over its stored steps; it has to come to the same result without executing a step.
//   - The clock stands still while code runs and jumps to the next thing that is due: the end of a
//     sleep, of a wait, of a pause between attempts, or an event. Forty days take no time; steps
//     take none either. The workflow sees the clock in its event's Timestamp, in the timestamps of events
//     received, and through [Clock]; time.Now is the wall's, unless the test runs within a bubble of
//     testing/synctest.
//   - The same workflow under the same options gives the same log ([Result.String]).
//   - A workflow that never ends, or hangs outside its steps, fails the test and says where it was.
//
// # Time within a step
//
// A step's function runs on the wall's clock: one that sleeps for a second takes a second. To see a
// step time out, either say so with [TimeOut], or run the test within a bubble of testing/synctest,
// where sleeps, deadlines and timeouts inside steps are over at once.
//
// # Crashes
//
// [Crash] kills the process after the function of a step has done its work and before the result is stored.
// The attempt counts and is followed by another, as in production for every step that takes longer
// than a moment. [Terminate], [Pause] and [Restart] do to the instance what its handle's methods do.
package wftest
