package admin

// CauseCodes are all codes of causes: those of jobs, those of nodes and backends, those of instances, those of
// schedules and of runs of DAGs.
func CauseCodes() []string {
	return []string{
		"not_found", "unknown_status", "unscheduled", "not_due", "backing_off", "taken_back", "unreached",
		"due", "overdue", "behind_others", "slots_full", "partition_full",
		"running", "cancel_requested", "no_holder", "holder_gone", "lease_expired",
		"succeeded", "cancelled", "failed", "refused", "lost_too_often", "not_retried", "attempts_exhausted",

		"no_node", "no_node_for_table", "nodes_draining", "no_backend", "circuit_open", "table_refuses",
		"binding_not_registered", "instance_unknown", "backend_refuses_token",

		"sleeping", "waiting_for_event", "retrying_step", "waiting", "paused", "pause_requested",
		"run_lost", "run_silent", "no_job", "job_over", "stalled", "code_misfit", "code_changed", "workflow_not_declared",
		"complete", "terminated", "errored", "step_errored",

		"retiring", "retired", "disabled", "no_clock", "never_due", "tick_refused", "tick_overdue", "tick_skipped", "run_going", "last_run_failed", "in_quarantine",
		"step_of_run", "step_dispatched", "steps_ready", "steps_blocked", "step_over", "stopping", "run_failed", "run_killed",
	}
}
