import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { entries } from "./cbor.mjs";
import { decode } from "./decode.mjs";
import * as cbor from "./encode.mjs";
import { RpcError, engineFault } from "./errors.mjs";
import { build } from "./request.mjs";

/** The native module, taken without the package's JavaScript, which would need the whole JavaScript SDK beside it. */
const BINARIES = fileURLToPath(new URL("./node_modules/@surrealdb/node/dist/", import.meta.url));

/**
 * What the engine may do: what a server may when nothing is said. Functions yes; network access, scripting and
 * experiments no, so that what works here works there.
 */
const OPTIONS = Object.freeze({});

/**
 * What the engine reads from the environment when it loads; a value that is set already is left alone.
 *
 * Functions that call each other take stack: with the default of 2 MiB the process dies of some 300 calls, with this of
 * some 10,000. (The engine has no limit of its own; one that never ends kills a real server, too.)
 *
 * The sizes would otherwise follow the machine's memory, up to a cache of half of it. To learn that size, the engine
 * reads what /proc says of every process, several times: seconds on a busy machine.
 */
const ENVIRONMENT = Object.freeze({
	RUST_MIN_STACK: String(64 << 20),
	SURREAL_ROCKSDB_BLOCK_CACHE_SIZE: String(512 << 20),
	SURREAL_ROCKSDB_WRITE_BUFFER_SIZE: String(64 << 20),
	SURREAL_ROCKSDB_MAX_WRITE_BUFFER_NUMBER: "4",
	SURREAL_ROCKSDB_COMPACTION_READAHEAD_SIZE: String(4 << 20),
});

/**
 * What a call gave.
 *
 * @typedef {object} Answer
 * @property {boolean} failed  whether `cbor` is the engine's error envelope `{error: …}`
 * @property {Buffer} cbor
 */

/** The first bytes of `{error: …}`. */
const ENVELOPE = Buffer.concat([Buffer.from([0xa1]), cbor.text("error")]);

/** SurrealDB's engine, in this process. */
export class Engine {
	/** @type {any} */
	#native;

	/** @param {any} native */
	constructor(native) {
		this.#native = native;
	}

	/**
	 * Opens the database in a directory, which is made when it is not there.
	 *
	 * @param {string} url  for instance `rocksdb:///var/lib/db`
	 */
	static async open(url) {
		return new Engine(await load().SurrealNodeEngine.connect(url, OPTIONS));
	}

	/**
	 * Calls a method for a session. Never throws: what the engine cannot decode is an error of the request.
	 *
	 * @param {Uint8Array} session
	 * @param {string} method
	 * @param {Buffer} params
	 * @param {Uint8Array | null} [txn]
	 * @returns {Promise<Answer>}
	 */
	async call(session, method, params, txn = null) {
		let out;
		try {
			out = await this.#native.execute(build(method, params, session, txn));
		} catch (err) {
			return { failed: true, cbor: cbor.map({ error: engineFault(err).encode() }) };
		}
		const answer = Buffer.from(out.buffer, out.byteOffset, out.byteLength);
		return { failed: isEnvelope(answer), cbor: answer };
	}

	/**
	 * Runs a query for the host itself and decodes its statements' results.
	 *
	 * @param {Uint8Array} session
	 * @param {string} text
	 * @param {Buffer} [variables]
	 * @returns {Promise<unknown[]>}
	 */
	async query(session, text, variables = cbor.map({})) {
		const answer = await this.call(session, "query", cbor.array([cbor.text(text), variables]));
		const rows = decode(answer.cbor);
		if (answer.failed) throw failure(/** @type {Map<string, any>} */ (rows).get("error"));
		return /** @type {Map<string, any>[]} */ (rows).map((row) => {
			if (row.get("status") !== "OK") throw new Error(String(row.get("result")));
			return row.get("result");
		});
	}

	/**
	 * Hands on every notification until the engine closes.
	 *
	 * @param {(notification: Buffer) => void} deliver
	 */
	async notifications(deliver) {
		const receiver = await this.#native.notifications();
		for (;;) {
			const next = await receiver.recv();
			if (next === null) return;
			deliver(Buffer.from(next.buffer, next.byteOffset, next.byteLength));
		}
	}

	/** Closes the database. Calls in flight end first. */
	async close() {
		await this.#native.free();
	}
}

/** @param {Map<string, any>} error */
function failure(error) {
	return new RpcError(Number(error.get("code")), String(error.get("kind")), String(error.get("message")));
}

/**
 * Whether an answer is `{error: {code, kind, message, …}}`. A record that has a field `error` has an `id` beside it, so
 * that only the result of a function which imitates an error exactly could be mistaken for one.
 *
 * @param {Buffer} answer
 */
function isEnvelope(answer) {
	if (!answer.subarray(0, ENVELOPE.length).equals(ENVELOPE)) return false;
	if (answer[ENVELOPE.length] >> 5 !== 5) return false;
	const keys = new Set();
	for (const entry of entries(answer, ENVELOPE.length)) keys.add(entry.key);
	return keys.has("code") && keys.has("kind") && keys.has("message");
}

/** Loads the native module for this platform. */
function load() {
	for (const [name, value] of Object.entries(ENVIRONMENT)) process.env[name] ??= value;
	const require = createRequire(import.meta.url);
	const platform = process.platform === "linux" ? linux() : [process.platform];
	const names = {
		win32: [`win32-${process.arch}-msvc`],
		darwin: [`darwin-${process.arch}`],
	};
	const candidates = names[/** @type {"win32"} */ (platform[0])] ?? platform;
	for (const name of candidates) {
		const file = `${BINARIES}surrealdb-node.${name}.node`;
		if (existsSync(file)) return require(file);
	}
	throw new Error(`@surrealdb/node has no engine for ${process.platform} on ${process.arch}`);
}

/** The C library decides between two builds; its version is in Node's report when it is glibc. */
function linux() {
	const report = /** @type {any} */ (process.report.getReport());
	const libc = report.header?.glibcVersionRuntime ? "gnu" : "musl";
	return [`linux-${process.arch}-${libc}`];
}
