import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkflowEntrypoint, withWorkflows } from "../src/index.js";
import { traceOf, traceparentFor } from "../src/trace.js";

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

test("requests that are answered at the same time have each their own", async () => {
	const app = withWorkflows(async () => {
		await new Promise((resolve) => setTimeout(resolve, 1));
		return new Response(traceparentFor(undefined, undefined) ?? "none");
	}, { NOTHING: Nothing });
	const answers = await Promise.all([{ traceparent: here }, { traceparent: there }, {}].map((headers) => app.fetch(new Request("http://backend/", { headers }))));
	assert.deepEqual(await Promise.all(answers.map((answer) => answer.text())), [here, there, "none"]);
});
