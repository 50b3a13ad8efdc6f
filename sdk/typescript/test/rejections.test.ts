import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

/** Runs code in a process of its own, with guarded and tell, which prints. */
function run(code: string, ...flags: string[]) {
	const module = JSON.stringify(new URL("../src/rejections.js", import.meta.url).href);
	const tools = `import { guarded } from ${module}; const tell = (error) => console.log("told", error?.message); const soon = () => new Promise((resolve) => setTimeout(resolve, 5));`;
	const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, "--input-type=module", "-e", `${tools} ${code}; await soon(); await soon(); console.log("alive")`], { encoding: "utf8" });
	return { status, stdout, stderr };
}

const BRANCHES = `await guarded(tell, async () => {
	const second = (async () => { throw new Error("second") })();
	await soon();
	try { await second } catch (error) { console.log("caught", error.message) }
})`;

test("a branch of a workflow that fails while another is awaited ends no process", () => {
	assert.deepEqual(run(BRANCHES), { status: 0, stdout: "told second\ncaught second\nalive\n", stderr: "" });
});

test("a promise that nobody ever waits for, and what is no error", () => {
	assert.equal(run(`guarded(tell, () => void Promise.reject(undefined))`).stdout, "told undefined\nalive\n");
});

test("rejections outside workflows end the process as ever", () => {
	const { status, stdout, stderr } = run(`${BRANCHES}; Promise.reject(new Error("foreign"))`);
	assert.equal(status, 1);
	assert.match(stderr, /Error: foreign/);
	assert.doesNotMatch(stdout, /alive|told foreign/);
});

test("an app that listens itself, and one that is told what to do, stay as they are", () => {
	assert.match(run(`process.on("unhandledRejection", (error) => console.log("app", error.message)); ${BRANCHES}; Promise.reject(new Error("foreign"))`).stdout, /app foreign\nalive/);
	assert.match(run(`${BRANCHES}; Promise.reject(new Error("foreign"))`, "--unhandled-rejections=warn").stdout, /alive/);
});
