import { Cancellation } from "./cancellation.js";
import { History, type StepKey, type StoredStep } from "./history.js";
import { type Ack, type Acquired, type EventRow, type Finish, type InstanceRow, type StepRow, type Wait, type Warning } from "./protocol.js";
import type { Store } from "./store.js";
import type { WorkflowLogger, WorkflowTrace } from "./types.js";
import { DateTime } from "./values.js";
/** Thrown through a step that may not go on because its run is over; its caller then waits for ever. */
export declare const OVER: unique symbol;
/** What a call gives that never comes back: the code hangs there, and is forgotten with its run. */
export declare function hang(): Promise<never>;
/** How a run ends before its workflow does. */
export type End = "suspended" | "lost" | "shutdown" | "stalled" | "refused";
export interface RunOptions {
    store: Store;
    log: WorkflowLogger;
    /** No new step begins after so many milliseconds, but the run's first. */
    budgetMs: number;
    strict: boolean;
    stepLimit: number;
    /** Of the request for the run. */
    trace: WorkflowTrace;
}
/**
 * One pass over a workflow's code: it replays what is stored and executes what is not. It ends by finishing, by
 * suspending (to wait, to hand over, to pause), or by losing the instance.
 */
export declare class Run {
    private readonly options;
    readonly instance: InstanceRow;
    readonly log: WorkflowLogger;
    /** Happens when what executes has to stop. */
    readonly cancelled: Cancellation;
    /** Settles when the run ends before the workflow does. */
    readonly ended: Promise<void>;
    /** Whether no step may begin or be stored any more, and how that came. */
    over: boolean;
    end: End | undefined;
    /** What the database refused. */
    fault: Error | undefined;
    warning: Warning | undefined;
    /** Somebody asked for a pause. */
    pausing: boolean;
    /** What earlier runs have stored. */
    readonly history: History;
    private readonly store;
    private readonly events;
    private readonly started;
    private readonly began;
    private readonly endings;
    private readonly waits;
    private active;
    private entering;
    private held;
    private draining;
    private stepped;
    private settling;
    private finishEnded;
    private idlers;
    constructor(got: Acquired, options: RunOptions);
    /** The database's clock, carried on by this process's monotonic one, in whole milliseconds. */
    now(): number;
    get stepLimit(): number;
    get trace(): WorkflowTrace;
    /** Whether the budget would be used up by a pause. */
    spent(pauseMs?: number): boolean;
    /**
     * Lets a step begin that is not stored as done, or throws OVER. However short the budget, a run may take one step,
     * so that every run gets further.
     */
    enter(key: StepKey, row: StoredStep | undefined): Promise<void>;
    /** Ends what enter began. */
    leave(): void;
    /** Ends what enter began with a wait for something that only another run will see. Throws OVER. */
    park(wait: Wait): never;
    /** When no step executes any more. */
    idle(): Promise<void>;
    /**
     * Suspends the run once nothing moves any more. The code may be about to call another step, which only shows when
     * everything has run that is ready to.
     */
    private settle;
    private decide;
    /** Ends the run and gives the instance back: with waits until the first of them ends, without to go on at once. */
    private suspend;
    renew(): Promise<Ack>;
    /** Ends the instance. */
    finish(end: Finish, size: number): Promise<Ack>;
    /** Gives the instance to whoever runs it next. */
    handBack(): Promise<void>;
    /** Makes one of the last writes after those before it: once the instance is given back, a warning finds it no more. */
    private ending;
    /** When the writes that end the run are through. */
    endWrites(): Promise<void>;
    /** Lets no step begin or be stored any more; what executes is cancelled unless the run suspends. */
    stop(how: End | "finished"): void;
    /** Takes the answer to a fenced write; throws OVER where the instance is lost. */
    heard(ack: Ack): void;
    /** Makes a fenced write and repeats it while the database is not reached, for as long as the lease can last. */
    write<T>(call: () => Promise<T>): Promise<T>;
    /**
     * Writes a step that is done, unless the run is over. One that only hands its instance over has it still: what is
     * done is stored. Tells whether the database did not know before that the step is done.
     */
    commit(step: StepRow, size: number, event?: number): Promise<boolean>;
    /** Writes a step that is not done yet. */
    begin(step: StepRow): Promise<void>;
    /**
     * The answer to a step's write, or OVER: because the database was not reached, does not let this process in, or lacks
     * the schema; or because it refuses the step itself, which it would do again in every run.
     */
    private storing;
    /** Takes the oldest event of a type out of those that no step has consumed. */
    takeEvent(type: string, deadline: DateTime): EventRow | undefined;
    /**
     * Notices when a new step runs although stored steps have not been reached: the code has changed under the instance,
     * or depends on something that no step keeps. While others run or wait beside it nobody can tell; then the end looks.
     */
    private checkOrder;
    /** Notes at the end of the workflow that stored steps were not reached. Tells whether that stops the run. */
    checkEnd(): boolean;
    private warn;
}
/** Calls the database again and again while it is not reached, for so long. */
export declare function persist<T>(call: () => Promise<T>, forMs: number): Promise<T>;
