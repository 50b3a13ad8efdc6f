import { Attempts } from "./attempts.js";
import { readConfig } from "./config.js";
import { milliseconds } from "./duration.js";
import { NAME, WorkflowFatalError, loaded } from "./errors.js";
import { checkStepName, eventTypeForm, isEventType } from "./names.js";
import { newScope } from "./platform.js";
import { MAX_SLEEP_MS, isDone } from "./protocol.js";
import { OVER, hang } from "./run.js";
import { WorkflowStep } from "./types.js";
import { DateTime } from "./values.js";
const DAY_MS = 86_400_000;
/** The name of the step whose function is running. */
const inside = newScope();
/** A run's handle, given to the workflow. */
export class RunStep extends WorkflowStep {
    trace;
    #run;
    constructor(run) {
        super();
        this.#run = run;
        this.trace = run.trace;
    }
    do(name, ...rest) {
        const [key, row] = this.#run.history.identify("do", name);
        return this.#through(async () => {
            checkStepName(name);
            outside(name);
            this.#withinLimit();
            const [config, fn] = readCall(name, rest);
            if (row && isDone(row.row))
                return result(row.row);
            const read = readConfig(name, config);
            return (await this.#execute(key, row, async () => {
                const outcome = await new Attempts(this.#run, key, row, read, (ctx) => inside.run(name, () => fn(ctx))).all();
                return "wait" in outcome ? this.#run.park(outcome.wait) : outcome.value;
            }));
        });
    }
    sleep(name, duration) {
        return this.#through(async () => {
            const ms = milliseconds(duration, `sleep ${JSON.stringify(name)}:`);
            return this.#sleep(name, ms, (now) => now + ms);
        });
    }
    sleepUntil(name, timestamp) {
        return this.#through(async () => {
            const at = timestamp instanceof Date ? timestamp.getTime() : timestamp;
            if (typeof at !== "number" || !Number.isFinite(at))
                throw new WorkflowFatalError("config", `sleep ${JSON.stringify(name)} until ${String(timestamp)}: want a Date or milliseconds since 1970`);
            return this.#sleep(name, at - this.#run.now(), () => at);
        });
    }
    async #sleep(name, ms, until) {
        checkStepName(name);
        outside(name);
        const [key, row] = this.#run.history.identify("sleep", name);
        if (row && isDone(row.row))
            return;
        if (ms > MAX_SLEEP_MS)
            throw new WorkflowFatalError("config", `sleep ${JSON.stringify(name)} of ${ms} ms; at most 365 days`);
        if (!row && ms <= 0)
            return;
        await this.#execute(key, row, async () => {
            const step = this.#waitRow(key, row, until);
            if (step.wake_at.ms <= this.#run.now()) {
                await this.#run.commit({ ...step, status: "complete" }, 0);
                return;
            }
            if (!row)
                await this.#run.begin(step);
            this.#run.park({ kind: "sleep", name, wakeAt: step.wake_at, types: [] });
        });
    }
    waitForEvent(name, options) {
        return this.#through(async () => {
            checkStepName(name);
            outside(name);
            const { type, timeoutMs } = readWait(name, options);
            const [key, row] = this.#run.history.identify("waitForEvent", name);
            if (row && isDone(row.row))
                return received(result(row.row));
            const output = await this.#execute(key, row, () => this.#await(key, row, type, timeoutMs));
            return received(output);
        });
    }
    /** Takes an event that is there, gives up at the deadline, or parks the run. */
    async #await(key, row, type, timeoutMs) {
        const run = this.#run;
        const step = this.#waitRow(key, row, (now) => now + timeoutMs);
        const event = run.takeEvent(type, step.wake_at);
        if (event) {
            const output = { type: event.type, payload: event.payload ?? null, timestamp: String(event.sent_at) };
            await run.commit({ ...step, status: "complete", output }, JSON.stringify(output).length, event.number);
            return output;
        }
        if (step.wake_at.ms <= run.now()) {
            const error = { name: NAME.timeout, message: `Execution timed out after ${timeoutMs}ms` };
            await run.commit({ ...step, status: "errored", error }, 0);
            throw loaded(error);
        }
        if (!row)
            await run.begin(step);
        return run.park({ kind: "event", name: key.name, wakeAt: step.wake_at, types: [type] });
    }
    #waitRow(key, row, until) {
        if (row)
            return row.row;
        const now = this.#run.now();
        return { ...key, seq: this.#run.history.newSeq(), status: "waiting", attempts: [], config: undefined, output: undefined, error: undefined, retry_at: undefined, wake_at: DateTime.at(until(now)), started_at: DateTime.at(now) };
    }
    /** Executes a step that is not stored as done, if the run lets it. */
    async #execute(key, row, execute) {
        await this.#run.enter(key, row);
        try {
            return await execute();
        }
        finally {
            this.#run.leave();
        }
    }
    /**
     * A call of a step: one that the run's end cuts short never comes back. The error of one that nobody waits for is
     * stored, and must not end the process as an unhandled rejection does.
     */
    #through(call) {
        const came = call().catch((error) => (error === OVER ? hang() : Promise.reject(error)));
        came.catch(() => undefined);
        return came;
    }
    #withinLimit() {
        const { history, stepLimit } = this.#run;
        if (history.calls > stepLimit)
            throw new WorkflowFatalError("step_limit", `the limit of ${stepLimit} steps has been reached; stepLimit raises it`);
    }
}
/** Refuses a step within the function of another: when that is replayed, this one would be missed. */
function outside(name) {
    const outer = inside.getStore();
    if (outer !== undefined) {
        throw new WorkflowFatalError("config", `step ${JSON.stringify(name)} is called in the function of step ${JSON.stringify(outer)}; call it after that, with what that returned`);
    }
}
/** The two forms of do: with a configuration and without. */
function readCall(name, rest) {
    const withConfig = typeof rest[0] !== "function";
    const [config, fn, rollback] = withConfig ? rest : [undefined, ...rest];
    if (typeof fn !== "function")
        throw new WorkflowFatalError("config", `step "${name}" requires a callback function`);
    if (rollback !== undefined)
        throw new WorkflowFatalError("config", `step "${name}": rollback is not supported; catch the error, and undo in steps of their own`);
    return [config, fn];
}
function readWait(name, options) {
    const type = options?.type;
    if (!isEventType(type))
        throw new WorkflowFatalError("name", `event type ${JSON.stringify(type)}: ${eventTypeForm}`);
    const { timeout } = options;
    const timeoutMs = timeout === undefined || timeout === 0 || timeout === "" ? DAY_MS : Math.max(1, Math.floor(milliseconds(timeout, `wait ${JSON.stringify(name)}: timeout`)));
    if (typeof timeout === "number" && timeout < 0)
        throw new WorkflowFatalError("config", `wait ${JSON.stringify(name)}: timeout ${timeout} must be positive`);
    if (timeoutMs > MAX_SLEEP_MS)
        throw new WorkflowFatalError("config", `wait ${JSON.stringify(name)} of ${timeoutMs} ms; at most 365 days`);
    return { type, timeoutMs };
}
/** What a step that is done gives its caller. */
function result(row) {
    if (row.status === "errored")
        throw loaded(row.error);
    return row.output;
}
function received(output) {
    const { type, payload, timestamp } = output;
    return { type, payload, timestamp: new Date(timestamp) };
}
