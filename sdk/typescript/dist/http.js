import { decode, encode } from "./cbor.js";
import { DatabaseError, UnreachableError } from "./dberror.js";
import { resultOf, rpcURL, signIn } from "./transport.js";
/** Most bytes that SurrealDB takes as one request over HTTP. */
export const MAX_HTTP_BODY = 4 << 20;
const CBOR = "application/cbor";
/**
 * RPC over fetch: nothing lasts from one call to the next but the token, as workerd wants it, where what one request
 * has opened can't be used by another.
 */
export class HttpTransport {
    endpoint;
    url;
    token;
    constructor(endpoint) {
        this.endpoint = endpoint;
        this.url = rpcURL(endpoint.url, "http");
    }
    async call(method, params, timeoutMs) {
        const fresh = this.token === undefined;
        this.token ??= await this.signIn(timeoutMs);
        try {
            return await this.post(method, params, timeoutMs, this.token);
        }
        catch (error) {
            if (fresh || !(error instanceof DatabaseError) || !error.sessionLost)
                throw error;
            this.token = undefined; // it has expired
            return this.call(method, params, timeoutMs);
        }
    }
    close() { }
    async signIn(timeoutMs) {
        return String(await signIn(this.endpoint, (credentials) => this.post("signin", [credentials], timeoutMs)));
    }
    async post(method, params, timeoutMs, token) {
        const body = encode({ id: 1, method, params });
        if (body.length > MAX_HTTP_BODY)
            throw new DatabaseError(`a request of ${body.length} bytes is more than SurrealDB takes over HTTP (${MAX_HTTP_BODY}): send less at once`);
        const headers = { "content-type": CBOR, accept: CBOR };
        if (token !== undefined) {
            headers["authorization"] = `Bearer ${token}`;
            headers["surreal-ns"] = this.endpoint.namespace;
            headers["surreal-db"] = this.endpoint.database;
        }
        const [status, answer] = await this.send(body, headers, timeoutMs);
        if (status === 200)
            return resultOf(decode(answer));
        const text = new TextDecoder().decode(answer).slice(0, 300);
        if (status === 401)
            throw new DatabaseError(`The session has expired, or was refused: ${text}`, "NotAllowed");
        if (status >= 500 || status === 429)
            throw new UnreachableError(`${this.url} answers ${status}: ${text}`);
        throw new DatabaseError(`${this.url} answers ${status}: ${text}`);
    }
    async send(body, headers, timeoutMs) {
        const aborter = new AbortController();
        const timer = setTimeout(() => aborter.abort(), timeoutMs);
        try {
            const answer = await fetch(this.url, { method: "POST", body: body, headers, signal: aborter.signal });
            return [answer.status, new Uint8Array(await answer.arrayBuffer())];
        }
        catch (error) {
            throw new UnreachableError(`call ${this.url}: ${aborter.signal.aborted ? `no answer in ${timeoutMs} ms` : reason(error)}`);
        }
        finally {
            clearTimeout(timer);
        }
    }
}
function reason(error) {
    if (!(error instanceof Error))
        return String(error);
    return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
