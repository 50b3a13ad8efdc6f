import { MalformedError, uuid } from "./cbor.mjs";
import { decode, Tagged } from "./decode.mjs";
import * as cbor from "./encode.mjs";
import { RpcError, anonymous, invalidParams, sessionExists, sessionNotFound } from "./errors.mjs";
import { rename } from "./hub.mjs";
import { RejectedRequest, parse } from "./request.mjs";
import { Session } from "./session.mjs";

/** A client that has this much unread is dropped when the next notification comes, or its memory would be ours. */
const MAX_UNREAD = 64 << 20;

/** Above these, no more requests are read from the socket until the client has read its answers. */
const HIGH = Object.freeze({ unread: 16 << 20, inFlight: 4096 });

/** Sessions a connection may have attached at a time. */
const MAX_SESSIONS = 4096;

const CLOSE = Object.freeze({ unsupported: 1003, invalid: 1007, fault: 1011 });

const ID = Buffer.concat([Buffer.from([0xa2]), cbor.text("id")]);
const RESULT = cbor.text("result");
const NOTIFICATION = Buffer.concat([Buffer.from([0xa1]), RESULT]);

/**
 * One WebSocket connection: its sessions, its transactions, its requests in flight.
 *
 * A client names sessions and transactions by UUIDs. Those of the engine are shared by everyone, so the names a client
 * sends are looked up among its own connection's and never passed on.
 */
export class Connection {
	#socket;
	#stream;
	#engine;
	#hub;
	#root;
	/** @type {Map<string, Session>} by the client's name for it */
	#sessions = new Map();
	/** @type {Map<string, Buffer>} open transactions of this connection */
	#transactions = new Map();
	#closed = false;
	#inFlight = 0;
	#paused = false;
	#corked = false;

	/**
	 * @param {import("ws").WebSocket} socket
	 * @param {import("node:stream").Duplex} stream  what the socket writes to
	 * @param {import("./engine.mjs").Engine} engine
	 * @param {import("./hub.mjs").Hub} hub
	 * @param {Session} root  the session of requests that name none; open already
	 */
	constructor(socket, stream, engine, hub, root) {
		this.#socket = socket;
		this.#stream = stream;
		this.#engine = engine;
		this.#hub = hub;
		this.#root = root;
		this.#listen(root, cbor.NONE);
		socket.on("error", () => socket.terminate());
		socket.on("message", (data, binary) => this.#receive(/** @type {Buffer} */ (data), binary));
	}

	/** Ends what the connection has left behind. Call once, when its socket has closed. */
	async close() {
		this.#closed = true;
		const attached = [...this.#sessions.values()];
		for (const session of [this.#root, ...attached]) this.#hub.forget(session.name);
		await Promise.all(attached.map((session) => session.close()));
		// The root session last: it is the one that ends the transactions, whichever session began them.
		await this.#root.close(() => Promise.all([...this.#transactions.values()].map((id) => this.#abandon(id))));
	}

	/** @param {Buffer} id */
	#abandon(id) {
		return this.#engine.call(this.#root.name, "cancel", cbor.array([cbor.uuid(id)]));
	}

	/**
	 * @param {Buffer} message
	 * @param {boolean} binary
	 */
	#receive(message, binary) {
		if (!binary) return this.#socket.close(CLOSE.unsupported, "only CBOR is spoken here: ask for the subprotocol cbor");
		let request;
		try {
			request = parse(message);
		} catch (err) {
			if (err instanceof RejectedRequest) return this.#send(failed(err.id, err.error));
			if (err instanceof MalformedError) return this.#socket.close(CLOSE.invalid, `not a request: ${err.message}`);
			console.error("devdb: read a request:", err);
			return this.#socket.close(CLOSE.fault, "internal error");
		}
		this.#inFlight++;
		this.#throttle();
		this.#answer(request);
	}

	/** @param {import("./request.mjs").Request} request */
	async #answer(request) {
		let reply;
		try {
			const { failed, cbor } = await this.#execute(request);
			// An error envelope is `{error: …}`: its entry goes into the reply as it is.
			reply = failed ? [ID, request.id, cbor.subarray(1)] : [ID, request.id, RESULT, cbor];
		} catch (err) {
			if (!(err instanceof RpcError) && !(err instanceof MalformedError)) {
				console.error("devdb: answer a request:", err);
			}
			reply = failed(request.id, err instanceof RpcError ? err : invalidParams(String(/** @type {any} */ (err).message)));
		}
		this.#inFlight--;
		this.#send(reply);
	}

	/**
	 * @param {import("./request.mjs").Request} request
	 * @returns {Promise<import("./engine.mjs").Answer>}
	 */
	async #execute(request) {
		const { method, params } = request;
		switch (method) {
			case "attach":
				return this.#attach(request);
			case "detach":
				return this.#detach(request);
			case "sessions":
				return this.#list();
			case "begin":
				return this.#begin(request);
			case "commit":
			case "cancel":
				return this.#end(request);
			default:
				return this.#asked(this.#session(request), request);
		}
	}

	/**
	 * @param {Session} session
	 * @param {import("./request.mjs").Request} request
	 */
	async #asked(session, request) {
		const answer = await session.call(request.method, request.params, this.#transaction(request));
		if (!answer.failed && (request.method === "live" || request.method === "query")) {
			this.#hub.learn(session.name, request, answer.cbor);
		}
		return answer;
	}

	/** @param {import("./request.mjs").Request} request */
	#session({ session }) {
		if (!session) return this.#root;
		const known = this.#sessions.get(session.toString("hex"));
		if (!known) throw sessionNotFound(written(session));
		return known;
	}

	/** @param {import("./request.mjs").Request} request */
	#transaction({ txn }) {
		if (!txn) return null;
		if (!this.#transactions.has(txn.toString("hex"))) throw invalidParams("Transaction not found");
		return txn;
	}

	/** @param {import("./request.mjs").Request} request */
	#attach({ session: name }) {
		return this.#root.inTurn(async () => {
			if (this.#closed) throw anonymous();
			this.#signedIn();
			if (!name) throw invalidParams("Expected a session ID");
			const key = name.toString("hex");
			if (this.#sessions.has(key)) throw sessionExists(written(name));
			if (this.#sessions.size >= MAX_SESSIONS) throw invalidParams("Too many sessions on this connection");
			const session = new Session(this.#engine);
			this.#sessions.set(key, session);
			this.#listen(session, cbor.uuid(name));
			await session.open();
			return done(cbor.NONE);
		});
	}

	/** @param {import("./request.mjs").Request} request */
	async #detach(request) {
		if (!request.session) throw invalidParams("Expected a session ID");
		const session = this.#session(request);
		this.#sessions.delete(request.session.toString("hex"));
		this.#hub.forget(session.name);
		await session.close();
		return done(cbor.NONE);
	}

	#list() {
		return this.#root.inTurn(async () => {
			this.#signedIn();
			return done(cbor.array([...this.#sessions.keys()].map((key) => cbor.uuid(Buffer.from(key, "hex")))));
		});
	}

	/** Managing sessions takes a connection on which somebody has signed in. */
	#signedIn() {
		if (this.#root.authenticated) return;
		for (const session of this.#sessions.values()) if (session.authenticated) return;
		throw anonymous();
	}

	/** @param {import("./request.mjs").Request} request */
	async #begin(request) {
		const answer = await this.#session(request).call("begin", request.params);
		const id = answer.failed ? null : uuid(answer.cbor, 0);
		if (id) this.#transactions.set(id.toString("hex"), id);
		if (id && this.#closed) await this.#abandon(id);
		return answer;
	}

	/** @param {import("./request.mjs").Request} request */
	async #end(request) {
		const session = this.#session(request);
		const id = last(request.params);
		const key = id?.toString("hex");
		if (!id || !key || !this.#transactions.has(key)) throw invalidParams("Transaction not found");
		const answer = await session.call(request.method, cbor.array([cbor.uuid(id)]));
		this.#transactions.delete(key);
		return answer;
	}

	/**
	 * @param {Session} session
	 * @param {Buffer} name  the client's, encoded
	 */
	#listen(session, name) {
		this.#hub.listen(session.name, (notification) => this.#notify(rename(notification, name)));
	}

	/** @param {Buffer[]} notification */
	#notify(notification) {
		if (this.#socket.bufferedAmount > MAX_UNREAD) {
			console.error("devdb: dropped a client that does not read its notifications");
			this.#socket.terminate();
			return;
		}
		this.#send([NOTIFICATION, ...notification]);
	}

	/** @param {Buffer[]} parts */
	#send(parts) {
		if (this.#socket.readyState !== this.#socket.OPEN) return;
		this.#batch();
		this.#socket.send(Buffer.concat(parts), this.#flushed);
		this.#throttle();
	}

	/** Collects what one turn of the event loop sends into one write: under load most of the host's time is system calls. */
	#batch() {
		if (this.#corked) return;
		this.#corked = true;
		this.#stream.cork();
		setImmediate(() => {
			this.#corked = false;
			this.#stream.uncork();
		});
	}

	#flushed = () => {
		if (this.#paused) this.#throttle();
	};

	/** Reads no more requests while the client owes reads, and again when it has caught up. */
	#throttle() {
		const { bufferedAmount } = this.#socket;
		const high = bufferedAmount > HIGH.unread || this.#inFlight > HIGH.inFlight;
		if (high === this.#paused) return;
		this.#paused = high;
		if (high) this.#socket.pause();
		else this.#socket.resume();
	}
}

/** @param {Buffer} cbor */
function done(cbor) {
	return { failed: false, cbor };
}

/**
 * @param {Buffer} id
 * @param {RpcError} error
 */
function failed(id, error) {
	return [ID, id, ERROR, error.encode()];
}

const ERROR = cbor.text("error");

/**
 * The UUID a call's parameters end with, which is the one the engine would take.
 *
 * @param {Buffer} params
 * @returns {Buffer | null}
 */
function last(params) {
	const all = /** @type {unknown[]} */ (decode(params));
	const value = Array.isArray(all) ? all.at(-1) : null;
	return value instanceof Tagged && value.tag === 37 && Buffer.isBuffer(value.value) ? value.value : null;
}

/** @param {Buffer} id */
function written(id) {
	return id.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
