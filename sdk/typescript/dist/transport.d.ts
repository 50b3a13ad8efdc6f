/** Where the database is, and who asks. */
export interface Endpoint {
    /** With http, https, ws or wss; the path /rpc is added where it is missing. */
    url: string;
    namespace: string;
    database: string;
    username: string;
    password: string;
}
/** A way to the database: SurrealDB's RPC, signed in. Any number of calls may be under way at a time. */
export interface Transport {
    /** Throws a DatabaseError for what the database refuses, an UnreachableError where nothing is known. */
    call(method: string, params: unknown[], timeoutMs: number): Promise<unknown>;
    /** Ends what is open; calls under way fail. */
    close(): void;
}
/** What SurrealDB answers to a request. */
export interface Reply {
    id?: unknown;
    result?: unknown;
    error?: {
        message?: string;
        kind?: string;
        code?: number;
    };
}
/** The result of a reply, or its error. */
export declare function resultOf(reply: Reply): unknown;
/** The id of the request that is answered by a reply of which only the beginning is there; undefined for a notification. Servers say it first. */
export declare function answered(begin: Uint8Array): number | undefined;
/** The address of RPC for a scheme, from an address with any of the four. */
export declare function rpcURL(url: string, scheme: "http" | "ws"): string;
/** Signs in as a root user, then as a database's, then as a namespace's, whichever is let in first. */
export declare function signIn(e: Endpoint, call: (credentials: Record<string, string>) => Promise<unknown>): Promise<unknown>;
