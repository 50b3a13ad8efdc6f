import type { Cancellation } from "./cancellation.js";
import { later } from "./platform.js";

/** How an attempt ended: with the function, or before it. */
export type Ended<T> = { value: T } | { error: unknown } | { over: true };

/**
 * Calls fn and ends when it does, when the time is up, or when the run is over, whichever is first. The signal that fn
 * gets ends in the last two cases; a function that ignores it holds nothing up, and its late result is thrown away.
 */
export function attempt<T>(fn: (signal: AbortSignal) => Promise<T> | T, timeoutMs: number, slow: () => Error, run: Cancellation): Promise<Ended<T>> {
	return new Promise((resolve) => {
		if (run.happened) return resolve({ over: true });
		const aborter = new AbortController();
		const end = (how: Ended<T>) => {
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
		call(fn, aborter.signal).then((value) => end({ value }), (error: unknown) => end({ error }));
	});
}

async function call<T>(fn: (signal: AbortSignal) => Promise<T> | T, signal: AbortSignal): Promise<T> {
	return fn(signal);
}
