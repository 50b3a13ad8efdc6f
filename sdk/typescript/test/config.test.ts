import assert from "node:assert/strict";
import { test } from "node:test";
import { pauseAfter, readConfig, shownConfig } from "../src/config.js";
import { WorkflowFatalError } from "../src/errors.js";
import { checkStepName } from "../src/names.js";
import type { WorkflowStepConfig } from "../src/types.js";

function shown(config?: WorkflowStepConfig) {
	const read = readConfig("a", config);
	return shownConfig(read, read.stored);
}

test("6, 7, 8, 17: what the function is shown", () => {
	assert.deepEqual(shown(), { retries: { limit: 5, delay: 10_000, backoff: "exponential" }, timeout: "10 minutes" });
	assert.deepEqual(shown({ retries: { limit: 3, delay: 500 } }), { retries: { limit: 3, delay: 500, backoff: "exponential" }, timeout: "10 minutes" });
	assert.deepEqual(shown({ retries: { limit: 3, delay: 500 }, timeout: "5 minutes" }), { retries: { limit: 3, delay: 500, backoff: "exponential" }, timeout: "5 minutes" });
	assert.equal("delay" in shown({ retries: { limit: 1, delay: () => 5 } }).retries, false);
	assert.equal(shown({ retries: { limit: 1, delay: 1234 } }).retries.delay, 1234);
});

test("what was stored first is what counts, and what is shown", () => {
	const read = readConfig("a", { retries: { limit: 9, delay: "9 seconds" }, timeout: "9 seconds" });
	const stored = readConfig("a", { retries: { limit: 1, delay: 5, backoff: "linear" }, timeout: 7 }).stored;
	assert.deepEqual(shownConfig(read, stored), { retries: { limit: 1, delay: 5, backoff: "linear" }, timeout: 7 });
});

test("27: configurations that are refused", () => {
	const refused = [
		{ retries: { limit: 1 } }, { retries: { delay: 1 } }, { retries: { backoff: "linear" } }, { retries: { limit: 1, delay: 1, extra: 1 } },
		{ retries: { limit: 1, delay: "i like trains" } }, { timeout: 0 }, { timeout: "0 seconds" }, { timeout: Number.NaN }, { sensitive: "output" }, { sensitive: true }, { foo: 1 },
		{ retries: { limit: 1, delay: 1, backoff: "cubic" } }, { retries: { limit: -1, delay: 1 } }, { retries: { limit: Number.POSITIVE_INFINITY, delay: 1 } },
		{ retries: { limit: 1, delay: -5 } }, { retries: { limit: Number.NaN, delay: 1 } }, { retries: null },
	];
	for (const config of refused) assert.throws(() => readConfig("a", config as unknown as WorkflowStepConfig), WorkflowFatalError, JSON.stringify(config));
});

test("28: configurations that are accepted", () => {
	assert.equal(readConfig("a", { retries: { limit: 0, delay: 0 } }).stored.retries.limit, 0);
	assert.equal(readConfig("a", { retries: { limit: 0.5, delay: 0.5 } }).stored.retries.delay, 0, "whole milliseconds, as other SDKs read them");
	assert.deepEqual(readConfig("a", { retries: { limit: 1, delay: () => 1 } }).stored, { retries: { limit: 1, delay: 1000, backoff: "exponential" }, timeout: 600_000, dynamic: true });
});

test("pauses: d, d·a, d·2^(a-1), at most a year", () => {
	assert.deepEqual([1, 2, 3].map((a) => pauseAfter("constant", 60, a)), [60, 60, 60]);
	assert.deepEqual([1, 2, 3].map((a) => pauseAfter("linear", 60, a)), [60, 120, 180]);
	assert.deepEqual([1, 2, 3].map((a) => pauseAfter("exponential", 60, a)), [60, 120, 240]);
	assert.equal(pauseAfter("exponential", 60, 9000), 365 * 86_400_000);
});

test("26: names of steps", () => {
	for (const name of ["", "x".repeat(256), "étape 🚀 / #1?"]) checkStepName(name);
	for (const name of ["x".repeat(257), "a\u0000b", "a\nb", "\ud800"]) assert.throws(() => checkStepName(name), WorkflowFatalError);
});
