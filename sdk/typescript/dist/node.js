/**
 * A server for Node.js, which has none that speaks fetch.
 *
 * @packageDocumentation
 */
import { createServer } from "node:http";
import { Readable } from "node:stream";
/**
 * How long a connection may be idle. The runner keeps its own for 60 s: a server that closed them earlier would now and
 * then close one under a request.
 */
const KEEP_ALIVE_MS = 120_000;
/** Serves an app until it is closed, or until the process is told to end. Resolves when it listens. */
export async function serve(app, options = {}) {
    const { hostname = process.env["HOST"] || "127.0.0.1", signals = true } = options;
    const env = options.env ?? { ...process.env }; // a copy: every look into the real one asks the system
    const afterwards = new Set();
    const ctx = {
        waitUntil(promise) {
            const quiet = promise.catch((error) => console.error(error)).finally(() => afterwards.delete(quiet));
            afterwards.add(quiet);
        },
        passThroughOnException: () => undefined,
    };
    const open = new Set();
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => void handle(app, env, ctx, req, res, open));
    const port = await listen(server, options.port ?? Number(process.env["PORT"] || 3000), hostname);
    let closing;
    const close = () => (closing ??= shutDown(app, server, open, afterwards));
    if (signals)
        for (const signal of ["SIGTERM", "SIGINT"])
            process.once(signal, () => void close().finally(() => process.exit(0)));
    return { url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`, port, close };
}
function listen(server, port, hostname) {
    return new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, hostname, () => {
            server.off("error", reject);
            resolve(server.address().port);
        });
    });
}
/** How long requests that are under way may still take when the server closes. */
const GRACE_MS = 10_000;
async function shutDown(app, server, open, afterwards) {
    const ended = new Promise((resolve) => server.close(() => resolve()));
    await app.close?.(); // in this order: runs hand over, then the server ends
    const until = performance.now() + GRACE_MS;
    while (open.size > 0 && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, 10));
    server.closeAllConnections(); // those that never had a request, too, for which the server would wait
    await ended;
    await Promise.allSettled([...afterwards]);
}
/** Answers a request. open keeps it until its end: the signal of a request that nobody holds any more never ends. */
async function handle(app, env, ctx, req, res, open) {
    const aborter = new AbortController();
    const request = toRequest(req, aborter.signal);
    if (!request)
        return void res.writeHead(400, { "content-type": "text/plain" }).end("bad request");
    open.add(request);
    res.on("close", () => {
        if (!res.writableFinished)
            aborter.abort(new Error("the client is gone"));
        open.delete(request);
    });
    try {
        const answer = await app.fetch(request, env, ctx);
        await send(answer, res, req.method === "HEAD");
    }
    catch (error) {
        if (aborter.signal.aborted)
            return;
        console.error(error);
        if (res.headersSent)
            res.destroy();
        else
            res.writeHead(500, { "content-type": "text/plain" }).end("internal error");
    }
}
/** The request as fetch has it; nothing for one that it can't have: a host that is none, TRACE. */
function toRequest(req, signal) {
    const headers = new Headers();
    for (let i = 0; i < req.rawHeaders.length; i += 2)
        headers.append(req.rawHeaders[i], req.rawHeaders[i + 1]);
    const method = req.method ?? "GET";
    const url = `http://${req.headers.host ?? "localhost"}${req.url?.startsWith("/") ? req.url : "/"}`;
    const bare = method === "GET" || method === "HEAD";
    const init = { method, headers, signal, ...(!bare && { body: Readable.toWeb(req), duplex: "half" }) };
    try {
        return new Request(url, init);
    }
    catch {
        return undefined;
    }
}
async function send(answer, res, head) {
    const headers = [...answer.headers].filter(([name]) => name !== "set-cookie");
    const cookies = answer.headers.getSetCookie();
    res.writeHead(answer.status, answer.statusText, [...headers, ...cookies.map((cookie) => ["set-cookie", cookie])].flat());
    if (head || !answer.body)
        return void res.end();
    res.flushHeaders(); // the first part of a stream may be long in coming
    const body = Readable.fromWeb(answer.body);
    body.on("error", () => res.destroy());
    res.on("close", () => body.destroy());
    body.pipe(res);
}
