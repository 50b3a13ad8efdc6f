/**
 * CBOR (RFC 8949) with SurrealDB's tags, as much of it as the database and the workflows say to each other. JSON would
 * lose moments, durations, record ids, and the difference between NONE and NULL. `undefined` is NONE.
 */

import { DateTime, Duration, RecordId } from "./values.js";

const TAG = { text: 0, none: 6, table: 7, record: 8, datetime: 12, duration: 14, decimal: 10, uuid: 37 } as const;

/** Deepest nesting that is read or written; the database takes less. */
const MAX_DEPTH = 200;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The bytes of a value: JSON's types, undefined, bigint, bytes, Date, and the classes of values.ts. */
export function encode(value: unknown): Uint8Array {
	const w = new Writer();
	w.item(value, 0);
	return w.bytes.subarray(0, w.at);
}

class Writer {
	bytes = new Uint8Array(512);
	view = new DataView(this.bytes.buffer);
	at = 0;

	item(value: unknown, depth: number): void {
		switch (typeof value) {
			case "string":
				return this.text(value);
			case "number":
				return this.number(value);
			case "boolean":
				return this.byte(value ? 0xf5 : 0xf4);
			case "undefined":
				this.head(6, TAG.none);
				return this.byte(0xf6);
			case "bigint":
				return this.big(value);
			case "object":
				return value === null ? this.byte(0xf6) : this.object(value, depth);
			default:
				throw new TypeError(`a ${typeof value} can't be sent to the database`);
		}
	}

	private object(value: object, depth: number): void {
		if (depth > MAX_DEPTH) throw new RangeError("the value nests too deeply");
		if (Array.isArray(value)) {
			this.head(4, value.length);
			for (const one of value) this.item(one, depth + 1);
		} else if (value instanceof Uint8Array) {
			this.head(2, value.length);
			this.room(value.length);
			this.bytes.set(value, this.at);
			this.at += value.length;
		} else if (value instanceof DateTime) {
			this.tagged(TAG.datetime, [value.seconds, value.nanos], depth);
		} else if (value instanceof Duration) {
			this.tagged(TAG.duration, [value.seconds, value.nanos], depth);
		} else if (value instanceof RecordId) {
			this.tagged(TAG.record, [value.table, value.id], depth);
		} else if (value instanceof Date) {
			this.object(DateTime.at(value.getTime()), depth);
		} else {
			this.map(value as Record<string, unknown>, depth);
		}
	}

	private map(value: Record<string, unknown>, depth: number): void {
		const keys = Object.keys(value);
		this.head(5, keys.length);
		for (const key of keys) {
			this.text(key);
			this.item(value[key], depth + 1);
		}
	}

	private tagged(tag: number, value: unknown, depth: number): void {
		this.head(6, tag);
		this.item(value, depth + 1);
	}

	private number(n: number): void {
		if (Number.isSafeInteger(n) && !Object.is(n, -0)) {
			return n >= 0 ? this.head(0, n) : this.head(1, -1 - n);
		}
		this.byte(0xfb);
		this.room(8);
		this.view.setFloat64(this.at, n);
		this.at += 8;
	}

	private big(n: bigint): void {
		const negative = n < 0n;
		this.byte(negative ? 0x3b : 0x1b);
		this.room(8);
		this.view.setBigUint64(this.at, negative ? -1n - n : n);
		this.at += 8;
	}

	private text(text: string): void {
		if (text.length < 8) { // of at most 23 bytes, whatever it is made of
			this.room(32);
			const { written } = encoder.encodeInto(text, this.bytes.subarray(this.at + 1));
			this.bytes[this.at] = 0x60 | written;
			this.at += 1 + written;
			return;
		}
		this.room(5 + text.length * 3);
		const { written } = encoder.encodeInto(text, this.bytes.subarray(this.at + 5));
		this.bytes[this.at] = 0x7a;
		this.view.setUint32(this.at + 1, written);
		this.at += 5 + written;
	}

	private head(major: number, value: number): void {
		const type = major << 5;
		this.room(9);
		if (value < 24) {
			this.bytes[this.at++] = type | value;
		} else if (value < 0x100) {
			this.bytes[this.at] = type | 24;
			this.bytes[this.at + 1] = value;
			this.at += 2;
		} else if (value < 0x10000) {
			this.bytes[this.at] = type | 25;
			this.view.setUint16(this.at + 1, value);
			this.at += 3;
		} else if (value < 0x100000000) {
			this.bytes[this.at] = type | 26;
			this.view.setUint32(this.at + 1, value);
			this.at += 5;
		} else {
			this.bytes[this.at] = type | 27;
			this.view.setBigUint64(this.at + 1, BigInt(value));
			this.at += 9;
		}
	}

	private byte(b: number): void {
		this.room(1);
		this.bytes[this.at++] = b;
	}

	private room(more: number): void {
		if (this.at + more <= this.bytes.length) return;
		const larger = new Uint8Array(Math.max(this.bytes.length * 2, this.at + more));
		larger.set(this.bytes.subarray(0, this.at));
		this.bytes = larger;
		this.view = new DataView(larger.buffer);
	}
}

/** The value of CBOR bytes. Throws on anything that is none, or is cut off. */
export function decode(bytes: Uint8Array): unknown {
	const r = new Reader(bytes);
	const value = r.item(0);
	if (r.at !== bytes.length) throw new RangeError("CBOR with something behind its end");
	return value;
}

const BREAK = Symbol("break");

class Reader {
	at = 0;
	private readonly view: DataView;

	constructor(private readonly bytes: Uint8Array) {
		this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	}

	item(depth: number): unknown {
		const value = this.any(depth);
		if (value === BREAK) throw new RangeError("CBOR with a break where none can be");
		return value;
	}

	private any(depth: number): unknown {
		if (depth > MAX_DEPTH) throw new RangeError("CBOR nests too deeply");
		const first = this.view.getUint8(this.at++);
		const major = first >> 5;
		const info = first & 31;
		if (major === 7) return this.simple(info);
		const count = info === 31 ? -1 : this.argument(info);
		switch (major) {
			case 0:
				return count;
			case 1:
				return -1 - count;
			case 2:
				return count < 0 ? this.chunks(depth) : this.take(count).slice();
			case 3:
				return count < 0 ? (this.chunks(depth) as string) : this.text(count);
			case 4:
				return this.list(count, depth);
			case 5:
				return this.map(count, depth);
			default:
				return this.tagged(count, depth);
		}
	}

	/** An argument of up to 64 bits; beyond 2^53 it loses precision, which only large integers have. */
	private argument(info: number): number {
		const at = this.at;
		switch (info) {
			case 24:
				this.at += 1;
				return this.view.getUint8(at);
			case 25:
				this.at += 2;
				return this.view.getUint16(at);
			case 26:
				this.at += 4;
				return this.view.getUint32(at);
			case 27:
				this.at += 8;
				return Number(this.view.getBigUint64(at));
			default:
				if (info > 27) throw new RangeError("CBOR with a reserved length");
				return info;
		}
	}

	private take(count: number): Uint8Array {
		if (this.at + count > this.bytes.length) throw new RangeError("CBOR that is cut off");
		const part = this.bytes.subarray(this.at, this.at + count);
		this.at += count;
		return part;
	}

	private text(count: number): string {
		const part = this.take(count);
		if (count > 24) return decoder.decode(part);
		let text = "";
		for (const byte of part) {
			if (byte > 127) return decoder.decode(part);
			text += String.fromCharCode(byte);
		}
		return text;
	}

	private chunks(depth: number): unknown {
		const parts: unknown[] = this.list(-1, depth);
		if (parts.every((part) => typeof part === "string")) return parts.join("");
		const all = parts as Uint8Array[];
		const whole = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
		let at = 0;
		for (const part of all) {
			whole.set(part, at);
			at += part.length;
		}
		return whole;
	}

	private list(count: number, depth: number): unknown[] {
		const out: unknown[] = [];
		while (count < 0 || out.length < count) {
			const value = this.any(depth + 1);
			if (value === BREAK) {
				if (count >= 0) throw new RangeError("CBOR with a break where none can be");
				break;
			}
			out.push(value);
		}
		return out;
	}

	private map(count: number, depth: number): Record<string, unknown> {
		const out: Record<string, unknown> = {};
		for (let n = 0; count < 0 || n < count; n++) {
			const key = this.any(depth + 1);
			if (key === BREAK && count < 0) break;
			if (typeof key !== "string") throw new TypeError("CBOR with a key that is no text");
			const value = this.item(depth + 1);
			if (key === "__proto__") Object.defineProperty(out, key, { value, enumerable: true, configurable: true, writable: true });
			else out[key] = value;
		}
		return out;
	}

	private tagged(tag: number, depth: number): unknown {
		const value = this.item(depth + 1);
		switch (tag) {
			case TAG.none:
				return undefined;
			case TAG.datetime:
				return new DateTime(...(value as [number, number]));
			case TAG.duration: {
				const [seconds = 0, nanos = 0] = value as number[];
				return new Duration(seconds, nanos);
			}
			case TAG.record:
				return Array.isArray(value) ? new RecordId(String(value[0]), value[1]) : value;
			case TAG.decimal:
				return Number(value);
			case TAG.uuid:
				return value instanceof Uint8Array ? uuidText(value) : value;
			default: // a table's name, a geometry, a range: what it holds says enough here
				return value;
		}
	}

	private simple(info: number): unknown {
		const at = this.at;
		switch (info) {
			case 20:
				return false;
			case 21:
				return true;
			case 22:
			case 23:
				return null;
			case 25:
				this.at += 2;
				return half(this.view.getUint16(at));
			case 26:
				this.at += 4;
				return this.view.getFloat32(at);
			case 27:
				this.at += 8;
				return this.view.getFloat64(at);
			case 31:
				return BREAK;
			default:
				throw new RangeError("CBOR with an unknown simple value");
		}
	}
}

function half(bits: number): number {
	const sign = bits & 0x8000 ? -1 : 1;
	const exponent = (bits >> 10) & 31;
	const fraction = bits & 1023;
	if (exponent === 0) return sign * 2 ** -14 * (fraction / 1024);
	if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
	return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}

function uuidText(bytes: Uint8Array): string {
	const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
	return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
