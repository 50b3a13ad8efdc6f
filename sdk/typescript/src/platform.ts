/** What differs between the runtimes. Everything here is looked up, nothing imported: the package loads in all of them. */

interface Globals {
	process?: {
		versions?: Record<string, string | undefined>;
		env?: Record<string, string | undefined>;
		getBuiltinModule?(name: string): unknown;
	};
	navigator?: { userAgent?: string };
	setImmediate?(fn: () => void): unknown;
}

const globals = globalThis as unknown as Globals;

/** Cloudflare's runtime, in which promises and connections belong to the request that made them. */
export const onWorkerd = globals.navigator?.userAgent === "Cloudflare-Workers";

/** Node.js itself, and none of those that resemble it. */
export const onNode = !onWorkerd && globals.process?.versions?.["node"] !== undefined && globals.process.versions["bun"] === undefined && !("Deno" in globalThis);

/** A variable of the process's environment, where there is one. */
export function variable(name: string): string | undefined {
	return globals.process?.env?.[name] || undefined;
}

/** Lets everything run that is ready to. */
export function turn(): Promise<void> {
	return new Promise((resolve) => {
		if (globals.setImmediate) globals.setImmediate(() => resolve());
		else setTimeout(resolve, 0);
	});
}

/** The longest that a timer takes; beyond it, it would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls fn after so many milliseconds, however many. Returns what prevents it. */
export function later(ms: number, fn: () => void): () => void {
	let timer: ReturnType<typeof setTimeout>;
	const wait = (left: number) => {
		timer = left > MAX_TIMER_MS ? setTimeout(() => wait(left - MAX_TIMER_MS), MAX_TIMER_MS) : setTimeout(fn, left);
	};
	wait(Math.max(0, ms));
	return () => clearTimeout(timer);
}

/** What carries a value along the asynchronous calls that a function makes. */
export interface Scope<T> {
	run<R>(value: T, fn: () => R): R;
	getStore(): T | undefined;
}

/** AsyncLocalStorage, where the runtime has it; elsewhere something that knows of no value. */
export function newScope<T>(): Scope<T> {
	const hooks = globals.process?.getBuiltinModule?.("node:async_hooks") as { AsyncLocalStorage?: new () => Scope<T> } | undefined;
	if (hooks?.AsyncLocalStorage) return new hooks.AsyncLocalStorage();
	return { run: (_value, fn) => fn(), getStore: () => undefined };
}
