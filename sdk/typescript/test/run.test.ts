import assert from "node:assert/strict";
import { test } from "node:test";
import type { Ack, Acquired } from "../src/protocol.js";
import { OVER, Run } from "../src/run.js";
import type { Store } from "../src/store.js";
import { DateTime } from "../src/values.js";

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("a warning is stored before the run gives its instance back", async () => {
	const calls: string[] = [];
	const slow = (name: string) => async (): Promise<Ack> => {
		calls.push(`${name} begins`);
		for (let n = 0; n < 5; n++) await turn();
		calls.push(`${name} ends`);
		return { ok: true };
	};
	const store = { warn: slow("warn"), suspend: slow("suspend") } as unknown as Store;
	const now = DateTime.at(Date.now());
	const old = { kind: "do", name: "old", occurrence: 1, seq: 1, status: "complete" };
	const got = { state: "acquired", now, instance: { id: "i", binding: "FLOW", runs: 2, fence: 2, incarnation: 0, created_at: now }, steps: [old], events: [] };
	const run = new Run(got as unknown as Acquired, { store, log: quiet, budgetMs: 1000, strict: false, stepLimit: 10, trace: {} });
	const [key, row] = run.history.identify("sleep", "nap");
	await run.enter(key, row);
	assert.throws(() => run.park({ kind: "sleep", name: "nap" } as unknown as Parameters<Run["park"]>[0]), (thrown) => thrown === OVER);
	run.leave();
	await run.ended;
	await run.endWrites();
	assert.deepEqual(calls, ["warn begins", "warn ends", "suspend begins", "suspend ends"]);
});
