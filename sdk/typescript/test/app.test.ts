import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { WorkflowEntrypoint, withWorkflows } from "../src/index.js";
import { serve } from "../src/node.js";

class Nothing extends WorkflowEntrypoint {
	override async run(): Promise<unknown> {
		return null;
	}
}

function post(path: string, body: string, headers: Record<string, string> = {}): Request {
	return new Request(`http://backend${path}`, { method: "POST", body, headers });
}

async function refusal(answer: Response): Promise<[number, string]> {
	const { code, message } = (await answer.json()) as { code: string; message: string };
	assert.ok(message);
	return [answer.status, code];
}

test("requests for runs that can't be, and what they are answered", async () => {
	const app = withWorkflows(() => new Response("app"), { NOTHING: Nothing }, { authToken: (env) => env["TOKEN"] as string });
	const env = { TOKEN: "secret" };
	const token = { authorization: "Bearer secret" };
	const ask = async (request: Request) => refusal(await app.fetch(request, env));
	assert.deepEqual(await ask(post("/__spky/workflow/NOTHING", "{}")), [401, "unauthorized"]);
	assert.deepEqual(await ask(post("/__spky/workflow/NOTHING", "{}", { authorization: "Bearer wrong" })), [401, "unauthorized"]);
	assert.deepEqual(await ask(post("/__spky/workflow/NOTHING", "{}", { authorization: "secret" })), [401, "unauthorized"]);
	assert.deepEqual(await ask(post("/__spky/workflow/OTHER", "{}", token)), [404, "unknown_workflow"]);
	assert.deepEqual(await ask(post("/__spky/workflow/toString", "{}", token)), [404, "unknown_workflow"]);
	for (const body of ["", "no json", "null", "{}", '{"instance":"-x"}', '{"instance":1}', JSON.stringify({ instance: "x", more: "x".repeat(70_000) })]) {
		assert.deepEqual(await ask(post("/__spky/workflow/NOTHING", body, token)), [400, "bad_request"], body.slice(0, 30));
	}
	assert.deepEqual(await ask(new Request("http://backend/__spky/workflow/NOTHING")), [405, "bad_request"]);
	await app.close();
	const closed = await app.fetch(post("/__spky/workflow/NOTHING", '{"instance":"x"}', token), env);
	assert.equal(closed.headers.get("spky-retry"), "busy");
	assert.deepEqual(await refusal(closed), [503, "shutting_down"]);
});

test("a database that is not there is a 500 with its code", async () => {
	const app = withWorkflows(() => new Response("app"), { NOTHING: Nothing }, { database: { url: "ws://127.0.0.1:1", username: "u" }, logger: console });
	await assert.rejects(app.workflows.NOTHING.create(), /127\.0\.0\.1:1/);
	await app.close();
});

test("every other request is the app's: its env is kept, bindings are added, nothing is changed in place", async () => {
	const env = { OWN: "kept", NOTHING: "replaced" };
	let saw: Record<string, unknown> = {};
	const ctx = { waitUntil: () => undefined, passThroughOnException: () => undefined };
	let sawCtx: unknown;
	const app = withWorkflows({
		prefix: "/",
		fetch(request: Request, given: Record<string, unknown>, context: unknown) {
			[saw, sawCtx] = [given, context];
			return new Response(this.prefix + new URL(request.url).pathname);
		},
	} as { prefix: string; fetch(request: Request, env: Record<string, unknown>, ctx: unknown): Response }, { NOTHING: Nothing });
	const answer = await app.fetch(new Request("http://backend/__spky/other"), env, ctx);
	assert.equal(await answer.text(), "//__spky/other");
	assert.equal(saw["OWN"], "kept");
	assert.equal(typeof (saw["NOTHING"] as { create: unknown }).create, "function");
	assert.equal(env.NOTHING, "replaced");
	assert.equal(sawCtx, ctx);
});

test("handlers of a Worker besides fetch go on, with the bindings", async () => {
	let saw: unknown[] = [];
	const worker = { fetch: () => new Response(), scheduled: (...args: unknown[]) => void (saw = args) };
	const app = withWorkflows(worker, { NOTHING: Nothing }) as unknown as { scheduled(event: unknown, env: object, ctx: unknown): void; queue?: unknown };
	app.scheduled("event", { OWN: 1 }, "ctx");
	assert.equal(saw[0], "event");
	assert.deepEqual(Object.keys(saw[1] as object), ["OWN", "NOTHING"]);
	assert.equal(app.queue, undefined);
});

test("illegal bindings and tables are refused when the app is made", () => {
	for (const binding of ["1X", "-badName", "a-b", "x".repeat(65)]) assert.throws(() => withWorkflows(() => new Response(), { [binding]: Nothing }), TypeError);
	withWorkflows(() => new Response(), { ["x".repeat(64)]: Nothing });
	assert.throws(() => withWorkflows(() => new Response(), {}, { outboxTable: "no-table" }), TypeError);
});

test("30, 29, 65: ids and batches are refused before the database is asked", async () => {
	const { NOTHING } = withWorkflows(() => new Response(), { NOTHING: Nothing }, { database: { url: "ws://127.0.0.1:1" } }).workflows;
	for (const id of ["", " ", "\nx", "#1231231!!!!", "x".repeat(101), "-x", "latest"]) await assert.rejects(NOTHING.create({ id }), /instance\.invalid_id/);
	await assert.rejects(NOTHING.get(""), /instance\.not_found/);
	await assert.rejects(NOTHING.createBatch([]), /at least 1 instance/);
	await assert.rejects(NOTHING.createBatch(Array.from({ length: 101 }, () => ({}))), /at most 100/);
	await assert.rejects(NOTHING.create({ params: 1n }), /params: .*not serialisable/);
	await assert.rejects(NOTHING.create({ owner: "nobody" }), /instance\.invalid_owner/);
	await assert.rejects(NOTHING.create({ retention: {} } as object), /retention is not supported/);
});

test("serve streams both ways, tells of clients that leave, and closes in order", async () => {
	const { readable, writable } = new TransformStream<string, string>();
	const writer = writable.getWriter();
	let gone: () => void;
	const left = new Promise<void>((resolve) => (gone = resolve));
	const server = await serve(withWorkflows({
		async fetch(request: Request, env: Record<string, unknown>): Promise<Response> {
			const path = new URL(request.url).pathname;
			if (path === "/stream") return new Response(readable.pipeThrough(new TextEncoderStream()));
			if (path === "/env") return Response.json({ env, cookies: 2 }, { headers: [["set-cookie", "a=1"], ["set-cookie", "b=2"]] });
			if (path === "/throw") throw new Error("on purpose");
			if (path === "/hang") return new Promise(() => request.signal.addEventListener("abort", () => gone()));
			return new Response(request.body, { status: 201, headers: { "x-method": request.method } });
		},
	}, { NOTHING: Nothing }), { port: 0, env: { A: "b" }, signals: false });
	const streamed = (await fetch(`${server.url}/stream`)).body!.pipeThrough(new TextDecoderStream()).getReader();
	await writer.write("first"); // is read before there is a second
	assert.equal((await streamed.read()).value, "first");
	await writer.write("second");
	assert.equal((await streamed.read()).value, "second");
	await writer.close();
	assert.equal((await streamed.read()).done, true);
	const echo = await fetch(`${server.url}/echo`, { method: "PUT", body: "body" });
	assert.deepEqual([echo.status, echo.headers.get("x-method"), await echo.text()], [201, "PUT", "body"]);
	const withEnv = await fetch(`${server.url}/env`);
	assert.deepEqual([await withEnv.json(), withEnv.headers.getSetCookie()], [{ env: { A: "b", NOTHING: {} }, cookies: 2 }, ["a=1", "b=2"]]);
	assert.equal((await fetch(`${server.url}/throw`)).status, 500);
	const aborter = new AbortController();
	const hanging = fetch(`${server.url}/hang`, { signal: aborter.signal });
	setImmediate(() => aborter.abort());
	await assert.rejects(hanging);
	const second = new AbortController();
	const asked = fetch(`${server.url}/hang`, { signal: second.signal }).catch(() => undefined);
	setTimeout(() => second.abort(), 20);
	await left;
	await asked;
	await server.close();
	await assert.rejects(fetch(`${server.url}/echo`));
});

test("an owner that is no record is refused before the database is asked", async () => {
	const app = withWorkflows(() => new Response("app"), { NOTHING: Nothing }, { database: { url: "ws://127.0.0.1:1" } });
	for (const owner of ["user:", "abc", "user:rand()", 5, null, {}, { table: "user" }, { id: "ann" }]) {
		await assert.rejects(app.workflows.NOTHING.create({ owner: owner as string }), { code: "instance.invalid_owner" }, JSON.stringify(owner));
	}
});

test("a workflow that is no class is refused at once", () => {
	for (const definition of [undefined, null, {}, () => 1, { class: undefined }, class {}]) {
		assert.throws(() => withWorkflows(() => new Response(), { NOTHING: definition as unknown as typeof Nothing }), /workflow "NOTHING": want a class with a method run/);
	}
});

test("a token that is empty lets nobody in", async () => {
	for (const authToken of ["", undefined, () => undefined, () => ""]) {
		const app = withWorkflows(() => new Response("app"), { NOTHING: Nothing }, { authToken: authToken as string });
		const answer = await app.fetch(post("/__spky/workflow/NOTHING", "{}"), {});
		assert.equal(answer.status, 401);
		assert.match(((await answer.json()) as { message: string }).message, /authToken of this backend is empty/);
	}
	assert.equal((await withWorkflows(() => new Response("app"), { NOTHING: Nothing }).fetch(post("/__spky/workflow/NOTHING", "{}"), {})).status, 400);
});

test("requests that fetch can't have are answered, and end no process", { timeout: 30_000 }, async (t) => {
	const server = await serve({ fetch: () => new Response("fine") }, { port: 0, signals: false });
	t.after(() => server.close());
	const status = (lines: string[]) => new Promise<string>((resolve, reject) => {
		const socket = connect(server.port, "127.0.0.1", () => socket.write([...lines, "Connection: close", "", ""].join("\r\n")));
		socket.on("data", (data) => resolve(String(data).slice(9, 12))).on("close", () => reject(new Error("no answer"))).on("error", reject);
	});
	for (const lines of [["GET / HTTP/1.1", "Host: a b["], ["GET / HTTP/1.1", "Host: [::"], ["GET / HTTP/1.1", "Host: a:b@c"], ["TRACE / HTTP/1.1", "Host: x"]]) assert.equal(await status(lines), "400", lines.join(", "));
	assert.equal(await (await fetch(server.url)).text(), "fine");
});
