package admin

import (
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/wf"
)

// The states, for packages that may import none but this one.
type (
	// InstanceStatus is the state of an instance.
	InstanceStatus = wf.Status
	// StepRef names a step of an instance.
	StepRef = wf.StepRef
	// JobStatus is the state of a job.
	JobStatus = outbox.Status
)

// JobStatuses are the states of a job, in the order of its life.
func JobStatuses() []JobStatus { return outbox.Statuses() }
