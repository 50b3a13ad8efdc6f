/** An end that any number wait for, without a word of warning about their number, which an AbortSignal has. */
export class Cancellation {
    reason;
    listeners = new Set();
    get happened() {
        return this.reason !== undefined;
    }
    happen(reason) {
        if (this.happened)
            return;
        this.reason = reason;
        for (const listener of [...this.listeners])
            listener();
        this.listeners.clear();
    }
    /** Calls fn when it happens, or at once where it has. Returns what takes that back. */
    listen(fn) {
        if (this.happened)
            fn();
        else
            this.listeners.add(fn);
        return () => this.listeners.delete(fn);
    }
}
