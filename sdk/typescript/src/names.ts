import { WorkflowError, WorkflowFatalError } from "./errors.js";

const INSTANCE_ID = /^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,99}$/;
/** What no instance is called: on command lines it stands for a workflow's newest one. */
const LATEST = "latest";
const EVENT_TYPE = INSTANCE_ID;
const BINDING = /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/;
const TABLE = /^[a-z][a-z0-9_]{0,63}$/;

/** Most UTF-16 units of a step's name. */
const MAX_STEP_NAME = 256;

/** Refuses the name of a step that can't be one: over 256 characters, or with control characters in it. */
export function checkStepName(name: string): void {
	if (typeof name !== "string") throw new WorkflowFatalError("name", `step name ${String(name)} is no text`);
	if (name.length > MAX_STEP_NAME) throw new WorkflowFatalError("name", `step name "${name.slice(0, 40)}…" is longer than ${MAX_STEP_NAME} characters`);
	if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) throw new WorkflowFatalError("name", `step name ${JSON.stringify(name)} has control characters`);
	if (/[\ud800-\udfff]/u.test(name)) throw new WorkflowFatalError("name", `step name ${JSON.stringify(name)} is not Unicode`);
}

export function isInstanceId(id: unknown): id is string {
	return typeof id === "string" && INSTANCE_ID.test(id);
}

export function checkInstanceId(id: string): void {
	if (!isInstanceId(id)) throw new WorkflowError("instance.invalid_id", `instance id ${JSON.stringify(id)}: 1 to 100 letters, digits, _ and -, not starting with -`);
	if (id === LATEST) throw new WorkflowError("instance.invalid_id", `instance id "${id}" stands for a workflow's newest instance; choose another`);
}

export function isEventType(type: unknown): type is string {
	return typeof type === "string" && EVENT_TYPE.test(type);
}

/** What an event's type has to look like, for messages. */
export const eventTypeForm = "1 to 100 letters, digits, _ and -, not starting with -";

/** Refuses a binding of another form than the routes have. */
export function checkBinding(binding: string): void {
	if (!BINDING.test(binding)) throw new TypeError(`workflow "${binding}": a binding is a letter or _ followed by up to 63 letters, digits and _`);
}

export function checkTable(table: string): void {
	if (!TABLE.test(table)) throw new TypeError(`outbox table "${table}": want lower-case letters, digits and _, starting with a letter`);
}
