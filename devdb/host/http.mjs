import { decode } from "./decode.mjs";
import * as cbor from "./encode.mjs";
import { RpcError, invalidRequest, methodNotAllowed } from "./errors.mjs";
import { plain } from "./json.mjs";
import { RejectedRequest, parse } from "./request.mjs";
import { Session } from "./session.mjs";

/** Largest body accepted. */
const MAX_BODY = 128 << 20;

/** Methods that need a connection which lasts. */
const CONNECTED = new Set(["attach", "detach", "sessions", "begin", "commit", "cancel", "live", "kill"]);

const CBOR = "application/cbor";
const JSON_TYPE = "application/json";

/** An HTTP answer other than the one asked for. */
class HttpError extends Error {
	/**
	 * @param {number} status
	 * @param {string} message
	 */
	constructor(status, message) {
		super(message);
		this.status = status;
	}
}

/**
 * SurrealDB's HTTP surface, as far as clients use it. Every request has a session of its own, and the same wall.
 */
export class HttpApi {
	#engine;
	#version;

	/**
	 * @param {import("./engine.mjs").Engine} engine
	 * @param {string} version  for instance `surrealdb-3.0.2`
	 */
	constructor(engine, version) {
		this.#engine = engine;
		this.#version = version;
	}

	/**
	 * @param {import("node:http").IncomingMessage} req
	 * @param {import("node:http").ServerResponse} res
	 */
	async handle(req, res) {
		res.setHeader("server", "SurrealDB (spky devdb)");
		res.setHeader("access-control-allow-origin", "*");
		try {
			await this.#route(req, res);
		} catch (err) {
			if (!(err instanceof HttpError)) console.error("devdb: answer over HTTP:", err);
			const [status, message] = err instanceof HttpError ? [err.status, err.message] : [500, "internal error"];
			if (!res.headersSent) json(res, status, { code: status, details: "Request problems detected", information: message });
			else res.destroy();
		}
	}

	/**
	 * @param {import("node:http").IncomingMessage} req
	 * @param {import("node:http").ServerResponse} res
	 */
	async #route(req, res) {
		const path = /** @type {string} */ (req.url).split("?", 1)[0];
		if (req.method === "OPTIONS") return preflight(res);
		switch (`${req.method} ${path}`) {
			case "GET /health":
			case "GET /status":
				return void res.writeHead(200).end();
			case "GET /version":
				return void res.writeHead(200, { "content-type": "text/plain" }).end(this.#version);
			case "POST /rpc":
				return this.#rpc(req, res);
			case "POST /sql":
				return this.#sql(req, res);
			case "GET /rpc":
				throw new HttpError(426, "open a WebSocket here, or POST a CBOR request");
			default:
				throw new HttpError(404, "the development database has only /rpc, /sql, /health, /version and /status");
		}
	}

	/**
	 * @param {import("node:http").IncomingMessage} req
	 * @param {import("node:http").ServerResponse} res
	 */
	async #rpc(req, res) {
		if (!String(req.headers["content-type"]).startsWith(CBOR)) {
			throw new HttpError(415, `send the request as ${CBOR}`);
		}
		const message = await body(req);
		const reply = await this.#reply(message, req);
		res.writeHead(200, { "content-type": CBOR }).end(reply);
	}

	/**
	 * @param {Buffer} message
	 * @param {import("node:http").IncomingMessage} req
	 */
	async #reply(message, req) {
		let id = cbor.NULL;
		try {
			const request = parse(message);
			id = request.id;
			if (request.session || request.txn || CONNECTED.has(request.method)) throw methodNotAllowed(request.method);
			const answer = await this.#with(req, (session) => session.call(request.method, request.params));
			if (!answer.failed) return cbor.map({ id, result: answer.cbor });
			return Buffer.concat([Buffer.from([0xa2]), cbor.text("id"), id, answer.cbor.subarray(1)]);
		} catch (err) {
			if (err instanceof HttpError) throw err;
			if (err instanceof RejectedRequest) return cbor.map({ id: err.id, error: err.error.encode() });
			const error = err instanceof RpcError ? err : invalidRequest(String(/** @type {any} */ (err).message));
			return cbor.map({ id, error: error.encode() });
		}
	}

	/**
	 * @param {import("node:http").IncomingMessage} req
	 * @param {import("node:http").ServerResponse} res
	 */
	async #sql(req, res) {
		const text = (await body(req)).toString("utf8");
		const variables = Object.fromEntries(
			[...new URL(/** @type {string} */ (req.url), "http://localhost").searchParams].map(([k, v]) => [k, cbor.text(v)]),
		);
		let answer;
		try {
			const params = cbor.array([cbor.text(text), cbor.map(variables)]);
			answer = await this.#with(req, (session) => session.call("query", params));
		} catch (err) {
			if (err instanceof RpcError) throw new HttpError(err.kind === "NotAllowed" ? 401 : 400, err.message);
			throw err;
		}
		const result = decode(answer.cbor);
		if (answer.failed) {
			const error = /** @type {Map<string, any>} */ (result).get("error");
			throw new HttpError(error.get("kind") === "NotAllowed" ? 403 : 400, error.get("message"));
		}
		if (String(req.headers.accept).startsWith(CBOR)) {
			return void res.writeHead(200, { "content-type": CBOR }).end(answer.cbor);
		}
		json(res, 200, plain(result));
	}

	/**
	 * Runs work in a session signed in as the request's headers say.
	 *
	 * @template T
	 * @param {import("node:http").IncomingMessage} req
	 * @param {(session: Session) => Promise<T>} work
	 */
	async #with(req, work) {
		const session = new Session(this.#engine);
		await session.open();
		try {
			await signIn(session, req);
			const [ns, db] = [header(req, "ns"), header(req, "db")];
			if (ns) await expect(session, "use", cbor.array([cbor.text(ns), db ? cbor.text(db) : cbor.NONE]));
			return await work(session);
		} finally {
			await session.close();
		}
	}
}

/**
 * @param {Session} session
 * @param {import("node:http").IncomingMessage} req
 */
async function signIn(session, req) {
	const [scheme, value = ""] = (req.headers.authorization ?? "").split(" ", 2);
	if (/^bearer$/i.test(scheme)) return expect(session, "authenticate", cbor.array([cbor.text(value)]));
	if (!/^basic$/i.test(scheme)) return;
	const credentials = Buffer.from(value, "base64").toString("utf8");
	const colon = credentials.indexOf(":");
	/** @type {Record<string, Buffer>} */
	const fields = {
		user: cbor.text(credentials.slice(0, Math.max(colon, 0))),
		pass: cbor.text(credentials.slice(colon + 1)),
	};
	const [ns, db] = [header(req, "auth-ns"), header(req, "auth-db")];
	if (ns) fields.NS = cbor.text(ns);
	if (db) fields.DB = cbor.text(db);
	await expect(session, "signin", cbor.array([cbor.map(fields)]));
}

/**
 * @param {Session} session
 * @param {string} method
 * @param {Buffer} params
 */
async function expect(session, method, params) {
	const answer = await session.call(method, params);
	if (!answer.failed) return;
	const error = /** @type {any} */ (decode(answer.cbor)).get("error");
	throw new HttpError(method === "use" ? 400 : 401, error.get("message"));
}

/**
 * @param {import("node:http").IncomingMessage} req
 * @param {string} name
 */
function header(req, name) {
	const value = req.headers[`surreal-${name}`];
	return typeof value === "string" ? value : undefined;
}

/** @param {import("node:http").IncomingMessage} req */
async function body(req) {
	const chunks = [];
	let size = 0;
	for await (const chunk of req) {
		size += chunk.length;
		if (size > MAX_BODY) throw new HttpError(413, `the body is larger than ${MAX_BODY} bytes`);
		chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}

/**
 * @param {import("node:http").ServerResponse} res
 * @param {number} status
 * @param {unknown} value
 */
function json(res, status, value) {
	res.writeHead(status, { "content-type": JSON_TYPE }).end(JSON.stringify(value));
}

/** @param {import("node:http").ServerResponse} res */
function preflight(res) {
	res
		.writeHead(200, {
			"access-control-allow-methods": "GET, POST, OPTIONS",
			"access-control-allow-headers": "*, authorization, content-type, accept, surreal-ns, surreal-db, surreal-auth-ns, surreal-auth-db",
			"access-control-max-age": "86400",
		})
		.end();
}
