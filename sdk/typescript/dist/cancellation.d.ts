/** An end that any number wait for, without a word of warning about their number, which an AbortSignal has. */
export declare class Cancellation {
    reason: Error | undefined;
    private readonly listeners;
    get happened(): boolean;
    happen(reason: Error): void;
    /** Calls fn when it happens, or at once where it has. Returns what takes that back. */
    listen(fn: () => void): () => void;
}
