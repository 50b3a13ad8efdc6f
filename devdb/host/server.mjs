import { createServer } from "node:http";
import { WebSocketServer } from "ws";
import { Connection } from "./connection.mjs";
import { Session } from "./session.mjs";

/** Largest WebSocket message, as in a SurrealDB server. */
const MAX_MESSAGE = 128 << 20;

/** A client that writes 4 KiB a frame, as Go's usually do, sends the largest message in an eighth of this. */
const MAX_FRAGMENTS = 256 << 10;

const GOING_AWAY = 1001;

/** The listening side: a port for HTTP and WebSocket. */
export class Server {
	#http = createServer();
	#sockets = new WebSocketServer({
		noServer: true,
		clientTracking: false,
		maxPayload: MAX_MESSAGE,
		maxFragments: MAX_FRAGMENTS,
		perMessageDeflate: false,
	});
	/** @type {Map<import("ws").WebSocket, Promise<void>>} open sockets, and the end of each */
	#open = new Map();

	/**
	 * Takes the port. What comes before {@link serve} is told to come back.
	 *
	 * @param {string} host
	 * @param {number} port  0 picks a free one
	 * @returns {Promise<number>} the port taken
	 */
	async listen(host, port) {
		this.#http.on("request", busy);
		await new Promise((resolve, reject) => {
			this.#http.once("error", reject).listen(port, host, () => resolve(undefined));
		});
		this.#http.removeAllListeners("error").on("error", (err) => console.error("devdb: listen:", err));
		return /** @type {import("node:net").AddressInfo} */ (this.#http.address()).port;
	}

	/**
	 * @param {import("./engine.mjs").Engine} engine
	 * @param {import("./hub.mjs").Hub} hub
	 * @param {import("./http.mjs").HttpApi} api
	 */
	serve(engine, hub, api) {
		this.#http.off("request", busy).on("request", (req, res) => void api.handle(req, res));
		this.#http.on("upgrade", (req, socket, head) => {
			socket.on("error", () => socket.destroy());
			this.#upgrade(req, socket, head, engine, hub).catch((err) => {
				console.error("devdb: open a connection:", err);
				socket.destroy();
			});
		});
	}

	/**
	 * @param {import("node:http").IncomingMessage} req
	 * @param {import("node:stream").Duplex} socket
	 * @param {Buffer} head
	 * @param {import("./engine.mjs").Engine} engine
	 * @param {import("./hub.mjs").Hub} hub
	 */
	async #upgrade(req, socket, head, engine, hub) {
		const refusal = refuse(req);
		if (refusal) return void socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
		const root = new Session(engine);
		await root.open();
		let upgraded = false;
		this.#sockets.handleUpgrade(req, socket, head, (ws) => {
			upgraded = true;
			this.#track(ws, new Connection(ws, socket, engine, hub, root));
		});
		if (!upgraded) await root.close();
	}

	/**
	 * @param {import("ws").WebSocket} ws
	 * @param {Connection} connection
	 */
	#track(ws, connection) {
		const end = new Promise((resolve) => ws.once("close", resolve)).then(() => connection.close());
		this.#open.set(ws, end);
		end.catch((err) => console.error("devdb: close a connection:", err)).finally(() => this.#open.delete(ws));
	}

	/**
	 * Stops listening, tells the clients to go, and waits for their requests in flight.
	 *
	 * @param {number} grace  milliseconds after which a client that does not go is cut off
	 */
	async close(grace) {
		this.#http.close();
		this.#http.closeAllConnections();
		for (const ws of this.#open.keys()) {
			ws.resume();
			ws.close(GOING_AWAY, "the database is shutting down");
		}
		const cut = setTimeout(() => [...this.#open.keys()].forEach((ws) => ws.terminate()), grace);
		await Promise.allSettled(this.#open.values());
		clearTimeout(cut);
	}
}

/**
 * @param {import("node:http").IncomingMessage} req
 * @returns {string | null} the status line of a refusal
 */
function refuse(req) {
	if (/** @type {string} */ (req.url).split("?", 1)[0] !== "/rpc") return "404 Not Found";
	const offered = req.headers["sec-websocket-protocol"];
	if (offered && !offered.split(",").some((name) => name.trim() === "cbor")) {
		return "400 Only the WebSocket subprotocol cbor is spoken here";
	}
	return null;
}

/**
 * @param {import("node:http").IncomingMessage} _req
 * @param {import("node:http").ServerResponse} res
 */
function busy(_req, res) {
	res.writeHead(503, { "retry-after": "1" }).end();
}
