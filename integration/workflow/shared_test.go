package workflow_test

import "sp00ky.cloud/spky/integration/internal/durable"

// What the tests of both SDKs share, under the names that these tests give it.
type (
	conformance   = durable.Case
	op            = durable.Op
	creation      = durable.Creation
	opConfig      = durable.OpConfig
	behavior      = durable.Behavior
	action        = durable.Action
	awaited       = durable.Awaited
	expectation   = durable.Expectation
	expectedError = durable.ExpectedError
	instanceRow   = durable.InstanceRow
	errorRow      = durable.ErrorRow
)

var (
	check       = durable.Check
	logger      = durable.Logger
	instanceKey = durable.InstanceKey
)

// patience bounds the wait for something that must happen; it is never a measurement.
const patience = durable.Patience
