import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkflowFatalError } from "../src/errors.js";
import { MAX_VALUE, encodeValue } from "../src/json.js";

function kept(value: unknown): unknown {
	return encodeValue("it", value).value;
}

test("a value is seen as JSON keeps it", () => {
	const at = new Date(0);
	assert.deepEqual(kept({ at, none: undefined, list: [undefined, null, [null]], nested: { deep: null } }), { at: at.toISOString(), list: [null, null, [null]], nested: { deep: null } });
	assert.equal(kept(undefined), undefined);
	assert.equal(kept(null), null);
	assert.equal(kept(false), false);
	assert.equal(kept(Number.NaN), null);
	class Point {
		x = 1;
		get y() {
			return 2;
		}
	}
	assert.deepEqual(kept(new Point()), { x: 1 });
	assert.deepEqual(kept([new (class Empty {})(), Object.create(null), new URL("http://x/")]), [{}, {}, "http://x/"]);
	assert.deepEqual(kept(Buffer.from("a")), { data: [97], type: "Buffer" }, "it has a toJSON of its own");
});

test("keys come in the order in which the database gives them", () => {
	assert.deepEqual(Object.keys(kept({ b: 1, a: 1, "": 1, "🎉": 1, "\uffee": 1, B: 1 }) as object), ["", "B", "a", "b", "\uffee", "🎉"]);
	assert.deepEqual(JSON.stringify(kept([{ z: { y: 1, x: 1 } }])), '[{"z":{"x":1,"y":1}}]');
});

test("halves of surrogate pairs become what the database would make of them", () => {
	assert.deepEqual(kept({ "\ud800": ["a\udfff", "🎉"] }), { "\ufffd": ["a\ufffd", "🎉"] });
});

test("what is no JSON is refused, and says what to do", () => {
	const circle: Record<string, unknown> = {};
	circle["self"] = circle;
	const refused: [unknown, RegExp][] = [
		[10n, /a BigInt; return String/], [{ a: 10n }, /\.a is a BigInt/], [{ toJSON: () => undefined }, /its toJSON/], [circle, /circular/i], [() => 1, /a function/], [Symbol("x"), /a symbol/],
		[new Map(), /Map; return Object.fromEntries/], [{ a: new Set() }, /\.a is a Set/], [new Uint8Array(1), /bytes/], [new ArrayBuffer(1), /bytes/],
		[new Error("x"), /an Error; throw it/], [new Response("x"), /a Response, of which JSON keeps nothing/], [{ r: /x/ }, /\.r is a RegExp/],
		[new ReadableStream(), /stream/], [{ p: Promise.resolve() }, /await/],
	];
	for (const [value, why] of refused) {
		assert.throws(() => kept(value), (error: unknown) => error instanceof WorkflowFatalError && error.code === "not_json" && /not serialisable/.test(error.message) && why.test(error.message));
	}
});

test("as many levels as the Go SDK takes", () => {
	const nested = (levels: number): unknown => (levels === 0 ? 1 : levels % 2 ? [nested(levels - 1)] : { a: nested(levels - 1) });
	assert.deepEqual(kept(nested(64)), nested(64));
	for (const levels of [65, 200, 2000]) {
		assert.throws(() => kept(nested(levels)), (error: unknown) => error instanceof WorkflowFatalError && error.code === "not_json" && /64 levels/.test(error.message));
	}
});

test("boxed values are unwrapped", () => {
	assert.deepEqual(kept([new Number(1), new String("a"), new Boolean(false)]), [1, "a", false]);
});

test("exactly 1 MiB passes, in bytes", () => {
	assert.equal(encodeValue("it", "x".repeat(MAX_VALUE - 2)).size, MAX_VALUE);
	assert.throws(() => kept("x".repeat(MAX_VALUE - 1)), (error: unknown) => error instanceof WorkflowFatalError && error.code === "too_large" && /1 MiB/.test(error.message));
	assert.throws(() => kept("é".repeat(MAX_VALUE / 2)), /1 MiB/);
});
