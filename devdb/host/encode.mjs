/** Writes the few CBOR items the host has to say itself. */

export const NONE = Buffer.from([0xc6, 0xf6]);
export const NULL = Buffer.from([0xf6]);

/**
 * The head of an item.
 *
 * @param {number} major
 * @param {number} value
 * @returns {Buffer}
 */
function head(major, value) {
	const type = major << 5;
	if (value < 24) return Buffer.from([type | value]);
	if (value < 0x100) return Buffer.from([type | 24, value]);
	if (value < 0x10000) return Buffer.from([type | 25, value >> 8, value & 255]);
	const b = Buffer.alloc(5);
	b[0] = type | 26;
	b.writeUInt32BE(value, 1);
	return b;
}

/** @param {string} s */
export function text(s) {
	const body = Buffer.from(s, "utf8");
	return Buffer.concat([head(3, body.length), body]);
}

/**
 * A UUID as SurrealDB writes it: tag 37 over 16 bytes.
 *
 * @param {Uint8Array} id
 */
export function uuid(id) {
	return Buffer.concat([Buffer.from([0xd8, 0x25, 0x50]), id]);
}

/** @param {Buffer[]} items */
export function array(items) {
	return Buffer.concat([head(4, items.length), ...items]);
}

/**
 * A map of text keys to items that are already encoded.
 *
 * @param {Record<string, Buffer>} fields
 */
export function map(fields) {
	const all = Object.entries(fields);
	return Buffer.concat([head(5, all.length), ...all.flatMap(([key, value]) => [text(key), value])]);
}

/** @param {number} n an integer of at most 32 bits */
export function int(n) {
	return n < 0 ? head(1, -1 - n) : head(0, n);
}
