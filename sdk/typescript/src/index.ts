/**
 * Durable workflows beside SurrealDB, with the API of Cloudflare Workflows. docs/workflows-typescript.md is the guide.
 *
 * The package loads on Node.js 20 and later and on workerd, and has no dependencies.
 *
 * @packageDocumentation
 */

export { type App, type FetchFunction, type WorkflowApp, type WorkflowBindings, withWorkflows } from "./app.js";
export { parseDuration } from "./duration.js";
export type { WorkflowClass, WorkflowDefinition, WorkflowSettings, WorkflowsOptions } from "./engine.js";
export { type FatalCode, NonRetryableError, WorkflowError, type WorkflowErrorCode, WorkflowFatalError, WorkflowTimeoutError } from "./errors.js";
export {
	type InstanceStatus,
	type Workflow,
	type WorkflowBackoff,
	type WorkflowDelayDuration,
	type WorkflowDelayFunction,
	type WorkflowDuration,
	WorkflowEntrypoint,
	type WorkflowEvent,
	type WorkflowExecutionContext,
	type WorkflowInstance,
	type WorkflowInstanceCreateOptions,
	type WorkflowInstanceRestartFrom,
	type WorkflowInstanceRestartOptions,
	type WorkflowLogger,
	type WorkflowOwner,
	type WorkflowSleepDuration,
	type WorkflowStatus,
	WorkflowStep,
	type WorkflowStepConfig,
	type WorkflowStepContext,
	type WorkflowStepEvent,
	type WorkflowTimeoutDuration,
	type WorkflowTrace,
} from "./types.js";
