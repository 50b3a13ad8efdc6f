import type { Database } from "./database.js";
import { WorkflowError, WorkflowFatalError } from "./errors.js";
import { encodeValue } from "./json.js";
import { checkInstanceId, checkStepName, eventTypeForm, isEventType, isInstanceId } from "./names.js";
import type { Store } from "./store.js";
import { traceparentFor } from "./trace.js";
import type {
	InstanceStatus, Workflow, WorkflowInstance, WorkflowInstanceCreateOptions, WorkflowInstanceRestartFrom, WorkflowInstanceRestartOptions, WorkflowOwner, WorkflowStatus, WorkflowTrace,
} from "./types.js";
import { type DateTime, RecordId, parseRecordId, plain } from "./values.js";

const MAX_BATCH = 100;

/** What new instances of a backend have in common. */
export interface Home {
	db: Database;
	store: Store;
	table: string;
	backend: string | undefined;
	version: string | undefined;
	/** What the program is doing, where it says so. */
	trace: () => WorkflowTrace | undefined;
}

interface Row {
	binding: string;
	status: WorkflowStatus;
	output?: unknown;
	error?: { name: string; message: string };
	pause_requested?: DateTime;
}

/** What the database answers to a verb: the status found, and why not where that does not say it. */
interface Answer {
	ok: boolean;
	status?: string;
	reason?: string;
}

/** An instance to be written, and about how large it is. */
interface New {
	row: { id: string } & Record<string, unknown>;
	size: number;
}

/** The instances of one workflow. home is asked at each call, so that a binding costs nothing until it is used. */
export class Binding<Params = unknown> implements Workflow<Params> {
	readonly #home: () => Home;
	readonly #name: string;

	constructor(home: () => Home, name: string) {
		this.#home = home;
		this.#name = name;
	}

	async get(id: string): Promise<WorkflowInstance> {
		const row = isInstanceId(id) ? await read(this.#home().db, id) : undefined;
		if (row?.binding !== this.#name) throw notFound(id);
		return new Instance(this.#home, id);
	}

	async create(options: WorkflowInstanceCreateOptions<Params> = {}): Promise<WorkflowInstance> {
		const one = this.#row(options);
		const [made] = await this.#create([one]);
		if (!made) throw new WorkflowError("instance.already_exists", `instance already exists: "${one.row.id}"; ids are used once, across all workflows`);
		return made;
	}

	async createBatch(batch: WorkflowInstanceCreateOptions<Params>[]): Promise<WorkflowInstance[]> {
		if (!Array.isArray(batch) || batch.length === 0 || batch.length > MAX_BATCH) {
			throw new WorkflowError("batch.invalid_size", `createBatch should have at least 1 instance and at most ${MAX_BATCH}, not ${batch?.length}`);
		}
		return this.#create(batch.map((options) => this.#row(options)));
	}

	async #create(news: New[]): Promise<WorkflowInstance[]> {
		const made = await this.#home().store.create(news.map(({ row }) => row), news.reduce((sum, { size }) => sum + size, 0));
		return news.filter((_, i) => made[i]).map(({ row }) => new Instance(this.#home, row.id));
	}

	#row(options: WorkflowInstanceCreateOptions<Params>): New {
		const { id = crypto.randomUUID(), params, owner, trace, ...unknown } = options;
		refuseOptions("create", unknown);
		checkInstanceId(id);
		const { table, backend, version, trace: active } = this.#home();
		const { value, size } = encodeValue("params", params);
		const traceparent = traceparentFor(trace, active);
		return { size, row: { id, binding: this.#name, params: value, owner: ownerId(owner), backend, job_table: table, version, traceparent } };
	}
}

function ownerId(owner: WorkflowOwner | undefined): RecordId | undefined {
	if (owner === undefined) return undefined;
	const id = typeof owner === "string" ? parseRecordId(owner) : recordOf(owner);
	if (!id) throw new WorkflowError("instance.invalid_owner", `owner ${JSON.stringify(owner)} is no record id; write for instance "user:abc", or "user:⟨a-b⟩"`);
	return id;
}

/** The record that an object names; nothing where it lacks a table or a key. */
function recordOf(owner: Exclude<WorkflowOwner, string>): RecordId | undefined {
	const { table, id } = owner ?? {};
	const missing = table === undefined || table === null || id === undefined || id === null;
	return missing ? undefined : new RecordId(String(table), id);
}

class Instance implements WorkflowInstance {
	readonly #home: () => Home;
	readonly id: string;

	constructor(home: () => Home, id: string) {
		this.#home = home;
		this.id = id;
	}

	async status(): Promise<InstanceStatus> {
		const row = await read(this.#home().db, this.id);
		if (!row) throw notFound(this.id);
		const { name, message } = row.error ?? {};
		return {
			status: row.status === "running" && row.pause_requested ? "waitingForPause" : row.status,
			output: row.status === "complete" ? (plain(row.output) ?? null) : null,
			...(name !== undefined && { error: { name, message: message ?? "" } }),
		};
	}

	pause(): Promise<void> {
		return this.#call("pause", "RETURN fn::spky::wf::pause($id)");
	}

	resume(): Promise<void> {
		return this.#call("resume", "RETURN fn::spky::wf::resume($id)");
	}

	async terminate(...options: unknown[]): Promise<void> {
		refuseOptions("terminate", options[0]);
		return this.#call("terminate", "RETURN fn::spky::wf::terminate($id)");
	}

	async restart(options?: WorkflowInstanceRestartOptions): Promise<void> {
		const { from, ...unknown } = options ?? {};
		refuseOptions("restart", unknown);
		if (from === undefined) return this.#call("restart", "RETURN fn::spky::wf::restart($id)");
		checkRestartFrom(from);
		const { name, count, type } = from;
		const answer = await this.#ask("RETURN fn::spky::wf::restart($id, $from)", { from: { name, count, type } });
		if (answer.reason === "step_not_found") throw new WorkflowError("instance.cannot_restart", `Step "${name}" not found in execution history`);
		this.#heard("restart", answer);
	}

	retry(): Promise<void> {
		return this.#call("retry", "RETURN fn::spky::wf::retry($id)");
	}

	async sendEvent({ type, payload }: { type: string; payload?: unknown }): Promise<void> {
		if (!isEventType(type)) throw new WorkflowError("instance.invalid_event_type", `event type ${JSON.stringify(type)}: ${eventTypeForm}`);
		const { value } = encodeValue(`payload of event ${type}`, payload);
		await this.#call("send an event to", "RETURN fn::spky::wf::send_event($id, $type, $payload)", { type, payload: value ?? null });
	}

	async #call(verb: string, call: string, vars: Record<string, unknown> = {}): Promise<void> {
		this.#heard(verb, await this.#ask(call, vars));
	}

	#ask(call: string, vars: Record<string, unknown>): Promise<Answer> {
		return this.#home().db.query<Answer>(call, { id: this.id, ...vars });
	}

	#heard(verb: string, answer: Answer): void {
		if (answer.ok) return;
		if (answer.status === undefined || answer.status === null) throw notFound(this.id);
		throw new WorkflowError("instance.invalid_state", `cannot ${verb} the instance: it is ${answer.status}`, answer.status);
	}
}

const STEP_TYPES: readonly unknown[] = ["do", "sleep", "waitForEvent"];

/** Refuses what no step is called. */
function checkRestartFrom(from: WorkflowInstanceRestartFrom): void {
	const { name, count, type, ...unknown } = from ?? {};
	refuseOptions("restart from", unknown);
	if (name === undefined || name === "") throw new WorkflowFatalError("name", "restart from: the name of the step is missing");
	checkStepName(name);
	if (count !== undefined && !(Number.isSafeInteger(count) && count >= 1)) {
		throw new WorkflowFatalError("config", `restart from step ${JSON.stringify(name)}: count ${String(count)}; steps are counted from 1`);
	}
	if (type !== undefined && !STEP_TYPES.includes(type)) {
		throw new WorkflowFatalError("config", `restart from step ${JSON.stringify(name)}: type ${JSON.stringify(type)}; allowed: ${STEP_TYPES.join(", ")}`);
	}
}

/** Refuses options that nobody would act on: retention, terminate with rollback. */
function refuseOptions(call: string, options: unknown): void {
	const [key] = Object.keys(options ?? {});
	if (key !== undefined) throw new WorkflowFatalError("config", `${call}: the option ${key} is not supported`);
}

async function read(db: Database, id: string): Promise<Row | undefined> {
	const rows = await db.query<Row[]>("SELECT binding, status, output, error, pause_requested FROM $id", { id: new RecordId("_00_wf_instance", id) });
	return rows[0];
}

function notFound(id: string): WorkflowError {
	return new WorkflowError("instance.not_found", `there is no instance "${id}" of this workflow`);
}
