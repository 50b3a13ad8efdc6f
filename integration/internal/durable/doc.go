// Package durable is what tests of the durable workflows of either SDK share: a database with the platform's
// schema, the rows of instances and steps as an operator sees them, the cases of the conformance table, and
// the judge who holds the one against the other.
package durable
