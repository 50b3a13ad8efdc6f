import * as cbor from "./encode.mjs";

/**
 * An RPC error in the shape the engine itself answers with, so that a client cannot tell which of the two refused it.
 */
export class RpcError extends Error {
	name = "RpcError";

	/**
	 * @param {number} code     JSON-RPC style code
	 * @param {string} kind     the engine's error kind
	 * @param {string} message
	 * @param {Buffer} [details] the engine's details, already encoded
	 */
	constructor(code, kind, message, details) {
		super(message);
		this.code = code;
		this.kind = kind;
		this.details = details;
	}

	/** The CBOR of the error object. */
	encode() {
		const fields = { code: cbor.int(this.code), kind: cbor.text(this.kind), message: cbor.text(this.message) };
		return cbor.map(this.details ? { ...fields, details: this.details } : fields);
	}
}

/** @param {string} message */
export const invalidRequest = (message) => new RpcError(-32600, "Validation", `Invalid request: ${message}`);

/** @param {string} message */
export const invalidParams = (message) =>
	new RpcError(-32603, "Validation", message, cbor.map({ kind: cbor.text("InvalidParams") }));

/** @param {string} method */
export const methodNotAllowed = (method) =>
	new RpcError(
		-32602,
		"NotAllowed",
		`Method not allowed: ${method}`,
		cbor.map({ kind: cbor.text("Method"), details: cbor.map({ name: cbor.text(method) }) }),
	);

export const anonymous = () =>
	new RpcError(
		-32000,
		"NotAllowed",
		"Anonymous access not allowed: Not enough permissions to perform this action",
		cbor.map({ kind: cbor.text("Auth"), details: cbor.map({ kind: cbor.text("NotAllowed") }) }),
	);

/** @param {string} id */
export const sessionNotFound = (id) => new RpcError(-32000, "NotFound", `Session not found: ${id}`);

/** @param {string} id */
export const sessionExists = (id) => new RpcError(-32000, "AlreadyExists", `Session already exists: ${id}`);

/** @param {unknown} err what the engine threw: a request it could not decode, or a fault of its own */
export const engineFault = (err) =>
	new RpcError(-32700, "Validation", `Parse error: ${err instanceof Error ? err.message : String(err)}`);
