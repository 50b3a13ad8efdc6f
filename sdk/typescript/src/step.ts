import { Attempts, type StepFunction } from "./attempts.js";
import { readConfig } from "./config.js";
import { milliseconds } from "./duration.js";
import { NAME, WorkflowFatalError, loaded } from "./errors.js";
import { checkStepName, eventTypeForm, isEventType } from "./names.js";
import { newScope } from "./platform.js";
import { MAX_SLEEP_MS, type StepRow, isDone } from "./protocol.js";
import type { StepKey, StoredStep } from "./history.js";
import { OVER, type Run, hang } from "./run.js";
import { type WorkflowSleepDuration, WorkflowStep, type WorkflowStepConfig, type WorkflowStepContext, type WorkflowStepEvent, type WorkflowTimeoutDuration, type WorkflowTrace } from "./types.js";
import { DateTime } from "./values.js";

const DAY_MS = 86_400_000;

/** The name of the step whose function is running. */
const inside = newScope<string>();

/** A run's handle, given to the workflow. */
export class RunStep extends WorkflowStep {
	override readonly trace: WorkflowTrace;
	readonly #run: Run;

	constructor(run: Run) {
		super();
		this.#run = run;
		this.trace = run.trace;
	}

	override do<T>(name: string, ...rest: unknown[]): Promise<T> {
		const [key, row] = this.#run.history.identify("do", name);
		return this.#through(async () => {
			checkStepName(name);
			outside(name);
			this.#withinLimit();
			const [config, fn] = readCall(name, rest);
			if (row && isDone(row.row)) return result(row.row) as T;
			const read = readConfig(name, config);
			return (await this.#execute(key, row, async () => {
				const outcome = await new Attempts(this.#run, key, row, read, (ctx) => inside.run(name, () => fn(ctx))).all();
				return "wait" in outcome ? this.#run.park(outcome.wait) : outcome.value;
			})) as T;
		});
	}

	override sleep(name: string, duration: WorkflowSleepDuration): Promise<void> {
		return this.#through(async () => {
			const ms = milliseconds(duration, `sleep ${JSON.stringify(name)}:`);
			return this.#sleep(name, ms, (now) => now + ms);
		});
	}

	override sleepUntil(name: string, timestamp: Date | number): Promise<void> {
		return this.#through(async () => {
			const at = timestamp instanceof Date ? timestamp.getTime() : timestamp;
			if (typeof at !== "number" || !Number.isFinite(at)) throw new WorkflowFatalError("config", `sleep ${JSON.stringify(name)} until ${String(timestamp)}: want a Date or milliseconds since 1970`);
			return this.#sleep(name, at - this.#run.now(), () => at);
		});
	}

	async #sleep(name: string, ms: number, until: (now: number) => number): Promise<void> {
		checkStepName(name);
		outside(name);
		const [key, row] = this.#run.history.identify("sleep", name);
		if (row && isDone(row.row)) return;
		if (ms > MAX_SLEEP_MS) throw new WorkflowFatalError("config", `sleep ${JSON.stringify(name)} of ${ms} ms; at most 365 days`);
		if (!row && ms <= 0) return;
		await this.#execute(key, row, async () => {
			const step = this.#waitRow(key, row, until);
			if (step.wake_at!.ms <= this.#run.now()) {
				await this.#run.commit({ ...step, status: "complete" }, 0);
				return;
			}
			if (!row) await this.#run.begin(step);
			this.#run.park({ kind: "sleep", name, wakeAt: step.wake_at!, types: [] });
		});
	}

	override waitForEvent<T>(name: string, options: { type: string; timeout?: WorkflowTimeoutDuration }): Promise<WorkflowStepEvent<T>> {
		return this.#through(async () => {
			checkStepName(name);
			outside(name);
			const { type, timeoutMs } = readWait(name, options);
			const [key, row] = this.#run.history.identify("waitForEvent", name);
			if (row && isDone(row.row)) return received<T>(result(row.row));
			const output = await this.#execute(key, row, () => this.#await(key, row, type, timeoutMs));
			return received<T>(output);
		});
	}

	/** Takes an event that is there, gives up at the deadline, or parks the run. */
	async #await(key: StepKey, row: StoredStep | undefined, type: string, timeoutMs: number): Promise<unknown> {
		const run = this.#run;
		const step = this.#waitRow(key, row, (now) => now + timeoutMs);
		const event = run.takeEvent(type, step.wake_at!);
		if (event) {
			const output = { type: event.type, payload: event.payload ?? null, timestamp: String(event.sent_at) };
			await run.commit({ ...step, status: "complete", output }, JSON.stringify(output).length, event.number);
			return output;
		}
		if (step.wake_at!.ms <= run.now()) {
			const error = { name: NAME.timeout, message: `Execution timed out after ${timeoutMs}ms` };
			await run.commit({ ...step, status: "errored", error }, 0);
			throw loaded(error);
		}
		if (!row) await run.begin(step);
		return run.park({ kind: "event", name: key.name, wakeAt: step.wake_at!, types: [type] });
	}

	#waitRow(key: StepKey, row: StoredStep | undefined, until: (now: number) => number): StepRow {
		if (row) return row.row;
		const now = this.#run.now();
		return { ...key, seq: this.#run.history.newSeq(), status: "waiting", attempts: [], config: undefined, output: undefined, error: undefined, retry_at: undefined, wake_at: DateTime.at(until(now)), started_at: DateTime.at(now) };
	}

	/** Executes a step that is not stored as done, if the run lets it. */
	async #execute<T>(key: StepKey, row: StoredStep | undefined, execute: () => Promise<T>): Promise<T> {
		await this.#run.enter(key, row);
		try {
			return await execute();
		} finally {
			this.#run.leave();
		}
	}

	/**
	 * A call of a step: one that the run's end cuts short never comes back. The error of one that nobody waits for is
	 * stored, and must not end the process as an unhandled rejection does.
	 */
	#through<T>(call: () => Promise<T>): Promise<T> {
		const came = call().catch((error: unknown) => (error === OVER ? hang() : Promise.reject(error)));
		came.catch(() => undefined);
		return came;
	}

	#withinLimit(): void {
		const { history, stepLimit } = this.#run;
		if (history.calls > stepLimit) throw new WorkflowFatalError("step_limit", `the limit of ${stepLimit} steps has been reached; stepLimit raises it`);
	}
}

/** Refuses a step within the function of another: when that is replayed, this one would be missed. */
function outside(name: string): void {
	const outer = inside.getStore();
	if (outer !== undefined) {
		throw new WorkflowFatalError("config", `step ${JSON.stringify(name)} is called in the function of step ${JSON.stringify(outer)}; call it after that, with what that returned`);
	}
}

/** The two forms of do: with a configuration and without. */
function readCall(name: string, rest: unknown[]): [WorkflowStepConfig | undefined, StepFunction] {
	const withConfig = typeof rest[0] !== "function";
	const [config, fn, rollback] = withConfig ? rest : [undefined, ...rest];
	if (typeof fn !== "function") throw new WorkflowFatalError("config", `step "${name}" requires a callback function`);
	if (rollback !== undefined) throw new WorkflowFatalError("config", `step "${name}": rollback is not supported; catch the error, and undo in steps of their own`);
	return [config as WorkflowStepConfig | undefined, fn as (ctx: WorkflowStepContext) => unknown];
}

function readWait(name: string, options: { type: string; timeout?: WorkflowTimeoutDuration }): { type: string; timeoutMs: number } {
	const type = options?.type;
	if (!isEventType(type)) throw new WorkflowFatalError("name", `event type ${JSON.stringify(type)}: ${eventTypeForm}`);
	const { timeout } = options;
	const timeoutMs = timeout === undefined || timeout === 0 || timeout === "" ? DAY_MS : Math.max(1, Math.floor(milliseconds(timeout, `wait ${JSON.stringify(name)}: timeout`)));
	if (typeof timeout === "number" && timeout < 0) throw new WorkflowFatalError("config", `wait ${JSON.stringify(name)}: timeout ${timeout} must be positive`);
	if (timeoutMs > MAX_SLEEP_MS) throw new WorkflowFatalError("config", `wait ${JSON.stringify(name)} of ${timeoutMs} ms; at most 365 days`);
	return { type, timeoutMs };
}

/** What a step that is done gives its caller. */
function result(row: StepRow): unknown {
	if (row.status === "errored") throw loaded(row.error);
	return row.output;
}

function received<T>(output: unknown): WorkflowStepEvent<T> {
	const { type, payload, timestamp } = output as { type: string; payload: T; timestamp: string };
	return { type, payload, timestamp: new Date(timestamp) };
}
