import { milliseconds } from "./duration.js";
import { WorkflowFatalError } from "./errors.js";
import { MAX_SLEEP_MS } from "./protocol.js";
const DEFAULTS = { limit: 5, delay: 10_000, backoff: "exponential", timeout: "10 minutes" };
const MAX_LIMIT = 10_000;
const BACKOFFS = ["constant", "linear", "exponential"];
/** The delay that is kept, and used where the code has no function any more, for one that a function gives. */
const DYNAMIC_DELAY = 1000;
function refuse(step, why) {
    throw new WorkflowFatalError("config", `step "${step}": ${why}`);
}
/** Reads the configuration of a step as its call gives it; everything it does not say has its default. */
export function readConfig(step, config) {
    known(step, config ?? {}, ["retries", "timeout"], "the step's configuration");
    const { limit, delay, backoff } = readRetries(step, config?.retries);
    const timeout = config?.timeout ?? DEFAULTS.timeout;
    const timeoutMs = milliseconds(timeout, `step "${step}": timeout`);
    if (timeoutMs <= 0)
        refuse(step, `timeout ${timeout} must be positive`);
    const dynamic = typeof delay === "function";
    return {
        stored: { retries: { limit, delay: dynamic ? DYNAMIC_DELAY : Math.floor(milliseconds(delay, "delay")), backoff }, timeout: Math.max(1, Math.floor(timeoutMs)), ...(dynamic && { dynamic }) },
        given: { delay: dynamic ? DYNAMIC_DELAY : delay, timeout },
        delay: dynamic ? delay : undefined,
    };
}
function readRetries(step, retries) {
    if (retries === undefined)
        return { limit: DEFAULTS.limit, delay: DEFAULTS.delay, backoff: DEFAULTS.backoff };
    known(step, retries, ["limit", "delay", "backoff"], "retries");
    const { limit, delay, backoff = DEFAULTS.backoff } = retries;
    if (typeof limit !== "number" || !(limit >= 0 && limit <= MAX_LIMIT))
        refuse(step, `retry limit ${String(limit)}; allowed: 0 to ${MAX_LIMIT}`);
    if (delay === undefined)
        refuse(step, "retries without a delay");
    if (typeof delay !== "function" && milliseconds(delay, `step "${step}": retry delay`) < 0)
        refuse(step, `retry delay ${delay} is negative`);
    if (!BACKOFFS.includes(backoff))
        refuse(step, `backoff ${JSON.stringify(backoff)}; allowed: ${BACKOFFS.join(", ")}`);
    return { limit: Math.floor(limit), delay, backoff };
}
/** Refuses keys that nobody would act on. */
function known(step, object, keys, what) {
    if (typeof object !== "object" || object === null)
        refuse(step, `${what} is no object`);
    for (const key of Object.keys(object)) {
        if (key === "sensitive")
            refuse(step, "sensitive outputs are not supported: whoever may read the instance sees what its steps return");
        if (!keys.includes(key))
            refuse(step, `unknown key ${JSON.stringify(key)} in ${what}; known: ${keys.join(", ")}`);
    }
}
/** What a step's function is shown of its configuration: the stored one, which counts, in the words of the call. */
export function shownConfig(config, stored) {
    const same = stored.timeout === config.stored.timeout;
    const sameDelay = stored.retries.delay === config.stored.retries.delay;
    const { limit, backoff, delay } = stored.retries;
    return {
        retries: { limit, ...(!stored.dynamic && { delay: sameDelay ? config.given.delay : delay }), backoff },
        timeout: same ? config.given.timeout : stored.timeout,
    };
}
/** The pause after failed attempt a, from 1, for a delay of d milliseconds. */
export function pauseAfter(backoff, d, a) {
    const factor = backoff === "linear" ? a : backoff === "exponential" ? 2 ** (a - 1) : 1;
    return Math.min(d * factor, MAX_SLEEP_MS);
}
