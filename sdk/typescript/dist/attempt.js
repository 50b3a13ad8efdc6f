import { later } from "./platform.js";
/**
 * Calls fn and ends when it does, when the time is up, or when the run is over, whichever is first. The signal that fn
 * gets ends in the last two cases; a function that ignores it holds nothing up, and its late result is thrown away.
 */
export function attempt(fn, timeoutMs, slow, run) {
    return new Promise((resolve) => {
        if (run.happened)
            return resolve({ over: true });
        const aborter = new AbortController();
        const end = (how) => {
            cancel();
            unlisten();
            resolve(how);
        };
        const cancel = later(timeoutMs, () => {
            const error = slow();
            end({ error });
            aborter.abort(error);
        });
        const unlisten = run.listen(() => {
            end({ over: true });
            aborter.abort(run.reason);
        });
        call(fn, aborter.signal).then((value) => end({ value }), (error) => end({ error }));
    });
}
async function call(fn, signal) {
    return fn(signal);
}
