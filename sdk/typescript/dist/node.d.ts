/**
 * A server for Node.js, which has none that speaks fetch.
 *
 * @packageDocumentation
 */
/** What is served: an app that withWorkflows made, or anything else with fetch. */
export interface Served {
    fetch(request: Request, env?: unknown, ctx?: unknown): Response | Promise<Response>;
    close?(): Promise<void>;
}
export interface ServeOptions {
    /** Defaults to PORT, else 3000. 0 takes a free one. */
    port?: number;
    /** Defaults to HOST, else 127.0.0.1. In a container, loopback is of no use to anybody. */
    hostname?: string;
    /** What requests get as env. Defaults to the process's environment. */
    env?: Record<string, unknown>;
    /** Whether SIGTERM and SIGINT close the server and end the process. Defaults to true. */
    signals?: boolean;
}
export interface Serving {
    /** The base URL. */
    readonly url: string;
    readonly port: number;
    /** Hands the workflows over, lets the requests under way end, for 10 s at most, and ends. */
    close(): Promise<void>;
}
/** Serves an app until it is closed, or until the process is told to end. Resolves when it listens. */
export declare function serve(app: Served, options?: ServeOptions): Promise<Serving>;
