import { decode } from "./decode.mjs";
import * as cbor from "./encode.mjs";
import { anonymous, invalidParams } from "./errors.mjs";
import { Gate } from "./gate.mjs";
import { newName } from "./request.mjs";

/** What a session that has not signed in may call. Everything else is behind the wall. */
const OPEN = new Set(["use", "version", "ping", "signin", "signup", "authenticate", "info"]);

/** What changes who the session is; afterwards the engine is asked. */
const IDENTITY = new Set(["signin", "signup", "authenticate", "refresh", "invalidate", "reset"]);

/** What changes the session at all, and therefore has an order. */
const CHANGES = new Set([...IDENTITY, "use", "let", "set", "unset"]);

/** Asks the engine who the session is. `$session` is protected: no client can set it. It has `tk` when signed in. */
const WHO = "RETURN $session";

const USE_ATTEMPTS = 20;

const NO_ARGUMENTS = cbor.array([]);

/**
 * A session of the engine, and the wall in front of it.
 *
 * The embedded engine lets an anonymous session do everything; a server with authentication does not. So the session
 * follows the engine's own state: after every call that may change it, it asks, and a session the engine does not
 * vouch for is anonymous.
 */
export class Session {
	#engine;
	#gate = new Gate();
	#authenticated = false;
	#closed = false;
	/** What an anonymous client chose with `use`: told to the engine when the client has signed in. */
	#chosen = new Choice();

	/** @param {import("./engine.mjs").Engine} engine */
	constructor(engine) {
		this.#engine = engine;
		/** The engine's name for it. Random, never told to a client, so that no client can name another's. */
		this.name = newName();
	}

	get authenticated() {
		return this.#authenticated;
	}

	/** Makes the session known to the engine. What is called meanwhile waits. */
	async open() {
		await this.#gate.run(true, () => this.#must("attach"));
	}

	/**
	 * Waits for what is in flight, refuses what comes after it, and forgets the session and its live queries.
	 *
	 * @param {() => Promise<unknown>} [last]  what to do while nothing runs and the session is still there
	 */
	async close(last) {
		await this.#gate.run(true, async () => {
			this.#closed = true;
			await last?.();
			await this.#engine.call(this.name, "detach", NO_ARGUMENTS);
		});
	}

	/**
	 * Runs a method in its turn. Throws an RpcError when the wall refuses it.
	 *
	 * @param {string} method
	 * @param {Buffer} params
	 * @param {Uint8Array | null} [txn]
	 * @returns {Promise<import("./engine.mjs").Answer>}
	 */
	call(method, params, txn = null) {
		// A sign of life has no order: it is asked for while a sign-in takes its time.
		if (method === "ping" && !this.#closed) return Promise.resolve({ failed: false, cbor: cbor.NONE });
		return this.#gate.run(CHANGES.has(method), async () => {
			if (this.#closed || !(this.#authenticated || OPEN.has(method))) throw anonymous();
			if (method === "use") return this.#use(params);
			if (IDENTITY.has(method)) return this.#identify(method, params);
			return this.#engine.call(this.name, method, params, txn);
		});
	}

	/**
	 * Runs work of the host in turn with the session's requests.
	 *
	 * @template T
	 * @param {() => Promise<T>} work
	 */
	inTurn(work) {
		return this.#gate.run(false, work);
	}

	/**
	 * @param {string} method
	 * @param {Buffer} params
	 */
	async #identify(method, params) {
		const answer = await this.#engine.call(this.name, method, params);
		const ends = method === "invalidate" || method === "reset";
		const before = this.#authenticated;
		this.#authenticated = false;
		this.#authenticated = await this.#who(before && !(ends && !answer.failed));
		return answer;
	}

	/**
	 * Asks the engine whether the session is signed in, and tells it what the client chose before it was.
	 *
	 * @param {boolean} expired  what to believe of a session that has expired, and of which the engine says nothing:
	 *   it refuses every call of it, with the better error
	 * @returns {Promise<boolean>}
	 */
	async #who(expired) {
		let session;
		try {
			session = await this.#state();
		} catch (err) {
			return expired && /** @type {any} */ (err).kind === "NotAllowed";
		}
		if (!(session.get("tk") instanceof Map)) return false;
		const use = this.#chosen.replay(session.get("ns"), session.get("db"));
		if (use) await this.#select(use);
		this.#chosen = new Choice();
		return true;
	}

	/**
	 * An anonymous `use` is kept back: the engine would create the namespace and the database for anyone. A signed in
	 * one goes to the engine, unless it would make it panic, and written anew, so that the engine reads what was judged.
	 *
	 * @param {Buffer} params
	 */
	async #use(params) {
		const given = decode(params);
		const [ns, db] = Array.isArray(given) ? given : [];
		for (const [name, value] of Object.entries({ ns, db })) {
			if (value != null && typeof value !== "string") throw invalidParams(`Expected ${name} to be string`);
		}
		if (!this.#authenticated) return { failed: false, cbor: this.#chosen.use(ns, db) };
		if (typeof db === "string" && typeof ns !== "string" && (ns === null || typeof (await this.#state()).get("ns") !== "string")) {
			throw invalidParams("Expected a namespace before a database");
		}
		return this.#select(cbor.array([choice(ns), choice(db)]));
	}

	/**
	 * Clients that use a new namespace at the same time create it at the same time. All but one conflict, and nobody
	 * expects that of `use`.
	 *
	 * @param {Buffer} params
	 */
	async #select(params) {
		for (let attempt = 1; ; attempt++) {
			const answer = await this.#engine.call(this.name, "use", params);
			if (!answer.failed || attempt === USE_ATTEMPTS || !answer.cbor.includes("can be retried")) return answer;
		}
	}

	/** @returns {Promise<Map<string, unknown>>} `$session` */
	async #state() {
		const [session] = await this.#engine.query(this.name, WHO);
		return session instanceof Map ? session : new Map();
	}

	/** @param {string} method */
	async #must(method) {
		const answer = await this.#engine.call(this.name, method, NO_ARGUMENTS);
		if (answer.failed) throw new Error(`${method} a session: the engine refused`);
	}
}

/** The namespace and database an anonymous client has chosen; undefined is no choice, null is "none". */
class Choice {
	/** @type {any} */ #ns;
	/** @type {any} */ #db;
	#defaults = false;

	/**
	 * @param {any} ns
	 * @param {any} db
	 * @returns {Buffer} what `use` answers
	 */
	use(ns, db) {
		if (ns === undefined && db === undefined) this.#defaults = true;
		if (ns !== undefined) this.#ns = ns;
		if (db !== undefined) this.#db = db;
		if (this.#ns == null) {
			if (typeof this.#db === "string") throw invalidParams("Expected a namespace before a database");
			this.#db = undefined;
		}
		return cbor.map({ namespace: optional(this.#ns), database: optional(this.#db) });
	}

	/**
	 * The parameters of the `use` to call after signing in. A sign-in that chose for itself is not overruled.
	 *
	 * @param {any} ns  what the engine has chosen
	 * @param {any} db
	 * @returns {Buffer | null}
	 */
	replay(ns, db) {
		if (typeof this.#ns === "string") {
			if (ns !== undefined && (ns !== this.#ns || db !== undefined)) return null;
			return cbor.array([cbor.text(this.#ns), optional(this.#db)]);
		}
		return this.#defaults && ns === undefined ? NO_ARGUMENTS : null;
	}
}

/** @param {any} value */
function optional(value) {
	return typeof value === "string" ? cbor.text(value) : cbor.NONE;
}

/** @param {any} value */
function choice(value) {
	return value === null ? cbor.NULL : optional(value);
}
