import { type StoredConfig } from "./protocol.js";
import type { WorkflowBackoff, WorkflowDelayDuration, WorkflowDelayFunction, WorkflowStepConfig, WorkflowStepContext, WorkflowTimeoutDuration } from "./types.js";
/** A step's configuration: as it was given, which its function is shown, and as it is stored. */
export interface Config {
    stored: StoredConfig;
    given: {
        delay: WorkflowDelayDuration;
        timeout: WorkflowTimeoutDuration;
    };
    delay: WorkflowDelayFunction | undefined;
}
/** Reads the configuration of a step as its call gives it; everything it does not say has its default. */
export declare function readConfig(step: string, config: WorkflowStepConfig | undefined): Config;
/** What a step's function is shown of its configuration: the stored one, which counts, in the words of the call. */
export declare function shownConfig(config: Config, stored: StoredConfig): WorkflowStepContext["config"];
/** The pause after failed attempt a, from 1, for a delay of d milliseconds. */
export declare function pauseAfter(backoff: WorkflowBackoff, d: number, a: number): number;
