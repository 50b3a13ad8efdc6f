import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameReader, OP, writeFrame } from "../src/frames.js";

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

test("what no server may send is an error", () => {
	assert.throws(() => new FrameReader().push(new Uint8Array([0x82, 0x81, 0, 0, 0, 0, 1])), /no server/);
	assert.throws(() => new FrameReader().push(new Uint8Array([0xc2, 1, 1])), /no server/);
	assert.throws(() => new FrameReader().push(new Uint8Array([0x82, 127, 1, 0, 0, 0, 0, 0, 0, 0])), /bytes/);
});
