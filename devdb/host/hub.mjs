import { entries, uuid } from "./cbor.mjs";

/** Hands notifications to the connection whose session asked for them, and to no other. */
export class Hub {
	/** @type {Map<string, (notification: Buffer) => void>} */
	#listeners = new Map();
	/** @type {Map<string, string>} live queries and the sessions that asked for them */
	#owners = new Map();

	/**
	 * @param {Buffer} session  the engine's name of the session
	 * @param {(notification: Buffer) => void} listener
	 */
	listen(session, listener) {
		this.#listeners.set(session.toString("latin1"), listener);
	}

	/** @param {Buffer} session */
	forget(session) {
		const name = session.toString("latin1");
		this.#listeners.delete(name);
		for (const [live, owner] of this.#owners) if (owner === name) this.#owners.delete(live);
	}

	/**
	 * Remembers whose the live queries are that a request may have registered: the engine says that one is gone, with
	 * its table for instance, but not to whom. Any UUID in the answer may be one.
	 *
	 * @param {Buffer} session
	 * @param {import("./request.mjs").Request} request
	 * @param {Buffer} answer
	 */
	learn(session, request, answer) {
		if (request.method === "query" && !/live/i.test(request.params.toString("latin1", 0, LOOKED_AT))) return;
		for (let at = answer.indexOf(UUID), n = 0; at >= 0 && n < LEARNED; at = answer.indexOf(UUID, at + 19), n++) {
			this.#owners.set(answer.toString("latin1", at + 3, at + 19), session.toString("latin1"));
		}
	}

	/** @param {Buffer} notification  one that names no session */
	#deliverToOwner(notification) {
		for (const entry of entries(notification, 0)) {
			if (entry.key !== "id") continue;
			const live = uuid(notification, entry.start)?.toString("latin1") ?? "";
			this.#listeners.get(this.#owners.get(live) ?? "")?.(notification);
			this.#owners.delete(live);
		}
	}

	/**
	 * Never throws: the notifications of everyone come through here.
	 *
	 * @param {Buffer} notification  `{action, id, record, result, session}`
	 */
	deliver(notification) {
		try {
			const session = find(notification);
			const name = session && uuid(notification, session.start);
			if (name) this.#listeners.get(name.toString("latin1"))?.(notification);
			else if (session) this.#deliverToOwner(notification);
		} catch (err) {
			console.error("devdb: deliver a notification:", err);
		}
	}
}

/** A UUID: tag 37 over 16 bytes. */
const UUID = Buffer.from([0xd8, 0x25, 0x50]);

/** How much of a request is looked at for LIVE, and how many live queries one answer can tell of. */
const LOOKED_AT = 64 * 1024;
const LEARNED = 100;

/**
 * Replaces the session in a notification, in which the engine's name for it is nobody's business.
 *
 * @param {Buffer} notification
 * @param {Buffer} session  what the client calls it, encoded
 */
export function rename(notification, session) {
	const { start, end } = /** @type {import("./cbor.mjs").Entry} */ (find(notification));
	return [notification.subarray(0, start), session, notification.subarray(end)];
}

/** @param {Buffer} notification */
function find(notification) {
	for (const entry of entries(notification, 0)) if (entry.key === "session") return entry;
	return null;
}
