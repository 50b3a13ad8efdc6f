/**
 * A scanner for CBOR bytes (RFC 8949): where an item ends, where the entries of a map are, and nothing of what they mean.
 *
 * The host never decodes and encodes a value that passes through it: a datetime, a decimal or a record id would lose
 * its type on the way. It finds the bytes of an item and copies them. Only what the host itself has to know (a probe's
 * answer, a statement's result for the JSON of `/sql`) is decoded, by decode.mjs.
 */

/** Deepest nesting accepted. The engine's decoder stops at 256. */
const MAX_DEPTH = 250;

export const MAJOR = Object.freeze({ UINT: 0, NEGATIVE: 1, BYTES: 2, TEXT: 3, ARRAY: 4, MAP: 5, TAG: 6, SIMPLE: 7 });

/** Bytes that are not CBOR, or more of it than the host accepts. */
export class MalformedError extends Error {
	name = "MalformedError";
}

/**
 * The head of one item.
 *
 * @typedef {object} Head
 * @property {number} major  major type, 0 to 7
 * @property {number} value  the argument: a length, a count, a tag number; -1 for an indefinite length
 * @property {number} next   offset of the first byte after the head
 */

/**
 * Reads the head at an offset. Arguments past 2^53 lose precision, which matters for no length that fits into memory.
 *
 * @param {Buffer} b
 * @param {number} at
 * @returns {Head}
 */
export function head(b, at) {
	if (at >= b.length) throw new MalformedError("the message ends inside an item");
	const major = b[at] >> 5;
	const info = b[at] & 31;
	if (info < 24) return { major, value: info, next: at + 1 };
	if (info === 31) {
		if (major < MAJOR.BYTES || major === MAJOR.TAG) throw new MalformedError("an indefinite length where none can be");
		return { major, value: -1, next: at + 1 };
	}
	if (info > 27) throw new MalformedError("a reserved length");
	const size = 1 << (info - 24);
	if (at + 1 + size > b.length) throw new MalformedError("the message ends inside an item");
	const value = size === 8 ? Number(b.readBigUInt64BE(at + 1)) : b.readUIntBE(at + 1, size);
	return { major, value, next: at + 1 + size };
}

/** Counts of the items still open at each level; a negative count is an indefinite one. */
const INDEFINITE = -1;

/**
 * The offset after the item that starts at an offset. Walks without recursion, so that nesting cannot exhaust the stack.
 *
 * @param {Buffer} b
 * @param {number} at
 * @returns {number}
 */
export function skip(b, at) {
	/** @type {number[]} */
	const open = [];
	for (;;) {
		if (b[at] === 0xff && open.length > 0 && open[open.length - 1] === INDEFINITE) {
			open.pop();
			at++;
		} else {
			at = enter(b, at, open);
		}
		// Close every level whose last item has just ended.
		while (open.length > 0 && open[open.length - 1] === 0) open.pop();
		if (open.length === 0) return at;
		if (open[open.length - 1] > 0) open[open.length - 1]--;
	}
}

/**
 * Steps over one head and its bytes, and opens a level for an item that holds others.
 *
 * @param {Buffer} b
 * @param {number} at
 * @param {number[]} open
 * @returns {number}
 */
function enter(b, at, open) {
	const { major, value, next } = head(b, at);
	let inside = 0;
	switch (major) {
		case MAJOR.BYTES:
		case MAJOR.TEXT:
			if (value >= 0) return within(b, next + value);
			inside = INDEFINITE;
			break;
		case MAJOR.ARRAY:
			inside = value;
			break;
		case MAJOR.MAP:
			inside = value < 0 ? INDEFINITE : value * 2;
			break;
		case MAJOR.TAG:
			inside = 1;
			break;
		default:
			if (value < 0) throw new MalformedError("a break outside an indefinite item");
			return next;
	}
	if (inside === 0) return next;
	if (open.length >= MAX_DEPTH) throw new MalformedError("nested too deeply");
	open.push(inside);
	return next;
}

/**
 * @param {Buffer} b
 * @param {number} end
 */
function within(b, end) {
	if (end > b.length) throw new MalformedError("the message ends inside an item");
	return end;
}

/**
 * One entry of a map: its key, and where its value's bytes are.
 *
 * @typedef {object} Entry
 * @property {string} key
 * @property {number} start
 * @property {number} end
 */

/**
 * The entries of the map at an offset, in their order, duplicates included. Keys have to be text of a definite length.
 *
 * @param {Buffer} b
 * @param {number} at
 * @returns {Generator<Entry>}
 */
export function* entries(b, at) {
	const map = head(b, at);
	if (map.major !== MAJOR.MAP) throw new MalformedError("a map was expected");
	let pos = map.next;
	for (let n = 0; map.value < 0 || n < map.value; n++) {
		if (map.value < 0 && b[pos] === 0xff) return;
		const key = head(b, pos);
		if (key.major !== MAJOR.TEXT || key.value < 0) throw new MalformedError("a map's key has to be text");
		const start = within(b, key.next + key.value);
		const end = skip(b, start);
		yield { key: b.toString("utf8", key.next, start), start, end };
		pos = end;
	}
}

/**
 * The text at an offset, or null when the item is not text of a definite length.
 *
 * @param {Buffer} b
 * @param {number} at
 * @returns {string | null}
 */
export function text(b, at) {
	const { major, value, next } = head(b, at);
	if (major !== MAJOR.TEXT || value < 0) return null;
	return b.toString("utf8", next, within(b, next + value));
}

/**
 * Whether the item at an offset is NONE, null or undefined, the three ways to say "not there".
 *
 * @param {Buffer} b
 * @param {number} at
 */
export function absent(b, at) {
	return b[at] === 0xf6 || b[at] === 0xf7 || b[at] === 0xc6;
}

/**
 * The 16 bytes of the UUID at an offset, in any of the forms the engine accepts: tag 37 over bytes, tag 9 over text,
 * plain text. Null when it is none of them.
 *
 * @param {Buffer} b
 * @param {number} at
 * @returns {Buffer | null}
 */
export function uuid(b, at) {
	let item = head(b, at);
	if (item.major === MAJOR.TAG && (item.value === 37 || item.value === 9)) {
		at = item.next;
		item = head(b, at);
	}
	if (item.major === MAJOR.BYTES && item.value === 16) return b.subarray(item.next, within(b, item.next + 16));
	const hex = text(b, at)?.replace(/^\{|\}$|^urn:uuid:|-/g, "");
	return hex && /^[0-9a-f]{32}$/i.test(hex) ? Buffer.from(hex, "hex") : null;
}
