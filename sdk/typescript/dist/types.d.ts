/** The types of Cloudflare Workflows, as cloudflare:workers has them, and the little that is added. */
/** Milliseconds, or a text such as "30 seconds", "5s", "1 hour 30 minutes"; a month is 30 days, a year 365. */
export type WorkflowDuration = string | number;
export type WorkflowSleepDuration = WorkflowDuration;
export type WorkflowTimeoutDuration = WorkflowDuration;
export type WorkflowDelayDuration = WorkflowDuration;
/** How the wait between attempts grows: d, d·a and d·2^(a-1) for a delay d after attempt a. */
export type WorkflowBackoff = "constant" | "linear" | "exponential";
/** The wait after a failed attempt, from the attempt and its error; has 5 seconds to come to it. */
export type WorkflowDelayFunction = (failed: {
    ctx: WorkflowStepContext;
    error: Error;
}) => WorkflowDelayDuration | Promise<WorkflowDelayDuration>;
export interface WorkflowStepConfig {
    /** Defaults to 5 retries, 10 seconds, exponential. */
    retries?: {
        /** Attempts after the first, 0 to 10,000. */
        limit: number;
        delay: WorkflowDelayDuration | WorkflowDelayFunction;
        /** Defaults to exponential. */
        backoff?: WorkflowBackoff;
    };
    /** Of one attempt. Defaults to 10 minutes. */
    timeout?: WorkflowTimeoutDuration;
}
/**
 * A W3C trace context, as OpenTelemetry's propagators write and read it: propagation.extract takes one as its carrier.
 * Empty where there is none.
 */
export interface WorkflowTrace {
    /** Of version 00; anything else counts as none. */
    readonly traceparent?: string;
    readonly tracestate?: string;
}
/** What a step's function gets. */
export interface WorkflowStepContext {
    step: {
        name: string;
        /** Occurrence of the name in this pass, from 1. */
        count: number;
    };
    /** From 1. */
    attempt: number;
    /** A copy: changing it changes nothing. The delay is missing where a function gives it. */
    config: {
        retries: {
            limit: number;
            delay?: WorkflowDelayDuration;
            backoff: WorkflowBackoff;
        };
        timeout: WorkflowTimeoutDuration;
    };
    /**
     * Ends with the attempt's timeout, and when the instance is terminated, lost to another process, or this one shuts
     * down. Not enumerable: the rest is what Cloudflare's engine passes.
     */
    readonly signal: AbortSignal;
    /** What the attempt of the runner is doing that asked for this run, for spans of one's own. Not enumerable either. */
    readonly trace: WorkflowTrace;
}
/** What a workflow is started with. */
export interface WorkflowEvent<T> {
    /** The params given at creation; {} where there were none. */
    payload: Readonly<T>;
    /** When the instance was created. */
    timestamp: Date;
    instanceId: string;
    /** The binding. */
    workflowName: string;
}
/** An event that a workflow waited for. */
export interface WorkflowStepEvent<T> {
    payload: Readonly<T>;
    /** When it was sent, by the database's clock. */
    timestamp: Date;
    type: string;
}
/**
 * Makes steps. A step is known by its kind, name and occurrence, which counts calls of the same kind and name from 1 in
 * call order. What it returns is stored, and is what the call gives when the code runs again.
 */
export declare abstract class WorkflowStep {
    /**
     * What the attempt of the runner is doing that asked for this run, for spans of one's own. Each run has another:
     * decide nothing by it.
     */
    readonly trace: WorkflowTrace;
    /**
     * Calls the function once, whatever happens to the process, but for attempts that fail or die. Its result has to be
     * JSON of at most 1 MiB, and is given as JSON has it. When all attempts have failed, the last error is thrown, in
     * this and in every later pass.
     */
    abstract do<T>(name: string, callback: (ctx: WorkflowStepContext) => Promise<T> | T): Promise<T>;
    abstract do<T>(name: string, config: WorkflowStepConfig, callback: (ctx: WorkflowStepContext) => Promise<T> | T): Promise<T>;
    /** Waits, at most 365 days; nothing runs meanwhile. Zero or less returns at once. */
    abstract sleep(name: string, duration: WorkflowSleepDuration): Promise<void>;
    /** Waits until a moment; one that has passed returns at once. A number is milliseconds since 1970. */
    abstract sleepUntil(name: string, timestamp: Date | number): Promise<void>;
    /** Waits for an event of a type, by default 24 hours; then throws a WorkflowTimeoutError. */
    abstract waitForEvent<T>(name: string, options: {
        type: string;
        timeout?: WorkflowTimeoutDuration;
    }): Promise<WorkflowStepEvent<T>>;
}
/** What a Worker gets besides the request. On Node.js, what waitUntil is given is waited for at the end. */
export interface WorkflowExecutionContext {
    waitUntil(promise: Promise<unknown>): void;
    passThroughOnException(): void;
}
/** The base of workflows: one object for each pass over run. */
export declare abstract class WorkflowEntrypoint<Env = unknown, T = unknown> {
    protected readonly ctx: WorkflowExecutionContext;
    protected readonly env: Env;
    constructor(ctx: WorkflowExecutionContext, env: Env);
    /**
     * The workflow. It may run any number of times for one instance, from the top: what it decides on must be its
     * event and what its steps gave, and whatever has an effect belongs into a step.
     */
    abstract run(event: Readonly<WorkflowEvent<T>>, step: WorkflowStep): Promise<unknown>;
}
export type WorkflowStatus = "queued" | "running" | "paused" | "errored" | "terminated" | "complete" | "waiting" | "waitingForPause" | "unknown";
export interface InstanceStatus {
    status: WorkflowStatus;
    /** What it ended with, once it is errored. */
    error?: {
        name: string;
        message: string;
    };
    /** What run returned, once it is complete; null before. */
    output?: unknown;
}
/** A record, by its text such as "user:abc" or by an object such as SurrealDB's RecordId. */
export type WorkflowOwner = string | {
    table: unknown;
    id: unknown;
};
export interface WorkflowInstanceCreateOptions<Params = unknown> {
    /** 1 to 100 letters, digits, _ and -, not starting with -, and not "latest". Used once, across all workflows. Defaults to a UUID. */
    id?: string;
    /** The event's payload. */
    params?: Params;
    /** Who may read the instance and its steps. Defaults to nobody. */
    owner?: WorkflowOwner;
    /**
     * What the instance comes of: its runs belong to that trace. Only traceparent is kept. Without one it is what the
     * option trace of withWorkflows gives, else the traceparent of the request in which the instance is created.
     */
    trace?: WorkflowTrace;
}
/** A step of an instance. */
export interface WorkflowInstanceRestartFrom {
    name: string;
    /** Which of that name and type, from 1. Defaults to 1. */
    count?: number;
    /** Defaults to do where a do has the name, else to sleep or waitForEvent. */
    type?: "do" | "sleep" | "waitForEvent";
}
export interface WorkflowInstanceRestartOptions {
    /**
     * Begins again from this step: it and all steps that began after it are forgotten. Those that began before it stay as
     * they are, and are replayed; one of them that was not done goes on as after a crash.
     */
    from?: WorkflowInstanceRestartFrom;
}
/** A handle of one instance. Its methods work from any process, and while the runner is down. */
export interface WorkflowInstance {
    readonly id: string;
    status(): Promise<InstanceStatus>;
    /** Lets no further step begin; a running one finishes and is stored. */
    pause(): Promise<void>;
    /** Goes on after pause; sleeps and deadlines move by the time it lasted. */
    resume(): Promise<void>;
    /** Ends a live instance at once. */
    terminate(): Promise<void>;
    /**
     * Begins again with the same id and params, in any state; steps and events are forgotten, but for those before from. An
     * unknown step is a WorkflowError, instance.cannot_restart, and changes nothing.
     */
    restart(options?: WorkflowInstanceRestartOptions): Promise<void>;
    /** Goes on with an errored instance from the steps that failed. */
    retry(): Promise<void>;
    /** Keeps an event, and wakes the instance if it waits for one of the type. */
    sendEvent(event: {
        type: string;
        payload?: unknown;
    }): Promise<void>;
}
/** A workflow as env has it under its binding. */
export interface Workflow<Params = unknown> {
    /** Throws a WorkflowError with code instance.not_found for an unknown id. */
    get(id: string): Promise<WorkflowInstance>;
    /** Writes the instance and its first job in one transaction. A used id is a WorkflowError, instance.already_exists. */
    create(options?: WorkflowInstanceCreateOptions<Params>): Promise<WorkflowInstance>;
    /** 1 to 100 in one transaction. Those whose id is used already are left out. */
    createBatch(batch: WorkflowInstanceCreateOptions<Params>[]): Promise<WorkflowInstance[]>;
}
/** Where a backend's lines go; console does. */
export interface WorkflowLogger {
    debug(message: string, facts?: Record<string, unknown>): void;
    info(message: string, facts?: Record<string, unknown>): void;
    warn(message: string, facts?: Record<string, unknown>): void;
    error(message: string, facts?: Record<string, unknown>): void;
}
