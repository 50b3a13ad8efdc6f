/**
 * The embedded development database: SurrealDB's engine behind SurrealDB's own protocol.
 *
 * It prints one line of JSON on stdout when clients can connect, and ends when its stdin closes, so that it never
 * outlives the process that started it.
 */
import { rmSync } from "node:fs";
import { open } from "./database.mjs";
import { decode } from "./decode.mjs";
import * as cbor from "./encode.mjs";
import { HttpApi } from "./http.mjs";
import { Hub } from "./hub.mjs";
import { options } from "./options.mjs";
import { Server } from "./server.mjs";
import { StartError } from "./start-error.mjs";
import { Session } from "./session.mjs";

/** At the end: how long clients may take to go, and how long their last requests may take. */
const GRACE_MS = Object.freeze({ clients: 1000, requests: 3000 });

process.title = "spky-devdb";

try {
	await main();
} catch (err) {
	const known = err instanceof StartError;
	// A fault of the program needs its stack; what a person can mend needs only the remedy.
	if (!known) console.error("devdb: start:", err);
	say({ ready: false, reason: known ? err.reason : "engine", error: String(/** @type {any} */ (err)?.message ?? err) });
	process.exit(1);
}

async function main() {
	const opts = options(process.argv.slice(2), process.env);
	const ended = theEnd();
	const server = new Server();
	const port = await listen(server, opts);
	const engine = await open(opts);
	const hub = new Hub();
	void engine.notifications((notification) => hub.deliver(notification));
	server.serve(engine, hub, new HttpApi(engine, await version(engine)));
	const host = opts.host.includes(":") ? `[${opts.host}]` : opts.host;
	say({ ready: true, url: `ws://${host}:${port}/rpc`, port, pid: process.pid });
	await ended;
	await stop(server, engine);
	if (opts.ephemeral) rmSync(opts.data, { recursive: true, force: true, maxRetries: 5 });
	process.exit(0);
}

/**
 * @param {Server} server
 * @param {import("./options.mjs").Options} opts
 */
async function listen(server, { host, port }) {
	try {
		return await server.listen(host, port);
	} catch (err) {
		const { code, message } = /** @type {NodeJS.ErrnoException} */ (err);
		if (code === "EADDRINUSE") {
			throw new StartError("port", `${host}:${port} is in use: stop what listens there, or choose another --listen (port 0 picks a free one)`);
		}
		throw new StartError("port", `cannot listen on ${host}:${port} (${message}): choose another --listen`);
	}
}

/** @param {import("./engine.mjs").Engine} engine */
async function version(engine) {
	const session = new Session(engine);
	await session.open();
	const answer = await session.call("version", cbor.array([]));
	await session.close();
	return String(decode(answer.cbor));
}

/** Resolves when the parent has died or asks for the end. */
function theEnd() {
	return new Promise((resolve) => {
		process.stdin.on("end", resolve).on("close", resolve).on("error", resolve).resume();
		process.on("SIGTERM", resolve).on("SIGINT", resolve).on("SIGHUP", resolve);
	});
}

/**
 * Closes the database if the clients let it. If not, nothing is lost: what was acknowledged is with the operating system.
 *
 * @param {Server} server
 * @param {import("./engine.mjs").Engine} engine
 */
async function stop(server, engine) {
	const late = new Promise((resolve) => setTimeout(resolve, GRACE_MS.requests));
	await Promise.race([server.close(GRACE_MS.clients).then(() => engine.close()), late]);
}

/** @param {unknown} value */
function say(value) {
	// Nobody may be left to read it.
	process.stdout.on("error", () => {}).write(`${JSON.stringify(value)}\n`);
}
