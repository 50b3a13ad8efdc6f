/** What a run says to the database: docs/protocol.md describes it for any language. */
export const LEASE_MS = 15_000;
export const RENEW_MS = 5_000;
/** How long a run's call waits for its answer before it is made again: a lease lasts for two. */
export const RUN_CALL_MS = 7_000;
/** The longest sleep, and wait for an event. */
export const MAX_SLEEP_MS = 365 * 86_400_000;
/** How many attempts a step's row keeps: it is written at each of them, and there may be thousands. */
export const KEPT_ATTEMPTS = 50;
export function isDone(step) {
    return step.status === "complete" || step.status === "errored";
}
