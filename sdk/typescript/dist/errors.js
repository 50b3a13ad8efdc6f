/** Names that errors are stored under, in all SDKs. */
export const NAME = {
    error: "Error",
    nonRetryable: "NonRetryableError",
    timeout: "WorkflowTimeoutError",
    fatal: "WorkflowFatalError",
    crash: "AttemptLostError",
    delay: "NonRetryableDelayError",
};
/** An error that another attempt won't mend: the step that throws it fails at once. */
export class NonRetryableError extends Error {
    constructor(message, name = NAME.nonRetryable) {
        super(message);
        this.name = name;
    }
}
/** A step's attempt, or a wait for an event, that took too long. */
export class WorkflowTimeoutError extends Error {
    name = NAME.timeout;
}
/** A call that can't work: an illegal name or option, a value that is no JSON or too large. Not retried. */
export class WorkflowFatalError extends Error {
    name = NAME.fatal;
    /** What is wrong: name, config, too_large, not_json, step_limit. */
    code;
    constructor(code, message) {
        super(message);
        this.code = code;
        Object.defineProperty(this, "code", { enumerable: false }); // no detail of the workflow's own
    }
}
/** An operation on an instance that is not possible; code says why, status in which state it is. */
export class WorkflowError extends Error {
    code;
    status;
    name = "WorkflowError";
    constructor(code, message, status) {
        super(`(${code}) ${message}`);
        this.code = code;
        this.status = status;
    }
}
/** Bounds of what is kept of errors, in UTF-16 units: a step that fails again and again must not fill its row. */
const MAX = { message: 16 << 10, stack: 16 << 10, brief: 1 << 10, details: 16 << 10 };
function clip(text, most) {
    if (text.length <= most)
        return text;
    const cut = text.charCodeAt(most - 1) >= 0xd800 && text.charCodeAt(most - 1) < 0xdc00 ? most - 1 : most;
    return `${text.slice(0, cut)}… (${text.length} characters)`;
}
/** Whether no other attempt may follow. A message that begins with the name counts, as in Cloudflare's engine. */
export function isFinal(error) {
    try {
        if (error instanceof NonRetryableError || error instanceof WorkflowFatalError)
            return true;
        if (!isErrorLike(error))
            return false;
        const { name, message } = error;
        return name === NAME.nonRetryable || name === NAME.fatal || name === NAME.delay || text(message).startsWith(NAME.nonRetryable);
    }
    catch {
        return false; // it does not let itself be read
    }
}
function isErrorLike(error) {
    return error instanceof Error || (typeof error === "object" && error !== null && typeof error.message === "string" && typeof error.name === "string");
}
/** What is kept of whatever was thrown. Throws nothing: a step that fails has to be stored as that. */
export function stored(error) {
    try {
        return read(error);
    }
    catch {
        return { name: NAME.error, message: "what was thrown can't be read: a getter of it throws, or it is a revoked proxy" };
    }
}
function read(error) {
    if (!isErrorLike(error))
        return { name: NAME.error, message: clip(thrownText(error), MAX.message) };
    const kept = { name: clip(nameOf(error), 256), message: clip(text(error.message), MAX.message) };
    if (typeof error.stack === "string")
        kept.stack = clip(error.stack, MAX.stack);
    const details = ownProperties(error);
    if (details)
        kept.details = details;
    return kept;
}
/** What an attempt keeps of its error; the step has it all. */
export function brief(error) {
    return { name: error.name, message: clip(error.message, MAX.brief) };
}
function nameOf(error) {
    const name = text(error.name);
    if (name && name !== NAME.error)
        return name;
    return text(error.constructor?.name) || NAME.error;
}
/** A part of an error, which some libraries make an object, as a text. */
function text(part) {
    return part === undefined ? "" : thrownText(part);
}
function thrownText(error) {
    if (typeof error === "string")
        return error;
    try {
        return (typeof error === "object" ? JSON.stringify(error) : undefined) ?? String(error);
    }
    catch {
        return Object.prototype.toString.call(error);
    }
}
/** The error's own enumerable properties, as JSON has them; undefined where there are none or they are no JSON. */
function ownProperties(error) {
    const { name: _name, message: _message, stack: _stack, ...own } = error;
    if (Object.keys(own).length === 0)
        return undefined;
    try {
        const json = JSON.stringify(own);
        return json.length > MAX.details || json === "{}" ? undefined : JSON.parse(json);
    }
    catch {
        return undefined;
    }
}
/**
 * The error that a step which failed for good throws into the workflow: built from what is stored, in the run in which
 * it failed as in every later one, so that the code can't tell them apart.
 */
export function loaded(kept) {
    const { name, message, stack, details } = kept ?? { name: NAME.error, message: "the step failed and left no error" };
    const error = fresh(name, message);
    if (error.name !== name)
        Object.defineProperty(error, "name", { value: name, configurable: true, writable: true, enumerable: false });
    if (stack !== undefined)
        Object.defineProperty(error, "stack", { value: stack, configurable: true, writable: true });
    for (const [key, value] of Object.entries(details ?? {}))
        Object.defineProperty(error, key, { value, configurable: true, writable: true, enumerable: true });
    return error;
}
function fresh(name, message) {
    switch (name) {
        case NAME.nonRetryable:
            return new NonRetryableError(message);
        case NAME.timeout:
            return new WorkflowTimeoutError(message);
        default:
            return new Error(message);
    }
}
