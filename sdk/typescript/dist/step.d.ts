import { type Run } from "./run.js";
import { type WorkflowSleepDuration, WorkflowStep, type WorkflowStepEvent, type WorkflowTimeoutDuration, type WorkflowTrace } from "./types.js";
/** A run's handle, given to the workflow. */
export declare class RunStep extends WorkflowStep {
    #private;
    readonly trace: WorkflowTrace;
    constructor(run: Run);
    do<T>(name: string, ...rest: unknown[]): Promise<T>;
    sleep(name: string, duration: WorkflowSleepDuration): Promise<void>;
    sleepUntil(name: string, timestamp: Date | number): Promise<void>;
    waitForEvent<T>(name: string, options: {
        type: string;
        timeout?: WorkflowTimeoutDuration;
    }): Promise<WorkflowStepEvent<T>>;
}
