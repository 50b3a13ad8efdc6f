import { attempt } from "./attempt.js";
import { type Config, pauseAfter, shownConfig } from "./config.js";
import { milliseconds } from "./duration.js";
import { NAME, WorkflowTimeoutError, brief, isFinal, loaded, stored } from "./errors.js";
import { encodeValue } from "./json.js";
import { later } from "./platform.js";
import { KEPT_ATTEMPTS, type StepRow, type StoredError, type Wait } from "./protocol.js";
import type { StepKey, StoredStep } from "./history.js";
import { OVER, type Run } from "./run.js";
import type { WorkflowStepContext } from "./types.js";
import { DateTime } from "./values.js";

/** The longest pause between attempts that a run sits out; longer ones suspend it. */
const INLINE_WAIT_MS = 5000;
/**
 * How long a step may run before its row is written. A step that is done by then costs one write; one that takes longer
 * shows that it runs, and a crash counts its attempt. A step without retries is written before it begins.
 */
const BEGIN_AFTER_MS = 50;
/** The time that a delay function has. */
const DELAY_FN_MS = 5000;

export type StepFunction = (ctx: WorkflowStepContext) => unknown;

/** What became of a step in this run: a result, or a wait that the run has to suspend over. Failures are thrown. */
export type Outcome = { value: unknown } | { wait: Wait };

/** The attempts of one step. */
export class Attempts {
	private readonly step: StepRow;
	/** The last attempt was ended by closeLost, which no row says yet. */
	private lost = false;

	constructor(private readonly run: Run, key: StepKey, row: StoredStep | undefined, private readonly config: Config, private readonly fn: StepFunction) {
		this.step = row
			? { ...row.row, attempts: [...row.row.attempts] }
			: { ...key, seq: run.history.newSeq(), status: "running", attempts: [], config: undefined, output: undefined, error: undefined, retry_at: undefined, wake_at: undefined, started_at: DateTime.at(run.now()) };
		this.step.config ??= config.stored; // what was stored first wins over changed code
	}

	/** Makes attempts until the step is done, or has to wait for longer than the run may. */
	async all(): Promise<Outcome> {
		await this.closeLost();
		if (this.lost) await this.run.begin(this.step); // a run that suspends over the wait leaves the time at which it ends
		for (let tried = false; ; tried = true) {
			if (this.exhausted) return this.fail(this.last.error!);
			const { retry_at } = this.step;
			if (retry_at) {
				const pause = retry_at.ms - this.run.now();
				const late = (tried || pause > 0) && this.run.spent(Math.max(0, pause));
				if (pause > INLINE_WAIT_MS || late || this.run.pausing) return { wait: { kind: "retry", name: this.step.name, wakeAt: retry_at, types: [] } };
				await this.rest(retry_at);
			}
			const outcome = await this.try();
			if (outcome) return outcome;
		}
	}

	private get limit(): number {
		return this.step.config!.retries.limit;
	}

	private get last() {
		return this.step.attempts[this.step.attempts.length - 1]!;
	}

	/** How many attempts have begun. */
	private get tried(): number {
		return (this.step.attempts_before ?? 0) + this.step.attempts.length;
	}

	private get exhausted(): boolean {
		return this.tried > this.limit;
	}

	/** Ends an attempt that an earlier run began and did not live to end: it counts. */
	private async closeLost(): Promise<void> {
		if (this.step.attempts.length === 0 || this.last.ended_at) return;
		const now = this.run.now();
		const error = { name: NAME.crash, message: "the process died, or lost the instance, during the attempt" };
		this.step.attempts[this.step.attempts.length - 1] = { ...this.last, ended_at: DateTime.at(now), error };
		if (this.exhausted) return;
		await this.schedule(now, loaded(error));
		this.lost = true;
	}

	/** Waits within the run. */
	private rest(until: DateTime): Promise<void> {
		return new Promise((resolve, reject) => {
			let cancel = () => {};
			const unlisten = this.run.cancelled.listen(() => {
				cancel();
				reject(OVER);
			});
			const wait = () => {
				const left = until.ms - this.run.now();
				if (left > 0) {
					cancel = later(Math.ceil(left), wait); // timers fire a little early
					return;
				}
				unlisten();
				resolve();
			};
			if (!this.run.cancelled.happened) wait();
		});
	}

	/** Sets when the next attempt is due, counted from when the last one ended. */
	private async schedule(from: number, error: Error): Promise<void> {
		const { retries } = this.step.config!;
		const delay = this.config.delay && retries ? await this.dynamicDelay(error) : retries.delay;
		this.step.status = "retrying";
		this.step.retry_at = DateTime.at(from + pauseAfter(retries.backoff, delay, this.tried));
	}

	private async dynamicDelay(error: Error): Promise<number> {
		const refuse = (why: string) => loaded({ name: NAME.delay, message: `The delay function for step "${this.step.name}-${this.step.occurrence}" ${why}` });
		const slow = () => refuse("did not return within 5 seconds");
		const ctx = (signal: AbortSignal) => this.context(signal);
		const ended = await attempt((signal) => this.config.delay!({ ctx: ctx(signal), error }), DELAY_FN_MS, slow, this.run.cancelled);
		if ("over" in ended) throw OVER;
		if ("error" in ended) {
			const thrown = ended.error as Error;
			throw thrown?.name === NAME.delay ? thrown : refuse(`threw an error: ${stored(thrown).message}`);
		}
		try {
			const ms = milliseconds(ended.value, "delay");
			if (ms >= 0) return Math.floor(ms);
		} catch {
			// refused below, in the same words
		}
		throw refuse('returned an invalid delay value (expected a number of ms or a duration string like "30 seconds")');
	}

	/** Makes one attempt. Nothing where another has to follow. */
	private async try(): Promise<Outcome | undefined> {
		const { step, run } = this;
		step.status = "running";
		step.retry_at = undefined;
		step.attempts.push({ started_at: DateTime.at(run.now()) });
		if (step.attempts.length > KEPT_ATTEMPTS) {
			step.attempts.shift();
			step.attempts_before = (step.attempts_before ?? 0) + 1;
		}
		const ended = await this.call();
		if ("over" in ended) return this.abandon();
		step.attempts[step.attempts.length - 1] = { ...this.last, ended_at: DateTime.at(run.now()) };
		if ("value" in ended) {
			step.status = "complete";
			step.output = ended.value.value;
			await run.commit(step, ended.value.size);
			return { value: step.output };
		}
		return this.failed(ended.error);
	}

	private async failed(thrown: unknown): Promise<Outcome | undefined> {
		const failure = stored(thrown);
		this.last.error = brief(failure);
		if (isFinal(thrown) || this.exhausted) return this.fail(failure);
		try {
			await this.schedule(this.last.ended_at!.ms, loaded(failure));
		} catch (error) {
			if (error === OVER) throw error;
			return this.fail(stored(error)); // the delay function's fault
		}
		this.run.log.info("step attempt failed", { step: this.step.name, attempt: this.tried, error: this.last.error.message, retry_at: String(this.step.retry_at) });
		await this.run.begin(this.step);
		return undefined;
	}

	/** Stores the step as failed for good and throws its error. */
	private async fail(error: StoredError): Promise<Outcome> {
		this.step.status = "errored";
		this.step.error = error;
		this.step.retry_at = undefined;
		const told = await this.run.commit(this.step, error.message.length * 3 + 20_000);
		// Where the database has the step as done, by a call whose answer never came, the next run sees what it came to.
		if (!told) return { wait: { kind: "replay", name: this.step.name, wakeAt: DateTime.at(this.run.now()), types: [] } };
		throw loaded(error);
	}

	/**
	 * Leaves an attempt that the run's own end cut short. At a shutdown it is taken back, for it is nobody's fault; but
	 * not that of a step without retries, which must not run twice and may have done half its work.
	 */
	private async abandon(): Promise<never> {
		if (this.run.end === "shutdown" && this.limit > 0) {
			this.step.attempts.pop();
			this.step.status = "retrying";
			this.step.retry_at = DateTime.at(this.run.now());
			await this.run.begin(this.step);
		}
		throw OVER;
	}

	/** Calls the step's function, with a row written before or meanwhile where it must show. */
	private async call() {
		if (this.limit === 0) await this.run.begin(this.step);
		const shown = this.limit === 0 ? undefined : this.beginLater();
		const { timeout } = this.step.config!;
		const slow = () => new WorkflowTimeoutError(`Execution timed out after ${timeout}ms`);
		const what = `result of step ${JSON.stringify(this.step.name)}`;
		const ended = await attempt(async (signal) => encodeValue(what, await this.fn(this.context(signal))), timeout, slow, this.run.cancelled);
		await shown?.();
		return ended;
	}

	/** What the function gets: a copy of its own at each call. */
	private context(signal: AbortSignal): WorkflowStepContext {
		const { name, occurrence, config } = this.step;
		const ctx = { step: { name, count: occurrence }, attempt: this.tried, config: shownConfig(this.config, config!) };
		return Object.defineProperties(ctx, { signal: { value: signal }, trace: { value: this.run.trace } }) as WorkflowStepContext; // not enumerable
	}

	/** Writes the step's row when the attempt takes its time. What it returns waits for a write under way. */
	private beginLater(): () => Promise<void> {
		const row = { ...this.step, attempts: [...this.step.attempts] };
		let written: Promise<void> | undefined;
		const cancel = later(BEGIN_AFTER_MS, () => {
			written = this.run.begin(row).catch(() => undefined); // the run knows what became of it
		});
		return () => {
			cancel();
			return written ?? Promise.resolve();
		};
	}
}
