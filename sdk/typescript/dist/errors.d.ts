import type { StoredError } from "./protocol.js";
/** Names that errors are stored under, in all SDKs. */
export declare const NAME: {
    readonly error: "Error";
    readonly nonRetryable: "NonRetryableError";
    readonly timeout: "WorkflowTimeoutError";
    readonly fatal: "WorkflowFatalError";
    readonly crash: "AttemptLostError";
    readonly delay: "NonRetryableDelayError";
};
/** An error that another attempt won't mend: the step that throws it fails at once. */
export declare class NonRetryableError extends Error {
    constructor(message: string, name?: string);
}
/** A step's attempt, or a wait for an event, that took too long. */
export declare class WorkflowTimeoutError extends Error {
    name: "WorkflowTimeoutError";
}
/** A call that can't work: an illegal name or option, a value that is no JSON or too large. Not retried. */
export declare class WorkflowFatalError extends Error {
    name: "WorkflowFatalError";
    /** What is wrong: name, config, too_large, not_json, step_limit. */
    readonly code: FatalCode;
    constructor(code: FatalCode, message: string);
}
export type FatalCode = "name" | "config" | "too_large" | "not_json" | "step_limit";
/** An operation on an instance that is not possible; code says why, status in which state it is. */
export declare class WorkflowError extends Error {
    readonly code: WorkflowErrorCode;
    readonly status?: string | undefined;
    name: string;
    constructor(code: WorkflowErrorCode, message: string, status?: string | undefined);
}
export type WorkflowErrorCode = "instance.not_found" | "instance.already_exists" | "instance.invalid_id" | "instance.invalid_state" | "instance.cannot_restart" | "instance.invalid_event_type" | "instance.invalid_owner" | "batch.invalid_size";
/** Whether no other attempt may follow. A message that begins with the name counts, as in Cloudflare's engine. */
export declare function isFinal(error: unknown): boolean;
/** What is kept of whatever was thrown. Throws nothing: a step that fails has to be stored as that. */
export declare function stored(error: unknown): StoredError;
/** What an attempt keeps of its error; the step has it all. */
export declare function brief(error: StoredError): StoredError;
/**
 * The error that a step which failed for good throws into the workflow: built from what is stored, in the run in which
 * it failed as in every later one, so that the code can't tell them apart.
 */
export declare function loaded(kept: StoredError | undefined): Error;
