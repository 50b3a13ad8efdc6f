/** What a run says to the database: docs/protocol.md describes it for any language. */
import type { DateTime, RecordId } from "./values.js";
export declare const LEASE_MS = 15000;
export declare const RENEW_MS = 5000;
/** How long a run's call waits for its answer before it is made again: a lease lasts for two. */
export declare const RUN_CALL_MS = 7000;
/** The longest sleep, and wait for an event. */
export declare const MAX_SLEEP_MS: number;
export type Kind = "do" | "sleep" | "waitForEvent";
export type StepStatus = "running" | "retrying" | "waiting" | "complete" | "errored";
export interface StoredError {
    name: string;
    message: string;
    stack?: string;
    /** The error's own enumerable properties. */
    details?: Record<string, unknown>;
}
export interface Attempt {
    started_at: DateTime;
    ended_at?: DateTime;
    error?: StoredError;
}
/** How many attempts a step's row keeps: it is written at each of them, and there may be thousands. */
export declare const KEPT_ATTEMPTS = 50;
/** A step's configuration as it was when it first began, in milliseconds. */
export interface StoredConfig {
    retries: {
        limit: number;
        delay: number;
        backoff: "constant" | "linear" | "exponential";
    };
    timeout: number;
    /** The delay came from a function, which only the code has. */
    dynamic?: boolean;
}
export interface StepRow {
    seq: number;
    kind: Kind;
    name: string;
    occurrence: number;
    status: StepStatus;
    /** The last KEPT_ATTEMPTS of them. */
    attempts: Attempt[];
    /** How many came before those. */
    attempts_before?: number;
    config: StoredConfig | undefined;
    output: unknown;
    error: StoredError | undefined;
    retry_at: DateTime | undefined;
    wake_at: DateTime | undefined;
    started_at: DateTime;
}
export interface InstanceRow {
    id: string;
    binding: string;
    params: unknown;
    runs: number;
    fence: number;
    incarnation: number;
    /** Who may read it; copied onto its steps. */
    owner?: RecordId;
    created_at: DateTime;
    pause_requested?: DateTime;
}
export interface EventRow {
    number: number;
    type: string;
    payload: unknown;
    sent_at: DateTime;
}
export interface Acquired {
    state: "missing" | "done" | "paused" | "superseded" | "busy" | "acquired";
    now: DateTime;
    instance: InstanceRow;
    steps: StepRow[];
    events: EventRow[];
}
/** The answer to a fenced write: not ok, where the instance is not the run's any more. */
export interface Ack {
    ok: boolean;
    pause?: boolean;
    /** The step was finished before: its row stays what it was. */
    repeated?: boolean;
}
/** A step's row to be written, for the run that has the instance under this fence. */
export interface StepWrite {
    instance: InstanceRow;
    step: StepRow;
    /** When it was done. */
    finishedAt?: DateTime;
    /** Number of the event that the step consumed. */
    event?: number;
    /** About how many bytes it takes. */
    size: number;
}
/** What a suspended instance waits for. */
export interface Wait {
    kind: "sleep" | "event" | "retry" | "replay";
    name: string;
    wakeAt: DateTime;
    types: string[];
}
export interface Finish {
    status: "complete" | "errored";
    output: unknown;
    error: StoredError | undefined;
    warning: Warning | undefined;
}
export interface Warning {
    code: "nondeterminism";
    unreached: string[];
    instead?: string;
    message: string;
}
export declare function isDone(step: StepRow): boolean;
