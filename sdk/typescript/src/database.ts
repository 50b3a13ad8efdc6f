import { DatabaseError } from "./dberror.js";
import { HttpTransport } from "./http.js";
import { onNode } from "./platform.js";
import type { Endpoint, Transport } from "./transport.js";

/** How long a call waits for its answer. */
export const CALL_MS = 15_000;

const CONFLICTS = { attempts: 20, firstMs: 1, mostMs: 100 } as const;

interface Row {
	status?: string;
	result?: unknown;
	kind?: string;
	type?: string;
}

/** The database as workflows see it: one statement at a time, repeated where it lost a conflict. */
export class Database {
	private transport: Transport | Promise<Transport> | undefined;

	constructor(private readonly endpoint: Endpoint, private readonly open: (e: Endpoint) => Transport | Promise<Transport> = transportFor) {}

	/**
	 * The result of one statement. A conflict with another transaction had no effect and is repeated; anything else
	 * the database refuses is a DatabaseError, and a call of which nothing is known an UnreachableError.
	 */
	async query<T>(surql: string, vars: Record<string, unknown>, timeoutMs = CALL_MS): Promise<T> {
		for (let attempt = 1, pause: number = CONFLICTS.firstMs; ; attempt++) {
			try {
				return (await this.once(surql, vars, timeoutMs)) as T;
			} catch (error) {
				if (!(error instanceof DatabaseError) || !error.conflict || attempt === CONFLICTS.attempts) throw error;
			}
			await new Promise((resolve) => setTimeout(resolve, Math.random() * pause));
			pause = Math.min(pause * 2, CONFLICTS.mostMs);
		}
	}

	async close(): Promise<void> {
		(await this.transport)?.close();
	}

	private async once(surql: string, vars: Record<string, unknown>, timeoutMs: number): Promise<unknown> {
		this.transport ??= this.open(this.endpoint);
		const transport = this.transport instanceof Promise ? await this.transport : this.transport;
		const rows = (await transport.call("query", [surql, vars], timeoutMs)) as Row[];
		const row = rows[0];
		if (rows.length !== 1 || !row) throw new DatabaseError(`${rows.length} results of one statement`);
		if (row.status !== "OK") throw new DatabaseError(String(row.result), row.kind ?? "");
		return row.result;
	}
}

/** A WebSocket on Node.js, HTTP elsewhere. */
function transportFor(endpoint: Endpoint): Transport | Promise<Transport> {
	if (!onNode) return new HttpTransport(endpoint);
	return import("./socket.js").then(({ SocketTransport }) => new SocketTransport(endpoint));
}
