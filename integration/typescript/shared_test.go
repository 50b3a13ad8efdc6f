package typescript_test

import "sp00ky.cloud/spky/integration/internal/durable"

// What the tests of both SDKs share, under the names that these tests give it.
type (
	conformance = durable.Case
	creation    = durable.Creation
	table       = durable.Table
	action      = durable.Action
	awaited     = durable.Awaited
	instanceRow = durable.InstanceRow
	stepRow     = durable.StepRow
)

var (
	check       = durable.Check
	logger      = durable.Logger
	instanceKey = durable.InstanceKey
)
