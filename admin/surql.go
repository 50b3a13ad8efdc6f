package admin

import _ "embed"

// Statements with their parameters bound; {{n}} numbers the parts of a statement that is made of many.
var (
	//go:embed surql/bindings.surql
	bindingsStatement string
	//go:embed surql/bindings_between.surql
	bindingsBetweenPart string
	//go:embed surql/state.surql
	statePart string
	//go:embed surql/state_same.surql
	stateSamePart string
	//go:embed surql/owner.surql
	ownerStatement string
	//go:embed surql/owner_same.surql
	ownerSameStatement string
	//go:embed surql/stalled.surql
	stalledStatement string
	//go:embed surql/prefix.surql
	prefixStatement string
	//go:embed surql/summaries.surql
	summariesStatement string
	//go:embed surql/instance.surql
	instanceStatement string
	//go:embed surql/steps.surql
	stepsStatement string
	//go:embed surql/steps_rest.surql
	restStepsStatement string
	//go:embed surql/steps_bare.surql
	bareStepsStatement string
	//go:embed surql/changed.surql
	changedStatement string
	//go:embed surql/events.surql
	eventsStatement string
	//go:embed surql/events_rest.surql
	restEventsStatement string
	//go:embed surql/count.surql
	countStatement string
	//go:embed surql/live_instance.surql
	liveInstanceStatement string
	//go:embed surql/live_steps.surql
	liveStepsStatement string
)
