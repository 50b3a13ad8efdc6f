/** What differs between the runtimes. Everything here is looked up, nothing imported: the package loads in all of them. */
/** Cloudflare's runtime, in which promises and connections belong to the request that made them. */
export declare const onWorkerd: boolean;
/** Node.js itself, and none of those that resemble it. */
export declare const onNode: boolean;
/** A variable of the process's environment, where there is one. */
export declare function variable(name: string): string | undefined;
/** Lets everything run that is ready to. */
export declare function turn(): Promise<void>;
/** Calls fn after so many milliseconds, however many. Returns what prevents it. */
export declare function later(ms: number, fn: () => void): () => void;
/** What carries a value along the asynchronous calls that a function makes. */
export interface Scope<T> {
    run<R>(value: T, fn: () => R): R;
    getStore(): T | undefined;
}
/** AsyncLocalStorage, where the runtime has it; elsewhere something that knows of no value. */
export declare function newScope<T>(): Scope<T>;
