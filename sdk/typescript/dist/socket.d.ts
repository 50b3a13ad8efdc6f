/**
 * RPC over one WebSocket, for Node.js only, which is why nothing imports this module when the package loads: with a
 * session that lasts, a call costs the database a fraction of what one over HTTP does.
 */
import { type Endpoint, type Transport } from "./transport.js";
/** Connects when it is used first, and again when the connection was lost. */
export declare class SocketTransport implements Transport {
    private readonly endpoint;
    private connection;
    private closed;
    constructor(endpoint: Endpoint);
    call(method: string, params: unknown[], timeoutMs: number): Promise<unknown>;
    close(): void;
    private connect;
}
