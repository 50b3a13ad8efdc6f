/** Workflows that show what the conformance table can't say: what a function gets, what errors and values look like. */

import { isDeepStrictEqual } from "node:util";
import { tell } from "../stage/report.js";
import { NonRetryableError, WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep, type WorkflowStepContext } from "@spooky-sync/backend";

const once = { retries: { limit: 0, delay: 0 } };

/** What the first run of an instance saw, to be compared with what later ones see. */
const firsts = new Map<string, unknown>();

/** Whether a later run sees the same as the first. */
function same(key: string, value: unknown): boolean {
	if (!firsts.has(key)) firsts.set(key, structuredClone(value));
	return isDeepStrictEqual(firsts.get(key), value);
}

async function caught(call: () => Promise<unknown>): Promise<Error> {
	try {
		await call();
	} catch (error) {
		return error as Error;
	}
	throw new Error("it did not throw");
}

type Code = (step: WorkflowStep, event: WorkflowEvent<{ wait?: string }>) => Promise<unknown>;

const codes = {
	CONTEXT: async (step) => {
		const plain = await step.do("plain", (ctx) => ctx);
		const given = await step.do("given", { retries: { limit: 3, delay: "1 second", backoff: "linear" }, timeout: "5 minutes" }, (ctx) => ctx);
		const again = await step.do("plain", (ctx) => ctx.step);
		const dynamic = await step.do("dynamic", { retries: { limit: 1, delay: () => 5 } }, (ctx) => "delay" in ctx.config.retries);
		return { plain, given, again, dynamic, signal: await step.do("signal", (ctx) => [ctx.signal.aborted, Object.keys(ctx)]) };
	},

	COPY: async (step) => step.do("a", { retries: { limit: 1, delay: 0 } }, (ctx) => {
		ctx.config.retries.limit = 100;
		throw new Error(`attempt ${ctx.attempt}`);
	}),

	DELAY: async (step) => {
		const saw: unknown[] = [];
		const value = await step.do("a", { retries: { limit: 2, delay: ({ ctx, error }) => (saw.push([ctx.attempt, error.message]), "50 ms"), backoff: "constant" } }, (ctx) => {
			if (ctx.attempt < 3) throw new Error(`e${ctx.attempt}`);
			return ctx.attempt;
		});
		return { value, saw };
	},

	DELAYS: async (step) => {
		const failing = () => Promise.reject(new Error("no"));
		const throws = await caught(() => step.do("throws", { retries: { limit: 1, delay: () => { throw new Error("on purpose"); } } }, failing));
		const rubbish = await caught(() => step.do("rubbish", { retries: { limit: 1, delay: () => "soon" } }, failing));
		const slow = await caught(() => step.do("slow", { retries: { limit: 1, delay: () => new Promise<number>(() => undefined) } }, failing));
		return [throws, rubbish, slow].map(({ name, message }) => `${name}: ${message}`);
	},

	VALUES: async (step, { instanceId }) => {
		const values = [
			await step.do("object", () => ({ at: new Date(0), none: undefined, list: [undefined, null, [null]], nested: { deep: null }, z: 1, a: 2 })),
			await step.do("undefined", () => undefined), await step.do("null", () => null), await step.do("false", () => false), await step.do("date", () => new Date(5)),
		];
		const unchanged = same(instanceId, values);
		await step.sleep("replay", 30);
		return { unchanged, values: values.map((value) => (value === undefined ? "undefined" : value)), order: Object.keys(values[0] as object) };
	},

	ERRORS: async (step, { instanceId }) => {
		class PaymentError extends Error {
			code = 7;
			at = new Date(0);
		}
		const error = await caught(() => step.do("pay", once, () => { throw new PaymentError("declined"); }));
		const text = await caught(() => step.do("text", once, () => { throw "plain"; }));
		const non = await caught(() => step.do("non", () => { throw new NonRetryableError("no use", "MyName"); }));
		const saw = [error, text, non].map((e) => ({ ...e, name: e.name, message: e.message, error: e instanceof Error }));
		const unchanged = same(instanceId, saw);
		await step.sleep("replay", 30);
		return { unchanged, saw };
	},

	LOST: async (step) => {
		const circle: Record<string, unknown> = {};
		circle["self"] = circle;
		const values: [string, unknown][] = [["bigint", 1n], ["circle", circle], ["map", new Map()], ["function", () => 1], ["bytes", new Uint8Array(1)], ["large", "x".repeat(1 << 20)]];
		const messages: string[] = [];
		for (const [name, value] of values) messages.push((await caught(() => step.do(name, () => value))).message);
		return messages;
	},

	SIGNAL: async (step) => {
		let reason: unknown;
		return step.do("a", { retries: { limit: 1, delay: 0 }, timeout: 100 }, (ctx) => {
			if (ctx.attempt > 1) return reason;
			return new Promise((_, reject) => ctx.signal.addEventListener("abort", () => {
				reason = (ctx.signal.reason as Error).name;
				reject(new Error("late, and therefore nowhere"));
			}));
		});
	},

	MANY: async (step) => {
		const numbers = await Promise.all(Array.from({ length: 60 }, (_, n) => step.do("one", async () => n)));
		return numbers.reduce((a, b) => a + b, 0);
	},

	NESTED: async (step) => (await caught(() => step.do("outer", () => step.do("inner", () => 1)))).message,

	RACE: async (step) => Promise.race([step.sleep("an hour", "1 hour").then(() => "slept"), step.do("quick", async () => "quick")]),

	FLOATING: async (step) => {
		void step.do("floating", () => new Promise((resolve) => setTimeout(resolve, 60_000)));
		return "returned first";
	},

	UNWATCHED: async (step) => {
		void step.do("fails", once, () => { throw new Error("nobody looks"); });
		return step.do("works", () => new Promise((resolve) => setTimeout(() => resolve("still here"), 50)));
	},

	BRANCHES: async (step) => {
		const second = (async () => step.do("fails", once, () => { throw new Error("second fails"); }))();
		const first = await step.do("works", () => new Promise((resolve) => setTimeout(() => resolve("first works"), 50)));
		return [first, (await caught(() => second)).message];
	},

	REFUSED: async (step) => {
		const any = step as unknown as { do(...args: unknown[]): Promise<unknown>; sleep(...args: unknown[]): Promise<unknown>; waitForEvent(...args: unknown[]): Promise<unknown> };
		const calls = [() => any.do("a", {}), () => any.do("b", { sensitive: "output" }, () => 1), () => any.do("c", () => 1, { rollback: () => 1 }), () => any.sleep("d", "a while"), () => any.waitForEvent("e", { type: "has space!" }), () => any.waitForEvent("f", {})];
		const errors: string[] = [];
		for (const call of calls) errors.push((await caught(call)).message);
		return errors;
	},

	APPROVAL: async (step, { payload }) => {
		const first = await step.do("ask", async () => "asked");
		const { type, payload: answer, timestamp } = await step.waitForEvent<unknown>("approval", { type: "approval", timeout: payload.wait ?? "1 hour" });
		return { first, type, answer, date: timestamp instanceof Date && Math.abs(Date.now() - timestamp.getTime()) < 3_600_000 };
	},

	SLOW: async (step) => step.do("slow", (ctx: WorkflowStepContext) => new Promise((resolve, reject) => {
		if (process.env["QUICK"]) return resolve(ctx.attempt);
		ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason as Error));
		return undefined;
	})),

	WAIT: (step) => step.waitForEvent("w", { type: "go", timeout: 0 }),

	DEADLINE: async (step) => {
		try {
			return (await step.waitForEvent("w", { type: "go", timeout: 1000 })).payload;
		} catch (error) {
			return (error as Error).name;
		}
	},

	/** Holds a step until the test lets it go, unless this process is a quick one. */
	HELD: async (step) => {
		const first = await step.do("held", { retries: { limit: 3, delay: 0 } }, async (ctx) => {
			tell("seen", { case: "HELD", key: "held", attempt: ctx.attempt });
			if (!process.env["QUICK"]) await fetch(`${process.env["STAGE_URL"]}/latch`, { method: "POST", body: JSON.stringify({ case: "HELD", name: "held" }) });
			return ctx.attempt;
		});
		const go = await step.waitForEvent("go", { type: "go" });
		return { first, go: go.payload };
	},

	/** Waits after the first of many large results, until the test has made the others. */
	HISTORY: async (step) => {
		let [sum, calls] = [0, 0];
		for (let k = 0; k < 140; k++) {
			const large = await step.do("large", async () => (calls++, "x".repeat((1 << 20) - 2)));
			sum += large.length;
			if (k === 0) await step.waitForEvent("made", { type: "go" });
		}
		return [sum, calls];
	},

	/** Many steps that take a little time each. */
	LONG: async (step) => {
		let sum = 0;
		for (let i = 0; i < 40; i++) {
			sum += await step.do("one", async (ctx) => {
				tell("seen", { case: "LONG", key: `one ${i}`, attempt: ctx.attempt });
				await new Promise((resolve) => setTimeout(resolve, 20));
				return i;
			});
		}
		return sum;
	},

	/** A bit of everything. */
	MIX: async (step, { instanceId }) => {
		const note = (ctx: WorkflowStepContext) => tell("seen", { case: "MIX", key: `${instanceId} ${ctx.step.name} ${ctx.step.count}`, attempt: ctx.attempt });
		const first = await step.do("first", async (ctx) => (note(ctx), 1));
		const squares = await Promise.all([1, 2, 3].map((n) => step.do("square", async (ctx) => (note(ctx), n * n))));
		await step.sleep("nap", 40);
		const flaky = await step.do("flaky", { retries: { limit: 8, delay: 10 } }, async (ctx) => {
			note(ctx);
			if (ctx.attempt === 1) throw new Error("once");
			return 5;
		});
		const more = await step.waitForEvent<number>("more", { type: "more", timeout: "10 minutes" });
		return first + squares.reduce((a, b) => a + b, 0) + flaky + more.payload;
	},

	/** Code that changes from one process to the next: a step is renamed. */
	CHANGED: changed,
	CHANGED_STRICTLY: changed,
} satisfies Record<string, Code>;

async function changed(step: WorkflowStep): Promise<unknown> {
	await step.do(process.env["RENAMED"] ? "publish" : "convert", () => 1);
	await step.waitForEvent("go", { type: "go" });
	return "done";
}

/** The class of each. */
export const workflows = Object.fromEntries(Object.entries(codes as Record<string, Code>).map(([binding, code]) => {
	class Feature extends WorkflowEntrypoint<unknown, { wait?: string }> {
		override run(event: WorkflowEvent<{ wait?: string }>, step: WorkflowStep): Promise<unknown> {
			return code(step, event);
		}
	}
	return [binding, binding.endsWith("STRICTLY") ? { class: Feature, strict: true } : Feature];
}));
