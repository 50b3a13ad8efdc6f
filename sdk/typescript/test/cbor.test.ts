import assert from "node:assert/strict";
import { test } from "node:test";
import { decode, encode } from "../src/cbor.js";
import { DateTime, Duration, RecordId, parseRecordId, plain } from "../src/values.js";

function hex(text: string): Uint8Array {
	return Uint8Array.from(text.match(/../g) ?? [], (two) => Number.parseInt(two, 16));
}

test("what is encoded is decoded as it was", () => {
	const values: unknown[] = [
		null, undefined, true, false, 0, 1, 23, 24, 255, 256, 65535, 65536, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER, -1, -24, -25, -(2 ** 40), Number.MIN_SAFE_INTEGER,
		1.5, -0.1, 1e300, Number.POSITIVE_INFINITY, -0, "", "a", "seven77", "eight888", "naïve 🎉 \u0000", "x".repeat(70_000), [], [[[1]]], {}, { a: { b: [undefined, null] } },
		new Uint8Array([1, 2, 3]), new DateTime(1_700_000_000, 123_456_789), new Duration(90, 5), new RecordId("user", "a-b"), new RecordId("t", [1, "x", { y: 2 }]),
	];
	for (const value of values) assert.deepEqual(decode(encode(value)), value);
	assert.deepEqual(decode(encode(values)), values);
});

test("an integer beyond 2^53 is a float, a bigint an integer", () => {
	assert.equal(encode(2 ** 60)[0], 0xfb);
	assert.deepEqual(encode(-5n), hex("3b0000000000000004"));
	assert.deepEqual(encode(18446744073709551615n), hex("1bffffffffffffffff"));
});

test("a Date is a datetime, NONE a tag", () => {
	assert.deepEqual(encode(undefined), hex("c6f6"));
	assert.deepEqual(decode(encode(new Date(1234))), new DateTime(1, 234_000_000));
	assert.deepEqual(decode(encode(DateTime.at(-1))), new DateTime(-1, 999_000_000));
});

test("reads what the server may send besides", () => {
	assert.deepEqual(decode(hex("9f0102ff")), [1, 2]);
	assert.deepEqual(decode(hex("bf616101ff")), { a: 1 });
	assert.deepEqual(decode(hex("7f61616162ff")), "ab");
	assert.deepEqual(decode(hex("5f4101420203ff")), new Uint8Array([1, 2, 3]));
	assert.equal(decode(hex("f93c00")), 1);
	assert.equal(decode(hex("fa3fc00000")), 1.5);
	assert.equal(decode(hex("ca63312e35")), 1.5, "a decimal is a number");
	assert.equal(decode(hex("d8255000112233445566778899aabbccddeeff")), "00112233-4455-6677-8899-aabbccddeeff");
	assert.equal(Object.hasOwn(decode(hex("a1695f5f70726f746f5f5f01")) as object, "__proto__"), true);
});

test("refuses what is no CBOR", () => {
	for (const broken of ["", "18", "62e9", "a10101", "ff", "81ff", "1c", "0000", "5a7fffffff00"]) assert.throws(() => decode(hex(broken)), Error, broken);
	assert.throws(() => decode(new Uint8Array(100_000).fill(0x81)), RangeError);
	assert.throws(() => encode(() => 1), TypeError);
	const circle: unknown[] = [];
	circle.push(circle);
	assert.throws(() => encode(circle), RangeError);
});

test("values of the database as JSON has them", () => {
	const value = { at: new DateTime(0, 1_000_000), none: undefined, id: new RecordId("user", "a-b"), list: [undefined, new Duration(1, 0)], bytes: new Uint8Array([1]), n: 5n };
	assert.deepEqual(plain(value), { at: "1970-01-01T00:00:00.001Z", id: "user:⟨a-b⟩", list: [null, "1s"], bytes: "AQ==", n: 5 });
	assert.equal(plain(undefined), undefined);
});

test("the texts of record ids", () => {
	const texts: [string, RecordId | undefined][] = [
		["user:abc", new RecordId("user", "abc")], ["user:12", new RecordId("user", 12)], ["user:⟨12⟩", new RecordId("user", "12")],
		["user:`a-b`", new RecordId("user", "a-b")], ["user:⟨a\\⟩b⟩", new RecordId("user", "a⟩b")], ["a:01h", new RecordId("a", "01h")],
		["user", undefined], ["user:", undefined], ["user:a-b", undefined], ["user:a b", undefined], [":a", undefined], ["user:⟨a⟩b⟩", undefined], ["user:[1]", undefined],
	];
	for (const [text, want] of texts) assert.deepEqual(parseRecordId(text), want, text);
});
