/**
 * Measures the same work in one run on one machine: 500 instances of 5 steps, 50 at a time, and one instance of 200
 * steps, on the Go SDK, on this SDK, and on the engine that miniflare has in it.
 *
 *   node build/bench/compare.js path/to/spky        with SPKY_DB_URL and the like for the database
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";

const [spky = "spky"] = process.argv.slice(2);
const work = { count: 500, steps: 5, concurrency: 50, long: 200, samples: 5 } as const;

interface Figures {
	perSecond: number;
	alone: number;
	long: number;
}

interface Report {
	instances_per_second: number;
	alone_ms: { p50: number };
}

function bench(...args: string[]): Report {
	return JSON.parse(execFileSync(spky, ["bench", "instances", "--json", ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })) as Report;
}

function ours(...where: string[]): Figures {
	const many = bench("--count", `${work.count}`, "--steps", `${work.steps}`, "--concurrency", `${work.concurrency}`, ...where);
	const one = bench("--count", "1", "--steps", `${work.long}`, "--samples", `${work.samples}`, ...where);
	return { perSecond: many.instances_per_second, alone: many.alone_ms.p50, long: one.alone_ms.p50 };
}

/** A process with the workflow BENCH, and where it listens. */
async function backend(): Promise<[ChildProcess, string]> {
	const child = spawn(process.execPath, [fileURLToPath(new URL("main.js", import.meta.url))], { stdio: ["ignore", "pipe", "inherit"] });
	for await (const line of child.stdout!) {
		const port = /listening (\d+)/.exec(String(line))?.[1];
		if (port) return [child, `http://127.0.0.1:${port}`];
	}
	throw new Error("the backend ended");
}

/** The same workflow, and a route that makes an instance and waits for its end. */
const worker = `
import { WorkflowEntrypoint } from "cloudflare:workers";
export class Bench extends WorkflowEntrypoint {
	async run(event, step) {
		for (let i = 0; i < event.payload.steps; i++) await step.do("step", async () => i);
		return Date.now();
	}
}
export default {
	async fetch(request, env) {
		const steps = Number(new URL(request.url).searchParams.get("steps"));
		const started = Date.now();
		const instance = await env.BENCH.create({ params: { steps } });
		for (;;) {
			const { status, output } = await instance.status();
			if (status === "complete") return Response.json(output - started);
			if (status === "errored") return new Response(status, { status: 500 });
			await scheduler.wait(10);
		}
	},
};`;

async function cloudflare(): Promise<Figures> {
	const miniflare = new Miniflare({
		host: "127.0.0.1", port: 0, cf: false, name: "bench", compatibilityDate: "2026-04-01",
		modules: [{ type: "ESModule", path: "bench.js", contents: worker }], workflows: { BENCH: { name: "bench", className: "Bench" } },
	});
	await miniflare.ready;
	const once = async (steps: number) => (await (await miniflare.dispatchFetch(`http://bench/?steps=${steps}`)).json()) as number;
	await once(work.steps); // warm
	const alone = await samples(() => once(work.steps), 20);
	const long = await samples(() => once(work.long), work.samples);
	const started = performance.now();
	let left: number = work.count;
	await Promise.all(Array.from({ length: work.concurrency }, async () => {
		while (left-- > 0) await once(work.steps);
	}));
	const perSecond = work.count / ((performance.now() - started) / 1000);
	await miniflare.dispose();
	return { perSecond, alone, long };
}

/** The median of so many. */
async function samples(measure: () => Promise<number>, count: number): Promise<number> {
	const all: number[] = [];
	for (let i = 0; i < count; i++) all.push(await measure());
	return all.sort((a, b) => a - b)[count >> 1]!;
}

function print(name: string, f: Figures): void {
	console.log(`${name.padEnd(24)}${f.perSecond.toFixed(0).padStart(11)}${`${f.alone.toFixed(1)} ms`.padStart(16)}${`${f.long.toFixed(0)} ms`.padStart(12)}`);
}

console.log(`                        instances/s   5 steps alone   ${work.long} steps`);
print("Go", ours());
const [child, url] = await backend();
print("TypeScript", ours("--backend", url));
child.kill();
print("Cloudflare, locally", await cloudflare());
