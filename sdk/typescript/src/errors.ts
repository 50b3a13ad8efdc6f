import type { StoredError } from "./protocol.js";

/** Names that errors are stored under, in all SDKs. */
export const NAME = {
	error: "Error",
	nonRetryable: "NonRetryableError",
	timeout: "WorkflowTimeoutError",
	fatal: "WorkflowFatalError",
	crash: "AttemptLostError",
	delay: "NonRetryableDelayError",
} as const;

/** An error that another attempt won't mend: the step that throws it fails at once. */
export class NonRetryableError extends Error {
	constructor(message: string, name: string = NAME.nonRetryable) {
		super(message);
		this.name = name;
	}
}

/** A step's attempt, or a wait for an event, that took too long. */
export class WorkflowTimeoutError extends Error {
	override name = NAME.timeout;
}

/** A call that can't work: an illegal name or option, a value that is no JSON or too large. Not retried. */
export class WorkflowFatalError extends Error {
	override name = NAME.fatal;
	/** What is wrong: name, config, too_large, not_json, step_limit. */
	readonly code: FatalCode;

	constructor(code: FatalCode, message: string) {
		super(message);
		this.code = code;
		Object.defineProperty(this, "code", { enumerable: false }); // no detail of the workflow's own
	}
}

export type FatalCode = "name" | "config" | "too_large" | "not_json" | "step_limit";

/** An operation on an instance that is not possible; code says why, status in which state it is. */
export class WorkflowError extends Error {
	override name = "WorkflowError";

	constructor(readonly code: WorkflowErrorCode, message: string, readonly status?: string) {
		super(`(${code}) ${message}`);
	}
}

export type WorkflowErrorCode =
	| "instance.not_found"
	| "instance.already_exists"
	| "instance.invalid_id"
	| "instance.invalid_state"
	| "instance.cannot_restart"
	| "instance.invalid_event_type"
	| "instance.invalid_owner"
	| "batch.invalid_size";

/** Bounds of what is kept of errors, in UTF-16 units: a step that fails again and again must not fill its row. */
const MAX = { message: 16 << 10, stack: 16 << 10, brief: 1 << 10, details: 16 << 10 } as const;

function clip(text: string, most: number): string {
	if (text.length <= most) return text;
	const cut = text.charCodeAt(most - 1) >= 0xd800 && text.charCodeAt(most - 1) < 0xdc00 ? most - 1 : most;
	return `${text.slice(0, cut)}… (${text.length} characters)`;
}

/** Whether no other attempt may follow. A message that begins with the name counts, as in Cloudflare's engine. */
export function isFinal(error: unknown): boolean {
	try {
		if (error instanceof NonRetryableError || error instanceof WorkflowFatalError) return true;
		if (!isErrorLike(error)) return false;
		const { name, message } = error;
		return name === NAME.nonRetryable || name === NAME.fatal || name === NAME.delay || text(message).startsWith(NAME.nonRetryable);
	} catch {
		return false; // it does not let itself be read
	}
}

/** An error as it comes: nobody keeps its parts from being anything. */
interface ErrorLike {
	name: unknown;
	message: unknown;
	stack?: unknown;
}

function isErrorLike(error: unknown): error is ErrorLike {
	return error instanceof Error || (typeof error === "object" && error !== null && typeof (error as ErrorLike).message === "string" && typeof (error as ErrorLike).name === "string");
}

/** What is kept of whatever was thrown. Throws nothing: a step that fails has to be stored as that. */
export function stored(error: unknown): StoredError {
	try {
		return read(error);
	} catch {
		return { name: NAME.error, message: "what was thrown can't be read: a getter of it throws, or it is a revoked proxy" };
	}
}

function read(error: unknown): StoredError {
	if (!isErrorLike(error)) return { name: NAME.error, message: clip(thrownText(error), MAX.message) };
	const kept: StoredError = { name: clip(nameOf(error), 256), message: clip(text(error.message), MAX.message) };
	if (typeof error.stack === "string") kept.stack = clip(error.stack, MAX.stack);
	const details = ownProperties(error);
	if (details) kept.details = details;
	return kept;
}

/** What an attempt keeps of its error; the step has it all. */
export function brief(error: StoredError): StoredError {
	return { name: error.name, message: clip(error.message, MAX.brief) };
}

function nameOf(error: ErrorLike): string {
	const name = text(error.name);
	if (name && name !== NAME.error) return name;
	return text((error.constructor as { name?: unknown } | undefined)?.name) || NAME.error;
}

/** A part of an error, which some libraries make an object, as a text. */
function text(part: unknown): string {
	return part === undefined ? "" : thrownText(part);
}

function thrownText(error: unknown): string {
	if (typeof error === "string") return error;
	try {
		return (typeof error === "object" ? JSON.stringify(error) : undefined) ?? String(error);
	} catch {
		return Object.prototype.toString.call(error);
	}
}

/** The error's own enumerable properties, as JSON has them; undefined where there are none or they are no JSON. */
function ownProperties(error: object): Record<string, unknown> | undefined {
	const { name: _name, message: _message, stack: _stack, ...own } = error as Record<string, unknown>;
	if (Object.keys(own).length === 0) return undefined;
	try {
		const json = JSON.stringify(own);
		return json.length > MAX.details || json === "{}" ? undefined : (JSON.parse(json) as Record<string, unknown>);
	} catch {
		return undefined;
	}
}

/**
 * The error that a step which failed for good throws into the workflow: built from what is stored, in the run in which
 * it failed as in every later one, so that the code can't tell them apart.
 */
export function loaded(kept: StoredError | undefined): Error {
	const { name, message, stack, details } = kept ?? { name: NAME.error, message: "the step failed and left no error" };
	const error = fresh(name, message);
	if (error.name !== name) Object.defineProperty(error, "name", { value: name, configurable: true, writable: true, enumerable: false });
	if (stack !== undefined) Object.defineProperty(error, "stack", { value: stack, configurable: true, writable: true });
	for (const [key, value] of Object.entries(details ?? {})) Object.defineProperty(error, key, { value, configurable: true, writable: true, enumerable: true });
	return error;
}

function fresh(name: string, message: string): Error {
	switch (name) {
		case NAME.nonRetryable:
			return new NonRetryableError(message);
		case NAME.timeout:
			return new WorkflowTimeoutError(message);
		default:
			return new Error(message);
	}
}
