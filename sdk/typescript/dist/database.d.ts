import type { Endpoint, Transport } from "./transport.js";
/** How long a call waits for its answer. */
export declare const CALL_MS = 15000;
/** The database as workflows see it: one statement at a time, repeated where it lost a conflict. */
export declare class Database {
    private readonly endpoint;
    private readonly open;
    private transport;
    constructor(endpoint: Endpoint, open?: (e: Endpoint) => Transport | Promise<Transport>);
    /**
     * The result of one statement. A conflict with another transaction had no effect and is repeated; anything else
     * the database refuses is a DatabaseError, and a call of which nothing is known an UnreachableError.
     */
    query<T>(surql: string, vars: Record<string, unknown>, timeoutMs?: number): Promise<T>;
    close(): Promise<void>;
    private once;
}
