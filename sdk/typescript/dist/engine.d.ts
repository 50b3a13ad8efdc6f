import { Binding, type Home } from "./instances.js";
import { type Result } from "./pass.js";
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
    database?: {
        url?: string;
        namespace?: string;
        database?: string;
        username?: string;
        password?: string;
    };
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
export declare class Engine {
    private readonly options;
    readonly log: WorkflowLogger;
    /** By name, what env has of each workflow. */
    readonly bindings: Record<string, Binding>;
    private readonly definitions;
    private readonly passes;
    private readonly running;
    private made;
    private env;
    private closed;
    constructor(workflows: Record<string, WorkflowDefinition>, options: WorkflowsOptions);
    knows(binding: string): boolean;
    /** Whether new runs are refused. */
    get ending(): boolean;
    /** Takes settings from a request's env, which is where workerd has them. The first that brings some counts. */
    learn(env: Record<string, unknown>): void;
    /** A setting of env, or of the process's environment. */
    private setting;
    get home(): Home;
    private make;
    /**
     * Makes one run of an instance. When the caller ends, nobody waits for the answer any more; the run goes on all the
     * same, but looks at once whether the instance is still its own: a terminated one's job is aborted that way.
     */
    run(request: RunRequest): Promise<Result>;
    private own;
    /**
     * Ends the engine: new runs are refused, steps that execute get their signals ended and their attempts taken back,
     * and their instances are handed over to other processes. Resolves when all of that is done.
     */
    close(): Promise<void>;
}
