import assert from "node:assert/strict";
import { test } from "node:test";
import { encode } from "../src/cbor.js";
import { FrameReader, OP, writeFrame } from "../src/frames.js";
import { answered } from "../src/transport.js";

/** A frame as a server writes it. */
function served(first: number, payload: Uint8Array): Uint8Array {
	const size = payload.length;
	const head = size < 126 ? [first, size] : size < 65536 ? [first, 126, size >> 8, size & 255] : [first, 127, 0, 0, 0, 0, size >>> 24, (size >> 16) & 255, (size >> 8) & 255, size & 255];
	return Uint8Array.from([...head, ...payload]);
}

function join(...parts: Uint8Array[]): Uint8Array {
	return Uint8Array.from(parts.flatMap((part) => [...part]));
}

test("a client's frame is masked and says its length", () => {
	for (const size of [0, 1, 125, 126, 65535, 65536]) {
		const payload = new Uint8Array(size).map((_, i) => i % 251);
		const frame = writeFrame(OP.binary, payload);
		const head = size < 126 ? 2 : size < 65536 ? 4 : 10;
		assert.equal(frame[0], 0x82);
		assert.equal(frame[1]! & 0x80, 0x80);
		const mask = frame.subarray(head, head + 4);
		assert.deepEqual(frame.subarray(head + 4).map((b, i) => b ^ mask[i & 3]!), payload);
	}
});

test("frames come out whole, in whatever pieces they arrive", () => {
	const [small, large] = [new Uint8Array([1, 2, 3]), new Uint8Array(70_000).fill(7)];
	const all = join(served(0x82, small), served(0x89, new Uint8Array([9])), served(0x82, large), served(0x02, small), served(0x8a, small), served(0x80, small), served(0x88, new Uint8Array(0)));
	for (const step of [1, 2, 7, 1000, all.length]) {
		const reader = new FrameReader();
		const frames = [];
		for (let at = 0; at < all.length; at += step) frames.push(...reader.push(all.subarray(at, at + step)));
		assert.deepEqual(frames.map(({ op, payload }) => [op, payload.length]), [[2, 3], [9, 1], [2, 70_000], [10, 3], [2, 6], [8, 0]]);
	}
});

test("a message that is too large is passed over, and its beginning kept", () => {
	const large = new Uint8Array(70_000).map((_, i) => i % 251);
	const all = join(served(0x82, new Uint8Array(1000)), served(0x82, large), served(0x89, new Uint8Array([9])), served(0x82, large), served(0x82, new Uint8Array([1])));
	for (const step of [1, 7, 100, 4096, all.length]) {
		const reader = new FrameReader(1000);
		const frames = [];
		for (let at = 0; at < all.length; at += step) frames.push(...reader.push(all.subarray(at, at + step)));
		assert.deepEqual(frames.map(({ op, payload, tooLarge }) => [op, payload.length, tooLarge]), [[2, 1000, undefined], [2, 64, 70_000], [9, 1, undefined], [2, 64, 70_000], [2, 1, undefined]]);
		assert.deepEqual(frames[1]!.payload, large.subarray(0, 64));
	}
});

test("whom a reply answers can be seen in its beginning", () => {
	for (const id of [0, 1, 23, 24, 255, 256, 65_535, 65_536, 2 ** 32, 2 ** 40]) {
		assert.equal(answered(encode({ id, result: "x".repeat(100) }).subarray(0, 64)), id);
		assert.equal(answered(encode({ result: { id } })), undefined);
	}
	for (const odd of [[], [0xa1], [0xa1, 0x62, 0x69, 0x64], [0xa1, 0x62, 0x69, 0x64, 0x1b, 1], [0x82, 1, 2, 3, 4]]) assert.equal(answered(Uint8Array.from(odd)), undefined);
});

test("what no server may send is an error", () => {
	assert.throws(() => new FrameReader().push(new Uint8Array([0x82, 0x81, 0, 0, 0, 0, 1])), /no server/);
	assert.throws(() => new FrameReader().push(new Uint8Array([0xc2, 1, 1])), /no server/);
	assert.throws(() => new FrameReader().push(new Uint8Array([0x82, 127, 1, 0, 0, 0, 0, 0, 0, 0])), /bytes/);
	assert.throws(() => new FrameReader(10).push(new Uint8Array([0x02, 100])), /a frame of 100 bytes/);
});
