import { type Config } from "./config.js";
import { type Wait } from "./protocol.js";
import type { StepKey, StoredStep } from "./history.js";
import { type Run } from "./run.js";
import type { WorkflowStepContext } from "./types.js";
export type StepFunction = (ctx: WorkflowStepContext) => unknown;
/** What became of a step in this run: a result, or a wait that the run has to suspend over. Failures are thrown. */
export type Outcome = {
    value: unknown;
} | {
    wait: Wait;
};
/** The attempts of one step. */
export declare class Attempts {
    private readonly run;
    private readonly config;
    private readonly fn;
    private readonly step;
    /** The last attempt was ended by closeLost, which no row says yet. */
    private lost;
    constructor(run: Run, key: StepKey, row: StoredStep | undefined, config: Config, fn: StepFunction);
    /** Makes attempts until the step is done, or has to wait for longer than the run may. */
    all(): Promise<Outcome>;
    private get limit();
    private get last();
    /** How many attempts have begun. */
    private get tried();
    private get exhausted();
    /** Ends an attempt that an earlier run began and did not live to end: it counts. */
    private closeLost;
    /** Waits within the run. */
    private rest;
    /** Sets when the next attempt is due, counted from when the last one ended. */
    private schedule;
    private dynamicDelay;
    /** Makes one attempt. Nothing where another has to follow. */
    private try;
    private failed;
    /** Stores the step as failed for good and throws its error. */
    private fail;
    /**
     * Leaves an attempt that the run's own end cut short. At a shutdown it is taken back, for it is nobody's fault; but
     * not that of a step without retries, which must not run twice and may have done half its work.
     */
    private abandon;
    /** Calls the step's function, with a row written before or meanwhile where it must show. */
    private call;
    /** What the function gets: a copy of its own at each call. */
    private context;
    /** Writes the step's row when the attempt takes its time. What it returns waits for a write under way. */
    private beginLater;
}
