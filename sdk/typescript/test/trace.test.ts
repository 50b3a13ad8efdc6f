import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkflowEntrypoint, withWorkflows } from "../src/index.js";
import { traceOf, traceparentFor } from "../src/trace.js";
import type { WorkflowTrace } from "../src/types.js";

const here = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const there = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

/** What is no trace context of version 00. */
const none = ["", "x", "0".repeat(55), `00-${"0".repeat(32)}-b7ad6b7169203331-01`, `00-0af7651916cd43dd8448eb211c80319c-${"0".repeat(16)}-01`, here.toUpperCase(), `${here}-00`, `01${here.slice(2)}`, `${here.slice(0, 54)}g`, "x".repeat(1 << 16)];

class Nothing extends WorkflowEntrypoint {
	override async run(): Promise<unknown> {
		return null;
	}
}

test("a request's trace is that of its headers; without a traceparent there is none", () => {
	assert.deepEqual(traceOf(new Headers()), {});
	assert.deepEqual(traceOf(new Headers({ tracestate: "a=b" })), {});
	assert.deepEqual(traceOf(new Headers({ traceparent: here })), { traceparent: here });
	assert.deepEqual(traceOf(new Headers([["Traceparent", here], ["tracestate", "a=b"], ["tracestate", "c=d"]])), { traceparent: here, tracestate: "a=b, c=d" });
	for (const traceparent of none) assert.deepEqual(traceOf(new Headers({ traceparent, tracestate: "a=b" })), {}, traceparent.slice(0, 60));
});

test("an instance keeps the trace that its creator gives, else the program's, else the request's", async () => {
	const seen: (string | undefined)[] = [];
	const app = withWorkflows(async () => {
		await new Promise((resolve) => setImmediate(resolve));
		seen.push(traceparentFor(undefined, undefined), traceparentFor({}, () => ({})), traceparentFor(undefined, () => ({ traceparent: there })), traceparentFor({ traceparent: there }, () => ({ traceparent: here })));
		for (const traceparent of [...none, 5, null] as string[]) seen.push(traceparentFor({ traceparent }, () => ({ traceparent })));
		return new Response();
	}, { NOTHING: Nothing });
	await app.fetch(new Request("http://backend/", { headers: { traceparent: here } }));
	assert.deepEqual(seen.splice(0), [here, here, there, there, ...none.map(() => here), here, here]);
	await app.fetch(new Request("http://backend/"));
	assert.deepEqual(seen.slice(0, 5), [undefined, undefined, there, there, undefined]);
	assert.equal(traceparentFor(undefined, undefined), undefined);
});

test("what asks for a trace in vain costs no instance: it counts as none", async () => {
	const throws = (): never => {
		throw new Error("no tracer");
	};
	const rejected: unknown[] = [];
	const note = (reason: unknown): void => void rejected.push(reason);
	process.on("unhandledRejection", note);
	const getter = { get traceparent(): string { return throws(); } };
	const odd = { get then(): unknown { return throws(); } };
	const answers = [throws, () => getter, () => odd, () => Promise.reject(new Error("later")), () => Promise.resolve({ traceparent: there }), () => null, () => "x", { traceparent: there }];
	for (const ask of answers as (() => WorkflowTrace)[]) assert.equal(traceparentFor(undefined, ask), undefined, String(ask));
	assert.equal(traceparentFor(getter, () => ({ traceparent: there })), there);
	assert.equal(traceparentFor(Promise.reject(new Error("later")) as WorkflowTrace, undefined), undefined);
	await new Promise((resolve) => setImmediate(resolve));
	process.off("unhandledRejection", note);
	assert.deepEqual(rejected, []);
	const nobody = withWorkflows(() => new Response(), { NOTHING: Nothing }, { database: { url: "ws://127.0.0.1:1" }, get trace(): never { return throws(); } });
	await assert.rejects(nobody.workflows.NOTHING.create(), /127\.0\.0\.1:1/);
	await nobody.close();
});

test("a traceparent is read once: what is kept is what was looked at", () => {
	let reads = 0;
	const fickle = { get traceparent(): string { return ++reads === 1 ? here : "x"; } };
	assert.equal(traceparentFor(fickle, undefined), here);
	assert.equal(reads, 1);
	reads = 0;
	assert.equal(traceparentFor(undefined, () => fickle), here);
	assert.equal(reads, 1);
});

test("requests that are answered at the same time have each their own", async () => {
	const app = withWorkflows(async () => {
		await new Promise((resolve) => setTimeout(resolve, 1));
		return new Response(traceparentFor(undefined, undefined) ?? "none");
	}, { NOTHING: Nothing });
	const answers = await Promise.all([{ traceparent: here }, { traceparent: there }, {}].map((headers) => app.fetch(new Request("http://backend/", { headers }))));
	assert.deepEqual(await Promise.all(answers.map((answer) => answer.text())), [here, there, "none"]);
});
