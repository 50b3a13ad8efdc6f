import { entries, uuid } from "./cbor.mjs";

/** Hands notifications to the connection whose session asked for them, and to no other. */
export class Hub {
	/** @type {Map<string, (notification: Buffer) => void>} */
	#listeners = new Map();

	/**
	 * @param {Buffer} session  the engine's name of the session
	 * @param {(notification: Buffer) => void} listener
	 */
	listen(session, listener) {
		this.#listeners.set(session.toString("latin1"), listener);
	}

	/** @param {Buffer} session */
	forget(session) {
		this.#listeners.delete(session.toString("latin1"));
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
			// The engine says that a table and its live queries are gone, but not to whom. Everybody
			// may hear it: it holds no more than the id of a live query that is no more.
			else if (session) for (const listener of this.#listeners.values()) listener(notification);
		} catch (err) {
			console.error("devdb: deliver a notification:", err);
		}
	}
}

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
