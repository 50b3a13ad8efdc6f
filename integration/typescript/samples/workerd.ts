/** Runs the samples in workerd: `cloudflare` on its own engine, `ported` as a Worker on ours; with compatibility flags, if any follow. */

import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";

const kind = process.argv[2] as "cloudflare" | "ported";

interface Module {
	type: "ESModule";
	path: string;
	contents: string;
}

/** The modules of a directory under a prefix, which is how they find each other in workerd. */
function modulesOf(dir: URL, prefix: string, leave: string[] = []): Module[] {
	const names = readdirSync(dir).filter((name) => name.endsWith(".js") && !leave.includes(name));
	return names.map((name) => ({ type: "ESModule", path: prefix + name, contents: readFileSync(new URL(name, dir), "utf8") }));
}

const own = modulesOf(new URL(`${kind}/`, import.meta.url), "");
own.sort((a, b) => Number(b.path === "worker.js") - Number(a.path === "worker.js")); // the first is the Worker

/** The SDK without what only Node.js loads, under the name that it is imported by. */
function sdk(): Module[] {
	const dir = new URL("../../node_modules/@spooky-sync/backend/dist/", import.meta.url);
	const modules = modulesOf(dir, "@spooky-sync/", ["node.js", "socket.js"]);
	return modules.map((module) => (module.path === "@spooky-sync/index.js" ? { ...module, path: "@spooky-sync/backend" } : module));
}

const settings = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("SPKY_"))) as Record<string, string>;

const workflows = {
	CART: { name: "cart", className: "AbandonedCart" },
	FANOUT: { name: "fanout", className: "FanOut" },
	INGEST: { name: "ingest", className: "IngestDocument" },
};

const miniflare = new Miniflare({
	host: "127.0.0.1",
	port: 0,
	cf: false,
	name: "samples",
	rootPath: fileURLToPath(new URL(".", import.meta.url)),
	modulesRoot: "/",
	compatibilityDate: "2026-04-01",
	compatibilityFlags: process.argv.slice(3),
	modules: (kind === "ported" ? [...own, ...sdk()] : own).map((module) => ({ ...module, path: `/${module.path}` })),
	...(kind === "cloudflare" ? { workflows } : { bindings: settings }),
});
const { port } = await miniflare.ready;
console.log(`listening ${port}`);
