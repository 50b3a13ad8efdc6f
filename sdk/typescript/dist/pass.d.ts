import { type Acquired } from "./protocol.js";
import { Run, type RunOptions } from "./run.js";
/** How a request for a run ended. */
export interface Result {
    state: "missing" | "busy" | "done" | "paused" | "superseded" | "complete" | "errored" | "suspended" | "lost" | "shutdown" | "stalled";
    /** The workflow's own error, where it has one. */
    error?: string;
}
/** One run of an instance, from its lease to its end. */
export declare class Pass {
    readonly run: Run;
    private kept;
    private beating;
    constructor(got: Acquired, options: RunOptions);
    /** Runs the workflow's code and writes what it came to. Throws nothing. */
    drive(code: (run: Run) => Promise<unknown>): Promise<Result>;
    private came;
    private execute;
    /** Renews the lease; one that nothing has renewed for as long as it lasts is somebody else's. */
    beat(): Promise<void>;
    private conclude;
    /** Ends a run that is over before its workflow is. */
    private leave;
    private finish;
    private ending;
}
