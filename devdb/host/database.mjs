import { accessSync, constants, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import * as cbor from "./encode.mjs";
import { Engine } from "./engine.mjs";
import { Session } from "./session.mjs";
import { StartError } from "./start-error.mjs";

/**
 * Opens the database of the options and sees to its root user.
 *
 * @param {import("./options.mjs").Options} options
 * @returns {Promise<Engine>}
 */
export async function open({ data, sync, user, pass }) {
	const engine = await openFiles(data, sync ? "every" : "never");
	await rootUser(engine, user, pass, data);
	return engine;
}

/**
 * A commit is handed to the operating system before it is acknowledged, so that it outlives this process in either mode.
 * `every` waits for the disk too, as a production server does, and halves the throughput. The engine's third mode, an
 * interval, keeps commits in this process's memory and loses them when it is killed.
 *
 * @param {string} data
 * @param {"never" | "every"} sync
 */
async function openFiles(data, sync) {
	const directory = resolve(data);
	try {
		mkdirSync(directory, { recursive: true });
		accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
	} catch (err) {
		const { message } = /** @type {Error} */ (err);
		throw new StartError("data", `cannot write to ${directory} (${message}): make it writable or choose another --data`);
	}
	try {
		return await Engine.open(`rocksdb:${directory}?sync=${sync}`);
	} catch (err) {
		const { message } = /** @type {Error} */ (err);
		if (/LOCK: |lock hold/.test(message)) {
			throw new StartError("locked", `${directory} is in use by another development database: stop that one or choose another --data`);
		}
		throw new StartError("engine", `cannot open the database in ${directory}: ${message}`);
	}
}

/**
 * Creates the root user of an empty database, and makes sure that it is the expected one of an old database.
 *
 * @param {Engine} engine
 * @param {string} user
 * @param {string} pass
 * @param {string} data
 */
async function rootUser(engine, user, pass, data) {
	const session = new Session(engine);
	await session.open();
	// Straight to the engine: behind the wall nobody could create the first user.
	await engine.query(session.name, `DEFINE USER IF NOT EXISTS ${name(user)} ON ROOT PASSWORD ${string(pass)} ROLES OWNER`);
	const credentials = cbor.map({ user: cbor.text(user), pass: cbor.text(pass) });
	const { failed } = await session.call("signin", cbor.array([credentials]));
	await session.close();
	if (failed) {
		throw new StartError("credentials", `the database in ${data} has a root user ${user} with another password: give that one, or choose another --data`);
	}
}

/**
 * DEFINE USER takes no parameters for either, so both are written as literals.
 *
 * @param {string} text
 */
function string(text) {
	return `"${text.replace(/[\\"]/g, "\\$&").replace(/\0/g, "\\0")}"`;
}

/** @param {string} text */
function name(text) {
	return `\`${text.replace(/[\\`]/g, "\\$&")}\``;
}
