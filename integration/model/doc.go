// Package model holds the claims of jobs and the runs of workflow instances against small models of
// them, in every state that a bounded history can reach.
//
// [Jobs] is one outbox row and two nodes: who holds it, under which epoch, whether its lease has run
// out, whether the nodes are alive, how often it failed, whether its cancellation was asked for.
// [Instances] is one instance and two runs of it: its status, whose fence is the present one, its
// lease, a pause that is asked for, its job, one step, one event. Both are plain functions from a state
// and an action to the next state and the answer. Time is an action too: a lease runs out, a wait ends.
//
// [Explore] finds every state that is reachable, and tries every action in each, those that must be
// refused included. [Graph.Walks] joins all of these transitions into walks from the beginning. The
// tests take each walk on a row of its own in a real database, by the statements and functions that the
// runner and the SDKs use, and compare every answer and, after each action, the row with the model. So
// each transition is tried on the real thing at least once, and a failure names the shortest way to it.
//
// What concurrent calls do, which the walks can't show, is checked by recording what several connections
// ask and are told, and looking for an order of the calls that the model of a row allows
// (linearizability), by package porcupine.
//
// Both checks are themselves checked: a guard taken out of the database's functions must be found.
//
// Outside the models: how long backoff and pauses are, and what errors say (unit tests); more than
// [MostRetries] failed attempts, more than one step and one event at a time, parallel steps, statement
// blocks (integration/workflow, whose random workflows have all of them); what nodes and backends do
// with the answers (integration, integration/workflow); lost connections and crashes of the database
// (integration). An action that would lead beyond a bound is not taken.
package model
