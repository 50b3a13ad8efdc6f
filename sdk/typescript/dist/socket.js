/**
 * RPC over one WebSocket, for Node.js only, which is why nothing imports this module when the package loads: with a
 * session that lasts, a call costs the database a fraction of what one over HTTP does.
 */
import { request as requestHTTP } from "node:http";
import { request as requestHTTPS } from "node:https";
import { decode, encode } from "./cbor.js";
import { AnswerTooLargeError, UnreachableError } from "./dberror.js";
import { FrameReader, OP, writeFrame } from "./frames.js";
import { answered, resultOf, rpcURL, signIn } from "./transport.js";
/** Time for connecting and signing in. */
const DIAL_MS = 10_000;
/** How often the server is asked whether it is there, and how long it then has to say anything at all. */
const PING_MS = 5_000;
/** Connects when it is used first, and again when the connection was lost. */
export class SocketTransport {
    endpoint;
    connection;
    closed = false;
    constructor(endpoint) {
        this.endpoint = endpoint;
    }
    async call(method, params, timeoutMs) {
        if (this.closed)
            throw new UnreachableError("the connection to the database is closed");
        this.connection ??= this.connect();
        const connection = await this.connection;
        return connection.call(method, params, timeoutMs);
    }
    close() {
        this.closed = true;
        this.connection?.then((connection) => connection.end("closed"), () => undefined);
    }
    connect() {
        const connecting = open(this.endpoint, () => {
            if (this.connection === connecting)
                this.connection = undefined;
        });
        connecting.catch(() => {
            if (this.connection === connecting)
                this.connection = undefined;
        });
        return connecting;
    }
}
/** A connection that is signed in. lost is called once, when it is over. */
async function open(endpoint, lost) {
    const connection = new Connection(await dial(rpcURL(endpoint.url, "ws")), lost);
    try {
        await signIn(endpoint, (credentials) => connection.call("signin", [credentials], DIAL_MS));
        await connection.call("use", [endpoint.namespace, endpoint.database], DIAL_MS);
        return connection;
    }
    catch (error) {
        connection.end("not signed in");
        throw error;
    }
}
function dial(url) {
    return new Promise((resolve, reject) => {
        const fail = (why) => reject(new UnreachableError(`connect to ${url}: ${why}`));
        const key = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64");
        const begin = url.startsWith("wss:") ? requestHTTPS : requestHTTP;
        const asked = begin(url.replace(/^ws/, "http"), {
            headers: { connection: "Upgrade", upgrade: "websocket", "sec-websocket-key": key, "sec-websocket-version": "13", "sec-websocket-protocol": "cbor" },
            timeout: DIAL_MS,
            agent: false,
        });
        asked.on("upgrade", (_answer, socket, head) => {
            if (head.length > 0)
                socket.unshift(head);
            socket.setTimeout(0);
            socket.setNoDelay(true);
            resolve(socket);
        });
        asked.on("response", (answer) => {
            answer.resume();
            fail(`it answers ${answer.statusCode} instead of opening a WebSocket`);
        });
        asked.on("timeout", () => asked.destroy(new Error(`no answer in ${DIAL_MS} ms`)));
        asked.on("error", (error) => fail(error.message));
        asked.end();
    });
}
class Connection {
    socket;
    lost;
    pending = new Map();
    reader = new FrameReader();
    ping;
    heard = true;
    last = 0;
    over;
    constructor(socket, lost) {
        this.socket = socket;
        this.lost = lost;
        socket.on("data", (chunk) => this.receive(chunk));
        socket.on("error", (error) => this.end(error.message));
        socket.on("close", () => this.end("closed by the server"));
        this.ping = setInterval(() => this.probe(), PING_MS);
        this.ping.unref(); // a connection that nobody uses keeps no process alive
        this.hold(false);
    }
    call(method, params, timeoutMs) {
        return new Promise((resolve, reject) => {
            if (this.over !== undefined)
                return reject(new UnreachableError(`the connection to the database is lost: ${this.over}`));
            const id = ++this.last;
            const body = encode({ id, method, params }); // what can't be encoded rejects the promise
            const timer = setTimeout(() => this.give(id)?.reject(new UnreachableError(`the database has not answered in ${timeoutMs} ms`)), timeoutMs);
            this.pending.set(id, { resolve, reject, timer });
            this.hold(true);
            this.socket.write(writeFrame(OP.binary, body));
        });
    }
    /** Takes a call off those that wait; undefined for one that has ended. */
    give(id) {
        const call = this.pending.get(id);
        if (!call)
            return undefined;
        this.pending.delete(id);
        clearTimeout(call.timer);
        if (this.pending.size === 0)
            this.hold(false);
        return call;
    }
    /** Ends the connection: whatever is under way fails. */
    end(why) {
        if (this.over !== undefined)
            return;
        this.over = why;
        clearInterval(this.ping);
        this.socket.destroy();
        for (const call of this.pending.values()) {
            clearTimeout(call.timer);
            call.reject(new UnreachableError(`the connection to the database is lost: ${why}`));
        }
        this.pending.clear();
        this.lost();
    }
    /** Whether the process has to stay for this connection. */
    hold(busy) {
        const socket = this.socket;
        if (busy)
            socket.ref?.();
        else
            socket.unref?.();
    }
    probe() {
        if (!this.heard)
            return this.end(`silent for ${PING_MS} ms`);
        this.heard = false;
        this.socket.write(writeFrame(OP.ping, new Uint8Array(0)));
    }
    receive(chunk) {
        this.heard = true;
        try {
            for (const frame of this.reader.push(chunk)) {
                if (frame.tooLarge !== undefined)
                    this.refuse(frame.payload, frame.tooLarge);
                else if (frame.op === OP.binary)
                    this.answer(decode(frame.payload));
                else if (frame.op === OP.ping)
                    this.socket.write(writeFrame(OP.pong, frame.payload));
                else if (frame.op === OP.close)
                    return this.end("closed by the server");
            }
        }
        catch (error) {
            this.end(`it does not understand the server: ${String(error)}`);
        }
    }
    /** Ends the call whose answer is too large. */
    refuse(begin, size) {
        const id = answered(begin);
        if (id === undefined)
            throw new Error(`the server sends ${size} bytes that answer nothing`);
        this.give(id)?.reject(new AnswerTooLargeError(`the database's answer is too large: ${size} bytes`));
    }
    answer(reply) {
        const call = this.give(reply.id);
        if (!call)
            return; // it comes too late
        try {
            call.resolve(resultOf(reply));
        }
        catch (error) {
            call.reject(error);
        }
    }
}
