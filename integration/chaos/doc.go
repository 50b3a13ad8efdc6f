// Command chaos runs jobs, schedules, DAGs, and durable workflows of both SDKs on a whole installation, with operators at
// its admin API, while it kills, freezes and cuts off every part of it, and then checks whether anything was lost, done
// twice, or told wrongly:
//
//	go run ./integration/chaos --minutes 5 --seed 42
//
// A seed stands for the whole plan: what is created, what fails, when. docs/reliability.md has the rules that are
// checked, and what came of it.
//
// Of its packages, plan draws the plan, world is the installation and the faults, backend its Go backends, load
// creates the work, journal is what processes note, and check finds what is wrong.
package main
