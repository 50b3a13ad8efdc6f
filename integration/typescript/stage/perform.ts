import { setTimeout as rest } from "node:timers/promises";
import { NonRetryableError, WorkflowEntrypoint, type WorkflowClass, type WorkflowEvent, type WorkflowStep, type WorkflowStepContext } from "@spooky-sync/backend";
import { latch, tell } from "./report.js";
import { type Behavior, type Case, type Statement, evaluate, plain } from "./table.js";

/** The class of the workflow of a case. */
export function workflowOf(c: Case): WorkflowClass {
	return class extends WorkflowEntrypoint {
		override run(event: Readonly<WorkflowEvent<unknown>>, step: WorkflowStep): Promise<unknown> {
			return new Performance(c, event, step).run();
		}
	};
}

/** Carries a workflow's result out of its statements. */
class Returned {
	constructor(readonly value: unknown) {}
}

/** One pass over the workflow of a case. */
class Performance {
	private readonly vars: Record<string, unknown>;
	private readonly caught = new Map<string, unknown>();
	private readonly counts = new Map<string, number>();

	constructor(private readonly c: Case, private readonly event: WorkflowEvent<unknown>, private readonly step: WorkflowStep) {
		this.vars = { params: event.payload, instanceId: event.instanceId, workflowName: event.workflowName };
	}

	async run(): Promise<unknown> {
		try {
			await this.all(this.c.workflow);
		} catch (thrown) {
			if (thrown instanceof Returned) return thrown.value;
			throw thrown;
		}
		return null;
	}

	private async all(statements: Statement[]): Promise<void> {
		for (const s of statements) await this.one(s);
	}

	private async one(s: Statement): Promise<void> {
		if (s.do !== undefined) return this.settle(s, this.do(s));
		if (s.sleep !== undefined) return this.settle(s, this.step.sleep(s.sleep, s.for!));
		if (s.sleepUntil !== undefined) return this.settle(s, this.step.sleepUntil(s.sleepUntil, new Date(this.event.timestamp.getTime() + s.fromStart!)));
		if (s.waitForEvent !== undefined) return this.settle(s, this.wait(s));
		if (s.all) return together(s.all.map((one) => this.settle(one, this.do(one))));
		if (s.branches) return together(s.branches.map((branch) => this.all(branch)));
		if (s.count !== undefined) return tell("count", { case: this.c.id, label: s.count });
		if (s.throw !== undefined) throw new Error(s.throw);
		if (s.rethrow !== undefined) throw this.caught.get(s.rethrow);
		throw new Returned(this.value(s.return));
	}

	/** Keeps a step's result, or the error that the statement catches. */
	private async settle(s: Statement, call: Promise<unknown>): Promise<void> {
		try {
			const value = await call;
			if (s.as) this.vars[s.as] = value;
		} catch (error) {
			if (!s.caught) throw error;
			const { name, message } = error as Error;
			this.vars[s.caught] = { name, message };
			this.caught.set(s.caught, error);
		}
	}

	private async do(s: Statement): Promise<unknown> {
		const name = String(plain(s.do));
		const occurrence = (this.counts.get(name) ?? 0) + 1;
		this.counts.set(name, occurrence);
		const key = `do ${name} #${occurrence}`;
		const fn = (ctx: WorkflowStepContext) => this.call(ctx, key, s.calls!);
		try {
			const value = await (s.config ? this.step.do(name, s.config, fn) : this.step.do(name, fn));
			tell("came", { case: this.c.id, key, to: JSON.stringify(value ?? null) });
			return value;
		} catch (error) {
			tell("came", { case: this.c.id, key, to: String(error) });
			throw error;
		}
	}

	/** A step's function. */
	private async call(ctx: WorkflowStepContext, key: string, calls: Behavior[]): Promise<unknown> {
		tell("seen", { case: this.c.id, key, attempt: ctx.attempt });
		const b = calls[Math.min(ctx.attempt, calls.length) - 1]!;
		await this.hold(ctx.signal, key, b);
		if (b.throw !== undefined) throw new Error(b.throw);
		if (b.nonRetryable !== undefined) throw new NonRetryableError(b.nonRetryable);
		return this.value(b.return, { attempt: ctx.attempt });
	}

	/** Waits for whatever the behavior waits for. */
	private async hold(signal: AbortSignal, key: string, b: Behavior): Promise<void> {
		if (b.deaf) return rest(b.deaf);
		if (!b.after && !b.latch && !b.hang) return;
		try {
			if (b.after) await rest(b.after, undefined, { signal });
			else if (b.latch) await latch({ case: this.c.id, name: b.latch }, signal);
			else await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
		} finally {
			tell("ended", { case: this.c.id, key });
		}
	}

	private async wait(s: Statement): Promise<unknown> {
		const options = { type: s.type!, ...(s.timeout !== undefined && { timeout: s.timeout }) };
		const { type, payload } = await this.step.waitForEvent<unknown>(s.waitForEvent!, options);
		return { type, payload };
	}

	private value(raw: unknown, step: Record<string, unknown> = {}): unknown {
		return evaluate(raw, (key, arg) => {
			switch (key) {
				case "$var":
					return [lookUp(this.vars, arg as string)];
				case "$step":
					return [step[arg as string]];
				case "$string":
					return [plain({ [key]: arg })];
				case "$unserialisable":
					return [10n];
			}
			return undefined;
		});
	}
}

/** Goes on when all have ended, with the first error. */
async function together(all: Promise<unknown>[]): Promise<void> {
	for (const one of await Promise.allSettled(all)) if (one.status === "rejected") throw one.reason;
}

function lookUp(vars: Record<string, unknown>, path: string): unknown {
	return path.split(".").reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], vars);
}
