import assert from "node:assert/strict";
import { test } from "node:test";
import { NonRetryableError, WorkflowFatalError, WorkflowTimeoutError, isFinal, loaded, stored } from "../src/errors.js";

test("an error keeps name, message, stack, and its own properties", () => {
	class PaymentError extends Error {
		constructor(message: string, readonly code: number, readonly at = new Date(0)) {
			super(message);
		}
	}
	const kept = stored(new PaymentError("declined", 7));
	assert.equal(kept.name, "PaymentError");
	assert.deepEqual(kept.details, { code: 7, at: "1970-01-01T00:00:00.000Z" });
	assert.match(kept.stack!, /errors\.test/);
	const again = loaded(kept) as Error & { code: number };
	assert.ok(again instanceof Error);
	assert.deepEqual([again.name, again.message, again.code, Object.keys(again)], ["PaymentError", "declined", 7, ["code", "at"]]);
	assert.deepEqual(stored(again), kept, "and is stored in the same way when it is thrown on");
});

test("whatever may be thrown", () => {
	assert.deepEqual(stored("top string"), { name: "Error", message: "top string" });
	assert.deepEqual(stored(undefined), { name: "Error", message: "undefined" });
	assert.deepEqual(stored({ a: 1 }), { name: "Error", message: '{"a":1}' });
	assert.equal(stored(Object.create(null)).name, "Error");
	assert.equal(stored(new TypeError("x")).name, "TypeError");
	assert.equal(stored(Object.assign(new Error("x"), { big: 1n })).details, undefined);
	assert.ok(stored(new Error("é".repeat(100_000))).message.length < 17_000);
});

test("an error whose parts are no texts, or can't be read, is stored all the same", () => {
	const odd = (parts: object) => Object.defineProperties(new Error("x"), Object.fromEntries(Object.entries(parts).map(([key, value]) => [key, { value }])));
	assert.equal(stored(odd({ message: { status: 404 } })).message, '{"status":404}');
	assert.equal(stored(odd({ message: undefined })).message, "");
	assert.equal(stored(odd({ name: 7 })).name, "7");
	const { proxy, revoke } = Proxy.revocable({}, {});
	revoke();
	const unreadable = Object.defineProperty(new Error("x"), "message", { get: () => { throw new Error("not you"); } });
	for (const error of [proxy, unreadable]) assert.match(stored(error).message, /can't be read/);
	for (const error of [proxy, unreadable, odd({ message: {} }), odd({ message: undefined, name: 7 })]) assert.equal(isFinal(error), false);
});

test("what another attempt won't mend", () => {
	const final = [new NonRetryableError(""), new NonRetryableError("m", "MyName"), new WorkflowFatalError("config", "x"), new Error("NonRetryableError: wrapped"), Object.assign(new Error("x"), { name: "NonRetryableError" })];
	for (const error of final) assert.equal(isFinal(error), true, String(error));
	for (const error of [new Error("x"), new WorkflowTimeoutError("x"), "NonRetryableError", undefined, null]) assert.equal(isFinal(error), false);
});

test("errors that are loaded are of the classes that are exported", () => {
	assert.ok(loaded(stored(new NonRetryableError("x"))) instanceof NonRetryableError);
	assert.ok(loaded(stored(new WorkflowTimeoutError("x"))) instanceof WorkflowTimeoutError);
	assert.equal(loaded(undefined).message, "the step failed and left no error");
});
