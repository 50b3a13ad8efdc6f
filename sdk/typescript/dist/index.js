/**
 * Durable workflows beside SurrealDB, with the API of Cloudflare Workflows. docs/workflows-typescript.md is the guide.
 *
 * The package loads on Node.js 20 and later and on workerd, and has no dependencies.
 *
 * @packageDocumentation
 */
export { withWorkflows } from "./app.js";
export { parseDuration } from "./duration.js";
export { NonRetryableError, WorkflowError, WorkflowFatalError, WorkflowTimeoutError } from "./errors.js";
export { WorkflowEntrypoint, WorkflowStep, } from "./types.js";
