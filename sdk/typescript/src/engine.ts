import { Database } from "./database.js";
import { stored } from "./errors.js";
import { Binding, type Home } from "./instances.js";
import { checkBinding, checkTable } from "./names.js";
import { Pass, type Result } from "./pass.js";
import { onNode, variable } from "./platform.js";
import { LEASE_MS } from "./protocol.js";
import { guarded } from "./rejections.js";
import { type Run, persist } from "./run.js";
import { RunStep } from "./step.js";
import { Store } from "./store.js";
import type { WorkflowEntrypoint, WorkflowExecutionContext, WorkflowLogger, WorkflowTrace } from "./types.js";

/** The class of a workflow. */
export type WorkflowClass = new (ctx: any, env: any) => WorkflowEntrypoint<any, any>;

/** A workflow as withWorkflows takes it: its class, or that with options. */
export type WorkflowDefinition = WorkflowClass | WorkflowSettings;

export interface WorkflowSettings {
	class: WorkflowClass;
	/**
	 * Stops a run that goes another way than the steps stored by earlier ones, instead of noting a warning: the instance
	 * is marked as stalled, and goes on by itself once fitting code is deployed.
	 */
	strict?: boolean;
	/** Bounds the calls of do in one pass, stored ones included. Defaults to 10,000. */
	stepLimit?: number;
}

export interface WorkflowsOptions {
	/** Where the database is. Each part defaults to SPKY_DB_URL, _NS, _NAME, _USER, _PASS of env, or of the process. */
	database?: { url?: string; namespace?: string; database?: string; username?: string; password?: string };
	/** The backend's outbox table, into which runs are written as jobs. Defaults to SPKY_OUTBOX_TABLE, else "job". */
	outboxTable?: string;
	/** Names the backend on its instances, for operators. Defaults to SPKY_BACKEND. */
	backend?: string;
	/** Names the code's version on new instances. */
	version?: string;
	/**
	 * Must come as bearer token with every run: the backend's auth.token. May be read from env. Without the option
	 * anybody may ask for runs; one that is empty or undefined, as of a variable that is not set, refuses all.
	 */
	authToken?: string | ((env: Record<string, unknown>) => string | undefined);
	/** Defaults to console, for warnings and errors. */
	logger?: WorkflowLogger;
	/**
	 * Asked at each creation of an instance what the program is doing: the runs belong to that trace. With OpenTelemetry it
	 * is what propagation.inject makes of context.active(). By default, and where it names none, it is the traceparent of
	 * the request in which the instance is created. It answers at once: a promise names none, nor does what throws.
	 */
	trace?: () => WorkflowTrace;
}

const MAX_BUDGET_MS = 60_000;
const DEFAULT_STEP_LIMIT = 10_000;

const quiet: WorkflowLogger = {
	debug: () => undefined,
	info: () => undefined,
	warn: (message, facts) => console.warn(`workflows: ${message}`, JSON.stringify(facts ?? {})),
	error: (message, facts) => console.error(`workflows: ${message}`, JSON.stringify(facts ?? {})),
};

/** What a request for a run says. */
export interface RunRequest {
	binding: string;
	instance: string;
	/** The text of the job's id. */
	job: string | undefined;
	timeoutMs: number;
	trace: WorkflowTrace;
	env: Record<string, unknown>;
	ctx: WorkflowExecutionContext;
	/** Its signal ends when nobody waits for the answer any more, if it is held on to until then. */
	request: Request;
}

/** Runs the workflows of one process. */
export class Engine {
	readonly log: WorkflowLogger;
	/** By name, what env has of each workflow. */
	readonly bindings: Record<string, Binding> = {};
	private readonly definitions = new Map<string, WorkflowSettings>();
	private readonly passes = new Set<Promise<unknown>>();
	private readonly running = new Set<Run>();
	private made: Home | undefined;
	private env: Record<string, unknown> = {};
	private closed = false;

	constructor(workflows: Record<string, WorkflowDefinition>, private readonly options: WorkflowsOptions) {
		this.log = options.logger ?? quiet;
		for (const [name, definition] of Object.entries(workflows)) {
			checkBinding(name);
			this.definitions.set(name, settingsOf(name, definition));
			this.bindings[name] = new Binding(() => this.home, name);
		}
		if (options.outboxTable !== undefined) checkTable(options.outboxTable);
	}

	knows(binding: string): boolean {
		return this.definitions.has(binding);
	}

	/** Whether new runs are refused. */
	get ending(): boolean {
		return this.closed;
	}

	/** Takes settings from a request's env, which is where workerd has them. The first that brings some counts. */
	learn(env: Record<string, unknown>): void {
		if (!this.made) this.env = env;
	}

	/** A setting of env, or of the process's environment. */
	private setting(name: string): string | undefined {
		const own = this.env[name];
		return typeof own === "string" && own !== "" ? own : variable(name);
	}

	get home(): Home {
		return (this.made ??= this.make());
	}

	private make(): Home {
		const { database: d = {}, outboxTable, backend, version } = this.options;
		const db = new Database({
			url: d.url ?? this.setting("SPKY_DB_URL") ?? this.setting("SPKY_DB_WS") ?? "ws://127.0.0.1:8666",
			namespace: d.namespace ?? this.setting("SPKY_DB_NS") ?? "main",
			database: d.database ?? this.setting("SPKY_DB_NAME") ?? "main",
			username: d.username ?? this.setting("SPKY_DB_USER") ?? "root",
			password: d.password ?? this.setting("SPKY_DB_PASS") ?? "root",
		});
		const table = outboxTable ?? this.setting("SPKY_OUTBOX_TABLE") ?? "job";
		checkTable(table);
		return { db, store: new Store(db), table, backend: backend ?? this.setting("SPKY_BACKEND"), version, trace: () => this.options.trace?.() };
	}

	/**
	 * Makes one run of an instance. When the caller ends, nobody waits for the answer any more; the run goes on all the
	 * same, but looks at once whether the instance is still its own: a terminated one's job is aborted that way.
	 */
	async run(request: RunRequest): Promise<Result> {
		const { store } = this.home;
		const token = crypto.randomUUID(); // again with the same token, should the answer be lost
		const got = await persist(() => store.acquire(request.instance, request.binding, request.job, token), LEASE_MS);
		if (got.state !== "acquired") return { state: got.state };
		const definition = this.definitions.get(request.binding)!;
		const pass = new Pass(got, {
			store, log: this.log, strict: definition.strict ?? false, stepLimit: definition.stepLimit ?? DEFAULT_STEP_LIMIT,
			budgetMs: Math.min(request.timeoutMs * 0.8, MAX_BUDGET_MS), trace: request.trace,
		});
		if (this.closed) pass.run.stop("shutdown");
		const driven = this.own(pass.run, pass.drive((run) => execute(definition.class, run, request)));
		if (!onNode) request.ctx.waitUntil(driven); // it outlives the request
		return Promise.race([driven, gone(request.request, () => void pass.beat())]);
	}

	private async own(run: Run, driven: Promise<Result>): Promise<Result> {
		this.running.add(run);
		this.passes.add(driven);
		try {
			return await driven;
		} finally {
			this.running.delete(run);
			this.passes.delete(driven);
		}
	}

	/**
	 * Ends the engine: new runs are refused, steps that execute get their signals ended and their attempts taken back,
	 * and their instances are handed over to other processes. Resolves when all of that is done.
	 */
	async close(): Promise<void> {
		this.closed = true;
		for (const run of this.running) run.stop("shutdown");
		while (this.passes.size > 0) await Promise.allSettled([...this.passes]);
		await this.made?.db.close();
	}
}

/** The settings of a workflow; refuses what is none, as an import that is still undefined. */
function settingsOf(name: string, definition: WorkflowDefinition): WorkflowSettings {
	const settings = typeof definition === "function" ? { class: definition } : definition;
	const run: unknown = (settings?.class as WorkflowClass | undefined)?.prototype?.run;
	if (typeof run !== "function") throw new TypeError(`workflow "${name}": want a class with a method run, or { class } with options`);
	return settings;
}

/** The caller's end, as a result that nobody gets any more. */
function gone({ signal }: Request, look: () => void): Promise<Result> {
	return new Promise((resolve) => {
		const end = () => {
			look();
			resolve({ state: "lost" });
		};
		if (signal.aborted) end();
		else signal.addEventListener("abort", end, { once: true });
	});
}

/** The workflow's code, from the top. */
async function execute(entrypoint: WorkflowClass, run: Run, request: RunRequest): Promise<unknown> {
	const { id, params, created_at } = run.instance;
	const event = { payload: (params === undefined ? {} : params) as object, timestamp: created_at.toDate(), instanceId: id, workflowName: request.binding };
	const forlorn = (reason: unknown) => {
		const { message, stack } = stored(reason);
		run.log.warn("a promise was rejected while nobody waited for it", { error: stack ?? message });
	};
	return guarded(forlorn, () => new entrypoint(request.ctx, request.env).run(event, new RunStep(run)));
}
