/**
 * A server for Node.js, which has none that speaks fetch.
 *
 * @packageDocumentation
 */

import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";

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

/**
 * How long a connection may be idle. The runner keeps its own for 60 s: a server that closed them earlier would now and
 * then close one under a request.
 */
const KEEP_ALIVE_MS = 120_000;

/** Serves an app until it is closed, or until the process is told to end. Resolves when it listens. */
export async function serve(app: Served, options: ServeOptions = {}): Promise<Serving> {
	const { hostname = process.env["HOST"] || "127.0.0.1", signals = true } = options;
	const env = options.env ?? { ...process.env }; // a copy: every look into the real one asks the system
	const afterwards = new Set<Promise<unknown>>();
	const ctx = {
		waitUntil(promise: Promise<unknown>) {
			const quiet = promise.catch((error: unknown) => console.error(error)).finally(() => afterwards.delete(quiet));
			afterwards.add(quiet);
		},
		passThroughOnException: () => undefined,
	};
	const open = new Set<Request>();
	const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => void handle(app, env, ctx, req, res, open));
	const port = await listen(server, options.port ?? Number(process.env["PORT"] || 3000), hostname);
	let closing: Promise<void> | undefined;
	const close = () => (closing ??= shutDown(app, server, open, afterwards));
	if (signals) for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => void close().finally(() => process.exit(0)));
	return { url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`, port, close };
}

function listen(server: Server, port: number, hostname: string): Promise<number> {
	return new Promise((resolve, reject) => {
		server.once("error", reject);
		server.listen(port, hostname, () => {
			server.off("error", reject);
			resolve((server.address() as AddressInfo).port);
		});
	});
}

/** How long requests that are under way may still take when the server closes. */
const GRACE_MS = 10_000;

async function shutDown(app: Served, server: Server, open: Set<Request>, afterwards: Set<Promise<unknown>>): Promise<void> {
	const ended = new Promise<void>((resolve) => server.close(() => resolve()));
	await app.close?.(); // in this order: runs hand over, then the server ends
	const until = performance.now() + GRACE_MS;
	while (open.size > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
	server.closeAllConnections(); // those that never had a request, too, for which the server would wait
	await ended;
	await Promise.allSettled([...afterwards]);
}

/** Answers a request. open keeps it until its end: the signal of a request that nobody holds any more never ends. */
async function handle(app: Served, env: Record<string, unknown>, ctx: unknown, req: IncomingMessage, res: ServerResponse, open: Set<Request>): Promise<void> {
	const aborter = new AbortController();
	const request = toRequest(req, aborter.signal);
	if (!request) return void res.writeHead(400, { "content-type": "text/plain" }).end("bad request");
	open.add(request);
	res.on("close", () => {
		if (!res.writableFinished) aborter.abort(new Error("the client is gone"));
		open.delete(request);
	});
	try {
		const answer = await app.fetch(request, env, ctx);
		await send(answer, res, req.method === "HEAD");
	} catch (error) {
		if (aborter.signal.aborted) return;
		console.error(error);
		if (res.headersSent) res.destroy();
		else res.writeHead(500, { "content-type": "text/plain" }).end("internal error");
	}
}

/** The request as fetch has it; nothing for one that it can't have: a host that is none, TRACE. */
function toRequest(req: IncomingMessage, signal: AbortSignal): Request | undefined {
	const headers = new Headers();
	for (let i = 0; i < req.rawHeaders.length; i += 2) headers.append(req.rawHeaders[i]!, req.rawHeaders[i + 1]!);
	const method = req.method ?? "GET";
	const url = `http://${req.headers.host ?? "localhost"}${req.url?.startsWith("/") ? req.url : "/"}`;
	const bare = method === "GET" || method === "HEAD";
	const init = { method, headers, signal, ...(!bare && { body: Readable.toWeb(req) as ReadableStream, duplex: "half" as const }) };
	try {
		return new Request(url, init);
	} catch {
		return undefined;
	}
}

async function send(answer: Response, res: ServerResponse, head: boolean): Promise<void> {
	const headers: [string, string][] = [...answer.headers].filter(([name]) => name !== "set-cookie");
	const cookies = answer.headers.getSetCookie();
	res.writeHead(answer.status, answer.statusText, [...headers, ...cookies.map((cookie): [string, string] => ["set-cookie", cookie])].flat());
	if (head || !answer.body) return void res.end();
	res.flushHeaders(); // the first part of a stream may be long in coming
	const body = Readable.fromWeb(answer.body as WebStream);
	body.on("error", () => res.destroy());
	res.on("close", () => body.destroy());
	body.pipe(res);
}
