import { randomBytes } from "node:crypto";
import { MalformedError, absent, entries, text, uuid } from "./cbor.mjs";
import * as cbor from "./encode.mjs";
import { invalidRequest } from "./errors.mjs";

/**
 * One RPC request, cut out of its message. Every field but the method stays CBOR.
 *
 * @typedef {object} Request
 * @property {Buffer} id              the id to answer with; null when the client gave none
 * @property {string} method
 * @property {Buffer} params          the whole array
 * @property {Buffer | null} session  the client's own name of a session, 16 bytes
 * @property {Buffer | null} txn      16 bytes
 */

/** The request is wrong, but it has an id to answer to. */
export class RejectedRequest extends Error {
	/**
	 * @param {Buffer} id
	 * @param {import("./errors.mjs").RpcError} error
	 */
	constructor(id, error) {
		super(error.message);
		this.id = id;
		this.error = error;
	}
}

const NO_PARAMS = Buffer.from([0x80]);
const FIELDS = new Set(["id", "method", "params", "session", "txn"]);

/**
 * Reads a message. Throws {@link RejectedRequest} when the request is wrong but its id is known, and
 * {@link MalformedError} when there is nothing to answer to.
 *
 * A field that comes twice is refused: the engine might read the other one than the wall did.
 *
 * @param {Buffer} message
 * @returns {Request}
 */
export function parse(message) {
	/** @type {Map<string, import("./cbor.mjs").Entry>} */
	const found = new Map();
	/** @type {string | null} */
	let fault = null;
	try {
		for (const entry of entries(message, 0)) {
			if (!FIELDS.has(entry.key)) continue;
			if (found.has(entry.key)) fault ??= `${entry.key} is given twice`;
			found.set(entry.key, entry);
		}
	} catch (err) {
		if (!(err instanceof MalformedError) || !found.has("id")) throw err;
		fault = err.message;
	}
	const id = bytes(message, found.get("id")) ?? cbor.NULL;
	if (fault) throw new RejectedRequest(id, invalidRequest(fault));
	return fields(message, found, id);
}

/**
 * @param {Buffer} message
 * @param {Map<string, import("./cbor.mjs").Entry>} found
 * @param {Buffer} id
 * @returns {Request}
 */
function fields(message, found, id) {
	const method = found.get("method");
	const name = method ? text(message, method.start) : null;
	if (name === null) throw new RejectedRequest(id, invalidRequest("method has to be text"));
	return {
		id,
		method: name,
		params: bytes(message, found.get("params")) ?? NO_PARAMS,
		session: name16(message, found.get("session"), id),
		txn: name16(message, found.get("txn"), id),
	};
}

/**
 * @param {Buffer} message
 * @param {import("./cbor.mjs").Entry | undefined} entry
 */
function bytes(message, entry) {
	return entry && !absent(message, entry.start) ? message.subarray(entry.start, entry.end) : null;
}

/**
 * @param {Buffer} message
 * @param {import("./cbor.mjs").Entry | undefined} entry
 * @param {Buffer} id
 */
function name16(message, entry, id) {
	if (!entry || absent(message, entry.start)) return null;
	const name = uuid(message, entry.start);
	if (!name) throw new RejectedRequest(id, invalidRequest(`${entry.key} has to be a UUID`));
	return name;
}

const METHOD = cbor.text("method");
const PARAMS = cbor.text("params");
const SESSION = Buffer.concat([cbor.text("session"), Buffer.from([0xd8, 0x25, 0x50])]);
const TXN = Buffer.concat([cbor.text("txn"), Buffer.from([0xd8, 0x25, 0x50])]);

/**
 * Builds the message for the engine from nothing but what the host has looked at.
 *
 * @param {string} method
 * @param {Buffer} params
 * @param {Uint8Array} session  the engine's name of the session
 * @param {Uint8Array | null} [txn]
 * @returns {Buffer}
 */
export function build(method, params, session, txn = null) {
	const parts = [Buffer.from([txn ? 0xa4 : 0xa3]), METHOD, cbor.text(method), PARAMS, params, SESSION, session];
	if (txn) parts.push(TXN, txn);
	return Buffer.concat(parts);
}

/** A new name for a session of the engine. */
export function newName() {
	const id = randomBytes(16);
	id[6] = (id[6] & 0x0f) | 0x40;
	id[8] = (id[8] & 0x3f) | 0x80;
	return id;
}
