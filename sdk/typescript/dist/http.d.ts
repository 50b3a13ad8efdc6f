import { type Endpoint, type Transport } from "./transport.js";
/** Most bytes that SurrealDB takes as one request over HTTP. */
export declare const MAX_HTTP_BODY: number;
/**
 * RPC over fetch: nothing lasts from one call to the next but the token, as workerd wants it, where what one request
 * has opened can't be used by another.
 */
export declare class HttpTransport implements Transport {
    private readonly endpoint;
    private readonly url;
    private token;
    constructor(endpoint: Endpoint);
    call(method: string, params: unknown[], timeoutMs: number): Promise<unknown>;
    close(): void;
    private signIn;
    private post;
    private send;
}
