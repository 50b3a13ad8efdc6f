import assert from "node:assert/strict";
import { test } from "node:test";
import { DatabaseError, UnreachableError } from "../src/dberror.js";
import { Group } from "../src/group.js";

/** A group whose calls are answered when the test says so. */
function held() {
	const sent: { calls: number[]; answer(): void; fail(error: Error): void }[] = [];
	const group = new Group<number, number>((calls) => new Promise((resolve, reject) => sent.push({ calls, answer: () => resolve(calls.map((n) => n * 10)), fail: reject })));
	return { group, sent };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("one that comes alone goes alone, those that wait go together, each with its own answer", async () => {
	const { group, sent } = held();
	const first = group.do(1, 0);
	await turn();
	const others = [group.do(2, 0), group.do(3, 0)];
	await turn();
	assert.deepEqual(sent.map(({ calls }) => calls), [[1]]);
	sent[0]!.answer();
	assert.equal(await first, 10);
	await turn();
	assert.deepEqual(sent[1]!.calls, [2, 3]);
	sent[1]!.answer();
	assert.deepEqual(await Promise.all(others), [20, 30]);
});

test("a group has at most 64 calls and about a MiB", async () => {
	const { group, sent } = held();
	const all = Array.from({ length: 70 }, (_, n) => group.do(n, 0));
	await turn();
	assert.equal(sent[0]!.calls.length, 64);
	sent[0]!.answer();
	await turn();
	sent[1]!.answer();
	await Promise.all(all);
	const large = [group.do(1, 900_000), group.do(2, 900_000), group.do(3, 2_000_000)];
	for (let n = 2; n < 5; n++) {
		await turn();
		assert.equal(sent[n]!.calls.length, 1);
		sent[n]!.answer();
	}
	await Promise.all(large);
});

test("a second group goes beside the first where twenty wait", async () => {
	const { group, sent } = held();
	const all = [group.do(0, 0)];
	await turn();
	for (const [calls, sizes] of [[19, [1]], [1, [1, 20]], [30, [1, 20]]] as const) {
		for (let n = 0; n < calls; n++) all.push(group.do(n, 0));
		await turn();
		assert.deepEqual(sent.map((one) => one.calls.length), sizes);
	}
	for (let n = 0; n < 3; n++) {
		sent[n]!.answer();
		await turn();
	}
	assert.equal((await Promise.all(all)).length, 51);
	assert.deepEqual(sent.map((one) => one.calls.length), [1, 20, 30]);
});

test("a group that is slow holds the others up for 100 ms, and four are under way at most", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const { group, sent } = held();
	const all: Promise<number>[] = [];
	const slow = async (ms: number, sizes: number[]) => {
		await turn(); // what has been called is sent
		t.mock.timers.tick(ms);
		await turn();
		assert.deepEqual(sent.map((one) => one.calls.length), sizes);
	};
	const call = (n: number) => all.push(...Array.from({ length: n }, () => group.do(7, 0)));
	call(1);
	await slow(99, [1]);
	call(2);
	await slow(0, [1]);
	await slow(1, [1, 2]); // those that waited
	call(1);
	await slow(99, [1, 2]);
	await slow(1, [1, 2, 1]);
	await slow(100, [1, 2, 1]); // nothing waits
	call(3);
	await slow(0, [1, 2, 1, 3]); // all under way are slow
	await slow(100, [1, 2, 1, 3]);
	call(30);
	await slow(100, [1, 2, 1, 3]); // four are
	sent[0]!.answer();
	await slow(0, [1, 2, 1, 3, 30]);
	for (const one of sent) one.answer();
	assert.deepEqual(new Set(await Promise.all(all)), new Set([70]));
	await turn();
	call(1);
	await slow(0, [1, 2, 1, 3, 30, 1]);
	call(1);
	await slow(60, [1, 2, 1, 3, 30, 1]); // none is slow any more
	sent[5]!.answer();
	await slow(0, [1, 2, 1, 3, 30, 1, 1]);
	call(1);
	await slow(60, [1, 2, 1, 3, 30, 1, 1]); // nor becomes so once it has its answer
	sent[6]!.answer();
	await slow(0, [1, 2, 1, 3, 30, 1, 1, 1]);
	sent[7]!.answer();
	await Promise.all(all);
});

test("one that is refused takes no other down; a lost connection concerns all", async () => {
	const group = new Group<number, number>(async (calls) => {
		if (calls.includes(2)) throw new DatabaseError("no two");
		if (calls.includes(9)) throw new UnreachableError("gone");
		return calls;
	});
	const came = await Promise.allSettled([1, 2, 3].map((n) => group.do(n, 0)));
	assert.deepEqual(came.map((one) => one.status), ["fulfilled", "rejected", "fulfilled"]);
	const lost = await Promise.allSettled([8, 9].map((n) => group.do(n, 0)));
	assert.deepEqual(lost.map((one) => one.status), ["rejected", "rejected"]);
});
