/** Compiled, never run: what the compiler has to accept and to refuse, as cloudflare:workers does. */

import { NonRetryableError, type Workflow, WorkflowEntrypoint, type WorkflowEvent, type WorkflowInstance, WorkflowStep, type WorkflowStepContext, type WorkflowTrace, withWorkflows } from "../src/index.js";

interface Env {
	ORDERS: Workflow<Params>;
	BUCKET: { put(key: string): Promise<void> };
}

interface Params {
	order: string;
}

export class Orders extends WorkflowEntrypoint<Env, Params> {
	override async run(event: WorkflowEvent<Params>, step: WorkflowStep) {
		const order: string = event.payload.order;
		const at: Date = event.timestamp;
		const total: number = await step.do("total", async () => 1);
		const text: string = await step.do("text", { retries: { limit: 1, delay: "5 seconds", backoff: "linear" }, timeout: "1 hour" }, async (ctx: WorkflowStepContext) => {
			const attempt: number = ctx.attempt;
			const signal: AbortSignal = ctx.signal;
			const trace: WorkflowTrace = ctx.trace;
			return `${ctx.step.name} ${attempt} ${signal.aborted} ${trace.traceparent} ${step.trace.tracestate}`;
		});
		await step.do("dynamic", { retries: { limit: 1, delay: ({ ctx, error }) => ctx.attempt * error.message.length } }, () => undefined);
		await step.sleep("s", "1 minute");
		await step.sleepUntil("u", new Date());
		const approval = await step.waitForEvent<{ ok: boolean }>("w", { type: "approval", timeout: "1 day" });
		if (!approval.payload.ok) throw new NonRetryableError("refused");
		await this.env.BUCKET.put(order);
		this.ctx.waitUntil(Promise.resolve());
		return { total, text, at };
	}
}

// @ts-expect-error: run is missing
export class Missing extends WorkflowEntrypoint<Env, Params> {}

export const app = withWorkflows({ fetch: (_request: Request, env: Env) => Response.json(Object.keys(env)) }, { ORDERS: Orders, STRICT: { class: Orders, strict: true, stepLimit: 3 } });

export async function use(env: Env): Promise<WorkflowInstance> {
	await env.ORDERS.createBatch([{ params: { order: "a" } }]);
	await app.workflows.ORDERS.create({ params: { order: "a" }, owner: "user:abc" });
	const carrier: Record<string, string> = {};
	await app.workflows.STRICT.create({ params: { order: "a" }, trace: carrier });
	// @ts-expect-error: params of another type
	await app.workflows.ORDERS.create({ params: { order: 1 } });
	// @ts-expect-error: no such binding
	await app.workflows.OTHER.create();
	const instance = await env.ORDERS.create({ id: "x", params: { order: "a" } });
	const { status, error, output } = await instance.status();
	if (status === "errored") throw new Error(`${error?.name} ${error?.message} ${String(output)}`);
	// @ts-expect-error: no status of an instance
	if (status === "done") return instance;
	await instance.sendEvent({ type: "approval", payload: { ok: true } });
	return instance;
}

// @ts-expect-error: a step needs a function
export const call = (step: WorkflowStep) => step.do("a", { timeout: 5 });
// @ts-expect-error: no such backoff
export const backoff = (step: WorkflowStep) => step.do("a", { retries: { limit: 1, delay: 1, backoff: "cubic" } }, () => 1);
// @ts-expect-error: an event has a type
export const wait = (step: WorkflowStep) => step.waitForEvent("w", {});
