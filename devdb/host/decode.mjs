import { MAJOR, MalformedError, head } from "./cbor.mjs";

/**
 * A tagged value that JavaScript has no type for.
 */
export class Tagged {
	/**
	 * @param {number} tag
	 * @param {unknown} value
	 */
	constructor(tag, value) {
		this.tag = tag;
		this.value = value;
	}
}

/** SurrealDB's tag of NONE. */
const TAG_NONE = 6;

/**
 * Decodes CBOR of definite lengths, which is what the engine writes and clients send. NONE is `undefined`, integers past 2^53 are bigints, tags are {@link Tagged}.
 *
 * @param {Uint8Array} bytes
 * @returns {unknown}
 */
export function decode(bytes) {
	const b = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	return item(b, 0)[0];
}

/**
 * @param {Buffer} b
 * @param {number} at
 * @returns {[unknown, number]}
 */
function item(b, at) {
	const h = head(b, at);
	if (h.value < 0) throw new MalformedError("an indefinite length where none can be");
	switch (h.major) {
		case MAJOR.UINT:
			return [integer(b, at, h), h.next];
		case MAJOR.NEGATIVE:
			return [negative(integer(b, at, h)), h.next];
		case MAJOR.BYTES:
			return [b.subarray(h.next, h.next + h.value), h.next + h.value];
		case MAJOR.TEXT:
			return [b.toString("utf8", h.next, h.next + h.value), h.next + h.value];
		case MAJOR.ARRAY:
			return array(b, h);
		case MAJOR.MAP:
			return map(b, h);
		case MAJOR.TAG: {
			const [value, end] = item(b, h.next);
			return [h.value === TAG_NONE ? undefined : new Tagged(h.value, value), end];
		}
		default:
			return [simple(b, at, h), h.next];
	}
}

/**
 * @param {Buffer} b
 * @param {number} at
 * @param {import("./cbor.mjs").Head} h
 * @returns {number | bigint}
 */
function integer(b, at, h) {
	return Number.isSafeInteger(h.value) ? h.value : b.readBigUInt64BE(at + 1);
}

/** @param {number | bigint} n */
function negative(n) {
	return typeof n === "bigint" ? -1n - n : -1 - n;
}

/**
 * @param {Buffer} b
 * @param {import("./cbor.mjs").Head} h
 * @returns {[unknown[], number]}
 */
function array(b, h) {
	const out = [];
	let at = h.next;
	for (let n = 0; n < h.value; n++) {
		const [value, end] = item(b, at);
		out.push(value);
		at = end;
	}
	return [out, at];
}

/**
 * @param {Buffer} b
 * @param {import("./cbor.mjs").Head} h
 * @returns {[Map<unknown, unknown>, number]}
 */
function map(b, h) {
	const out = new Map();
	let at = h.next;
	for (let n = 0; n < h.value; n++) {
		const [key, from] = item(b, at);
		const [value, end] = item(b, from);
		out.set(key, value);
		at = end;
	}
	return [out, at];
}

/**
 * @param {Buffer} b
 * @param {number} at
 * @param {import("./cbor.mjs").Head} h
 */
function simple(b, at, h) {
	switch (b[at] & 31) {
		case 20:
			return false;
		case 21:
			return true;
		case 22:
		case 23: // undefined, which the engine reads as NULL, too
			return null;
		case 25:
			return half(b.readUInt16BE(at + 1));
		case 26:
			return b.readFloatBE(at + 1);
		case 27:
			return b.readDoubleBE(at + 1);
		default:
			return undefined;
	}
}

/** @param {number} bits a float of 16 bits */
function half(bits) {
	const sign = bits & 0x8000 ? -1 : 1;
	const exponent = (bits >> 10) & 31;
	const fraction = bits & 1023;
	if (exponent === 0) return sign * 2 ** -14 * (fraction / 1024);
	if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
	return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}
