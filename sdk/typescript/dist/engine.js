import { Database } from "./database.js";
import { stored } from "./errors.js";
import { Binding } from "./instances.js";
import { checkBinding, checkTable } from "./names.js";
import { Pass } from "./pass.js";
import { onNode, variable } from "./platform.js";
import { LEASE_MS } from "./protocol.js";
import { guarded } from "./rejections.js";
import { persist } from "./run.js";
import { RunStep } from "./step.js";
import { Store } from "./store.js";
const MAX_BUDGET_MS = 60_000;
const DEFAULT_STEP_LIMIT = 10_000;
const quiet = {
    debug: () => undefined,
    info: () => undefined,
    warn: (message, facts) => console.warn(`workflows: ${message}`, JSON.stringify(facts ?? {})),
    error: (message, facts) => console.error(`workflows: ${message}`, JSON.stringify(facts ?? {})),
};
/** Runs the workflows of one process. */
export class Engine {
    options;
    log;
    /** By name, what env has of each workflow. */
    bindings = {};
    definitions = new Map();
    passes = new Set();
    running = new Set();
    made;
    env = {};
    closed = false;
    constructor(workflows, options) {
        this.options = options;
        this.log = options.logger ?? quiet;
        for (const [name, definition] of Object.entries(workflows)) {
            checkBinding(name);
            this.definitions.set(name, settingsOf(name, definition));
            this.bindings[name] = new Binding(() => this.home, name);
        }
        if (options.outboxTable !== undefined)
            checkTable(options.outboxTable);
    }
    knows(binding) {
        return this.definitions.has(binding);
    }
    /** Whether new runs are refused. */
    get ending() {
        return this.closed;
    }
    /** Takes settings from a request's env, which is where workerd has them. The first that brings some counts. */
    learn(env) {
        if (!this.made)
            this.env = env;
    }
    /** A setting of env, or of the process's environment. */
    setting(name) {
        const own = this.env[name];
        return typeof own === "string" && own !== "" ? own : variable(name);
    }
    get home() {
        return (this.made ??= this.make());
    }
    make() {
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
    async run(request) {
        const { store } = this.home;
        const token = crypto.randomUUID(); // again with the same token, should the answer be lost
        const got = await persist(() => store.acquire(request.instance, request.binding, request.job, token), LEASE_MS);
        if (got.state !== "acquired")
            return { state: got.state };
        const definition = this.definitions.get(request.binding);
        const pass = new Pass(got, {
            store, log: this.log, strict: definition.strict ?? false, stepLimit: definition.stepLimit ?? DEFAULT_STEP_LIMIT,
            budgetMs: Math.min(request.timeoutMs * 0.8, MAX_BUDGET_MS), trace: request.trace,
        });
        if (this.closed)
            pass.run.stop("shutdown");
        const driven = this.own(pass.run, pass.drive((run) => execute(definition.class, run, request)));
        if (!onNode)
            request.ctx.waitUntil(driven); // it outlives the request
        return Promise.race([driven, gone(request.request, () => void pass.beat())]);
    }
    async own(run, driven) {
        this.running.add(run);
        this.passes.add(driven);
        try {
            return await driven;
        }
        finally {
            this.running.delete(run);
            this.passes.delete(driven);
        }
    }
    /**
     * Ends the engine: new runs are refused, steps that execute get their signals ended and their attempts taken back,
     * and their instances are handed over to other processes. Resolves when all of that is done.
     */
    async close() {
        this.closed = true;
        for (const run of this.running)
            run.stop("shutdown");
        while (this.passes.size > 0)
            await Promise.allSettled([...this.passes]);
        await this.made?.db.close();
    }
}
/** The settings of a workflow; refuses what is none, as an import that is still undefined. */
function settingsOf(name, definition) {
    const settings = typeof definition === "function" ? { class: definition } : definition;
    const run = settings?.class?.prototype?.run;
    if (typeof run !== "function")
        throw new TypeError(`workflow "${name}": want a class with a method run, or { class } with options`);
    return settings;
}
/** The caller's end, as a result that nobody gets any more. */
function gone({ signal }, look) {
    return new Promise((resolve) => {
        const end = () => {
            look();
            resolve({ state: "lost" });
        };
        if (signal.aborted)
            end();
        else
            signal.addEventListener("abort", end, { once: true });
    });
}
/** The workflow's code, from the top. */
async function execute(entrypoint, run, request) {
    const { id, params, created_at } = run.instance;
    const event = { payload: (params === undefined ? {} : params), timestamp: created_at.toDate(), instanceId: id, workflowName: request.binding };
    const forlorn = (reason) => {
        const { message, stack } = stored(reason);
        run.log.warn("a promise was rejected while nobody waited for it", { error: stack ?? message });
    };
    return guarded(forlorn, () => new entrypoint(request.ctx, request.env).run(event, new RunStep(run)));
}
