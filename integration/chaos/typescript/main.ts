/**
 * A backend process of a chaos run, in TypeScript: the same script of operations, the same journal and the same ways of
 * being told to make trouble as the Go one of integration/chaos/backend, which has the explanations.
 */

import { WorkflowEntrypoint, WorkflowError, type WorkflowEvent, type WorkflowStep, NonRetryableError, withWorkflows } from "@spooky-sync/backend";
import { serve } from "@spooky-sync/backend/node";
import { appendFileSync } from "node:fs";

interface Settings {
	name: string;
	listen: string;
	journal: string;
	binding: string;
	table: string;
	db: { url: string; namespace: string; database: string; user: string; password: string };
}

interface Op {
	op: string;
	v: number;
	fails?: number;
	work_ms?: number;
	width?: number;
	ms?: number;
}

/** The result of a step: the value that the plan wants, and the pass that made it. */
interface Made {
	v: number;
	pass: string;
	lost?: boolean;
}

const settings = JSON.parse(process.env["CHAOS_BACKEND"] ?? "{}") as Settings;

let asked = 0;
const nonce = () => `${settings.name}.${++asked}`;

/** Wall clock in nanoseconds, as JSON can only say it in text. */
function now(): string {
	return String(BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n);
}

function note(what: string, facts: Record<string, unknown>): void {
	const rest = JSON.stringify({ what, process: settings.name, ...facts });
	appendFileSync(settings.journal, `{"at":${now()},${rest.slice(1)}\n`);
}

const pause = (ms: number, signal?: AbortSignal) => new Promise<void>((resolve, reject) => {
	const timer = setTimeout(resolve, ms);
	signal?.addEventListener("abort", () => {
		clearTimeout(timer);
		reject(signal.reason as Error);
	});
});

const patient = { retries: { limit: 60, delay: 150, backoff: "constant" }, timeout: "1 minute" } as const;

class Script extends WorkflowEntrypoint<unknown, { ops: Op[] }> {
	override async run(event: WorkflowEvent<{ ops: Op[] }>, step: WorkflowStep): Promise<unknown[]> {
		const pass = nonce();
		note("pass", { instance: event.instanceId, nonce: pass });
		const saw: unknown[] = [];
		for (const [n, op] of event.payload.ops.entries()) saw.push(await this.play(step, event.instanceId, pass, n, op));
		return saw;
	}

	private async play(step: WorkflowStep, instance: string, pass: string, n: number, op: Op): Promise<unknown> {
		const name = `s${n}`;
		const call = (v: number) => async (ctx: { attempt: number; signal: AbortSignal }): Promise<Made> => {
			note("call", { instance, step: name, attempt: ctx.attempt, nonce: pass });
			const work = op.op === "late" && ctx.attempt === 1 ? 5000 : (op.work_ms ?? 0);
			if (work > 0) await pause(work, ctx.signal);
			if (ctx.attempt <= (op.fails ?? 0)) throw new Error(`attempt ${ctx.attempt} fails`);
			return { v, pass };
		};
		switch (op.op) {
			case "do":
				return step.do(name, patient, call(op.v));
			case "late":
				return step.do(name, { ...patient, timeout: 400 }, call(op.v));
			case "once":
				return step.do(name, { retries: { limit: 0, delay: 0 } }, call(op.v)).catch((error: Error) => {
					if (error.name !== "AttemptLostError") throw error;
					return { v: op.v, pass: "", lost: true };
				});
			case "par": {
				const nap = step.sleep(name, op.ms ?? 0);
				const all = Promise.all(Array.from({ length: op.width ?? 0 }, (_, i) => step.do(name, patient, call(op.v + i))));
				return (await Promise.all([all, nap]))[0];
			}
			case "sleep":
				await step.sleep(name, op.ms ?? 0);
				return null;
			case "event":
				return (await step.waitForEvent<number>(name, { type: `e${n}` })).payload;
			case "timeout": {
				const error = await step.waitForEvent(name, { type: `e${n}`, timeout: op.ms ?? 0 }).then(() => undefined, (error: Error) => error);
				if (error?.name === "WorkflowTimeoutError") return "timeout";
				throw error ?? new Error("an event that nobody sent");
			}
			case "deny":
				return step.do(name, () => {
					note("call", { instance, step: name, attempt: 1, nonce: pass });
					throw new NonRetryableError(`denied ${op.v}`);
				});
		}
		throw new NonRetryableError(`no operation is called ${JSON.stringify(op.op)}`);
	}
}

let trouble = { kind: "", amount: 0, until: 0 };

const app = withWorkflows(() => new Response("not found", { status: 404 }), { [settings.binding]: Script }, {
	database: { url: settings.db.url, namespace: settings.db.namespace, database: settings.db.database, username: settings.db.user, password: settings.db.password },
	outboxTable: settings.table, backend: "ts",
});

/** A request of a node: journaled, and answered as the present trouble wants it. */
async function noted(request: Request, node: string, path: string, env: unknown, ctx: unknown): Promise<Response> {
	const id = nonce();
	const facts = { job: decodeURIComponent(request.headers.get("spky-job-id") ?? ""), node, attempt: Number(request.headers.get("spky-attempt") ?? 0), nonce: id };
	note("request", facts);
	const [status, answer] = await troubled(request, path, id, env, ctx);
	note("answer", { ...facts, status });
	return answer;
}

async function troubled(request: Request, path: string, id: string, env: unknown, ctx: unknown): Promise<[number, Response]> {
	const kind = performance.now() < trouble.until ? trouble.kind : "";
	if (kind === "full") return [503, Response.json({ nonce: id, error: "full" }, { status: 503, headers: { "retry-after": "1" } })];
	if (kind === "broken") return [500, page(500, id)];
	if (kind === "slow") await pause((asked * 7919) % trouble.amount);
	const url = new URL(request.url);
	url.pathname = path;
	const answer = await app.fetch(new Request(url, request), env, ctx);
	if (kind === "truncated") return [1, await torn(answer)];
	if (kind === "garbage" && answer.ok) return [200, page(200, id)];
	return [answer.status, answer];
}

const page = (status: number, id: string) => new Response(`<html><body>nonce=${id};</body>`, { status, headers: { "content-type": "text/html" } });

/** An answer that breaks off in the middle. */
async function torn(answer: Response): Promise<Response> {
	const text = await answer.text();
	let sent = false;
	const body = new ReadableStream({
		pull(controller) {
			if (sent) return controller.error(new Error("torn"));
			sent = true;
			controller.enqueue(new TextEncoder().encode(text.slice(0, text.length / 2)));
		},
	});
	return new Response(body, { status: answer.status, headers: { "content-type": "application/json" } });
}

interface Act {
	verb: string;
	id: string;
	ops?: Op[];
	type?: string;
	payload?: number;
}

async function act(a: Act): Promise<string> {
	const flow = app.workflows[settings.binding]!;
	try {
		if (a.verb === "create") await flow.create({ id: a.id, params: { ops: a.ops ?? [] } });
		else await actOn(await flow.get(a.id), a);
		return "done";
	} catch (error) {
		if (!(error instanceof WorkflowError)) throw error;
		if (error.code === "instance.already_exists") return "exists";
		if (error.code === "instance.not_found") return "missing";
		if (error.code === "instance.invalid_state") return error.status ?? "";
		throw error;
	}
}

async function actOn(instance: Awaited<ReturnType<(typeof app.workflows)[string]["get"]>>, a: Act): Promise<void> {
	switch (a.verb) {
		case "event":
			return instance.sendEvent({ type: a.type ?? "", payload: a.payload });
		case "pause":
			return instance.pause();
		case "resume":
			return instance.resume();
		case "terminate":
			return instance.terminate();
		case "restart":
			return instance.restart();
	}
	throw new Error(`no verb is called ${JSON.stringify(a.verb)}`);
}

/** The driver's requests. */
async function control(request: Request, path: string): Promise<Response> {
	if (path === "/healthz") return new Response();
	if (path === "/__chaos/trouble") {
		const told = (await request.json()) as { kind: string; amount: number; for_ms: number };
		trouble = { kind: told.kind, amount: told.amount, until: performance.now() + told.for_ms };
		return Response.json(told);
	}
	if (path !== "/__chaos/act") return new Response("not found", { status: 404 });
	try {
		return Response.json({ outcome: await act((await request.json()) as Act) });
	} catch (error) {
		return Response.json({ error: String(error) }, { status: 500 });
	}
}

const [hostname, port] = settings.listen.split(":");
await serve({
	fetch(request: Request, env?: unknown, ctx?: unknown) {
		const { pathname } = new URL(request.url);
		const [, node, path] = /^\/(n\d+)(\/.*)$/.exec(pathname) ?? [];
		if (!node || !path) return control(request, pathname);
		if (path === "/healthz") return new Response();
		return noted(request, node, path, env, ctx);
	},
	close: () => app.close(),
}, { hostname: hostname ?? "", port: Number(port) });
