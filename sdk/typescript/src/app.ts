import { Engine, type WorkflowDefinition, type WorkflowSettings, type WorkflowsOptions } from "./engine.js";
import { ROUTE, serveRun } from "./route.js";
import { answering, traceOf } from "./trace.js";
import type { Workflow, WorkflowEntrypoint, WorkflowExecutionContext } from "./types.js";

/** Answers requests, as a Worker, Hono, and most routers do. */
export type FetchFunction = (request: Request, env?: any, ctx?: any) => Response | Promise<Response>;

/** A Hono app, a Worker's default export, or a fetch function. */
export type App = FetchFunction | { fetch: FetchFunction };

type ParamsOf<D> = D extends WorkflowSettings ? ParamsOf<D["class"]> : D extends new (...args: never[]) => WorkflowEntrypoint<infer _Env, infer P> ? P : unknown;

/** What withWorkflows adds to env. */
export type WorkflowBindings<W extends Record<string, WorkflowDefinition>> = { [Name in keyof W]: Workflow<ParamsOf<W[Name]>> };

/** An app with workflows: a Worker's default export, and what serve takes on Node.js. */
export interface WorkflowApp<W extends Record<string, WorkflowDefinition> = Record<string, WorkflowDefinition>> {
	fetch(request: Request, env?: unknown, ctx?: unknown): Promise<Response>;
	/** The same as env has, for code outside requests. */
	readonly workflows: WorkflowBindings<W>;
	/**
	 * Refuses new runs, cancels the steps that execute, and hands their instances over to other processes. Resolves when
	 * that is done. Call it before the server ends.
	 */
	close(): Promise<void>;
}

/** Handlers of a Worker besides fetch, which go on as they are. */
const HANDLERS = ["scheduled", "queue", "email", "tail", "tailStream", "trace", "test"] as const;

const noContext: WorkflowExecutionContext = { waitUntil: () => undefined, passThroughOnException: () => undefined };

/**
 * Adds durable workflows to an app: env has a Workflow under each binding, beside what the app had there, and
 * POST /__spky/workflow/{binding} is where the runner asks for runs. Every other request goes to the app as it is.
 */
export function withWorkflows<W extends Record<string, WorkflowDefinition>>(app: App, workflows: W, options: WorkflowsOptions = {}): WorkflowApp<W> {
	const engine = new Engine(workflows, options);
	const fetch: FetchFunction = typeof app === "function" ? app : (request, env, ctx) => app.fetch(request, env, ctx);
	const wrapped: WorkflowApp<W> = {
		async fetch(request, env, ctx) {
			const own = (env ?? {}) as Record<string, unknown>;
			engine.learn(own);
			const full = withBindings(own, engine.bindings);
			return answering.run(traceOf(request.headers), () => {
				if (!pathOf(request.url).startsWith(ROUTE)) return fetch(request, full, ctx);
				return serveRun(engine, tokenOf(options, own), request, full, (ctx ?? noContext) as WorkflowExecutionContext);
			});
		},
		workflows: engine.bindings as unknown as WorkflowBindings<W>,
		close: () => engine.close(),
	};
	return Object.assign(wrapped, otherHandlers(app, engine));
}

/** env with the bindings beside what it has; env itself stays as it is. */
function withBindings(env: Record<string, unknown>, bindings: Record<string, unknown>): Record<string, unknown> {
	return Object.assign(Object.create(Object.getPrototypeOf(env) as object | null) as object, env, bindings) as Record<string, unknown>;
}

function otherHandlers(app: App, engine: Engine): object {
	if (typeof app === "function") return {};
	const handlers: Record<string, unknown> = {};
	for (const name of HANDLERS) {
		const handler = (app as unknown as Record<string, unknown>)[name];
		if (typeof handler !== "function") continue;
		handlers[name] = (event: unknown, env: Record<string, unknown> = {}, ctx: unknown) => {
			engine.learn(env);
			return (handler as (...args: unknown[]) => unknown).call(app, event, withBindings(env, engine.bindings), ctx);
		};
	}
	return handlers;
}

/** The token that runs have to bring; none where the option is left out. One that is empty lets nobody in. */
function tokenOf(options: WorkflowsOptions, env: Record<string, unknown>): string | undefined {
	if (!("authToken" in options)) return undefined;
	const { authToken } = options;
	return (typeof authToken === "function" ? authToken(env) : authToken) ?? "";
}

/** The path of an absolute URL, without the work of parsing all of it. */
function pathOf(url: string): string {
	const from = url.indexOf("/", url.indexOf("://") + 3);
	return from < 0 ? "/" : url.slice(from);
}
