import { decode } from "./cbor.js";
import { DatabaseError } from "./dberror.js";

/** Where the database is, and who asks. */
export interface Endpoint {
	/** With http, https, ws or wss; the path /rpc is added where it is missing. */
	url: string;
	namespace: string;
	database: string;
	username: string;
	password: string;
}

/** A way to the database: SurrealDB's RPC, signed in. Any number of calls may be under way at a time. */
export interface Transport {
	/** Throws a DatabaseError for what the database refuses, an UnreachableError where nothing is known. */
	call(method: string, params: unknown[], timeoutMs: number): Promise<unknown>;
	/** Ends what is open; calls under way fail. */
	close(): void;
}

/** What SurrealDB answers to a request. */
export interface Reply {
	id?: unknown;
	result?: unknown;
	error?: { message?: string; kind?: string; code?: number };
}

/** The result of a reply, or its error. */
export function resultOf(reply: Reply): unknown {
	const { error } = reply;
	if (error) throw new DatabaseError(String(error.message), String(error.kind ?? ""), Number(error.code ?? 0));
	return reply.result;
}

/** The id of the request that is answered by a reply of which only the beginning is there; undefined for a notification. Servers say it first. */
export function answered(begin: Uint8Array): number | undefined {
	const [map, text, i, d, head] = begin;
	if (map! >> 5 !== 5 || text !== 0x62 || i !== 0x69 || d !== 0x64 || head === undefined) return undefined;
	const end = 5 + ([1, 2, 4, 8][head - 24] ?? 0);
	return head >> 5 === 0 && end <= begin.length ? (decode(begin.subarray(4, end)) as number) : undefined;
}

/** The address of RPC for a scheme, from an address with any of the four. */
export function rpcURL(url: string, scheme: "http" | "ws"): string {
	const secure = /^(https|wss):/.test(url);
	const rest = url.replace(/^[a-z]+:\/\//, "").replace(/\/+$/, "").replace(/\/rpc$/, "");
	return `${scheme}${secure ? "s" : ""}://${rest}/rpc`;
}

/** Signs in as a root user, then as a database's, then as a namespace's, whichever is let in first. */
export async function signIn(e: Endpoint, call: (credentials: Record<string, string>) => Promise<unknown>): Promise<unknown> {
	const who = { user: e.username, pass: e.password };
	let refusal: DatabaseError | undefined;
	for (const scope of [{}, { NS: e.namespace, DB: e.database }, { NS: e.namespace }]) {
		try {
			return await call({ ...scope, ...who });
		} catch (error) {
			if (!(error instanceof DatabaseError)) throw error;
			refusal ??= error;
		}
	}
	throw new DatabaseError(`${e.url} refuses user "${e.username}": check SPKY_DB_USER and SPKY_DB_PASS: ${refusal?.message}`, "NotAllowed");
}
