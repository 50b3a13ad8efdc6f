import type { Cancellation } from "./cancellation.js";
/** How an attempt ended: with the function, or before it. */
export type Ended<T> = {
    value: T;
} | {
    error: unknown;
} | {
    over: true;
};
/**
 * Calls fn and ends when it does, when the time is up, or when the run is over, whichever is first. The signal that fn
 * gets ends in the last two cases; a function that ignores it holds nothing up, and its late result is thrown away.
 */
export declare function attempt<T>(fn: (signal: AbortSignal) => Promise<T> | T, timeoutMs: number, slow: () => Error, run: Cancellation): Promise<Ended<T>>;
