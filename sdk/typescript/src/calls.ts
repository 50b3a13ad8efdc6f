import type { Database } from "./database.js";
import { DatabaseError } from "./dberror.js";

type Row = Record<string, unknown>;

/** A call that travels in groups, by its argument; a commit has the step's row beside it. */
export type Call = { create: Row } | { acquire: Row } | { commit: Row; row: Row } | { finish: Row };

/** The arguments of a group's calls by kind, as the functions take them. */
class Sorted {
	readonly vars: Record<string, Row[]> = { creates: [], acquires: [], commits: [], rows: [], finishes: [] };
	/** Where each call's answer is: its kind, and its place among those of the kind. */
	readonly places: [kind: string, place: number][];

	constructor(calls: Call[]) {
		this.places = calls.map((call) => {
			if ("create" in call) return this.add("creates", call.create);
			if ("acquire" in call) return this.add("acquires", call.acquire);
			if ("finish" in call) return this.add("finishes", call.finish);
			this.vars["rows"]!.push(call.row);
			return this.add("commits", call.commit);
		});
	}

	private add(kind: string, row: Row): [string, number] {
		return [kind, this.vars[kind]!.push(row) - 1];
	}

	get kinds(): Set<string> {
		return new Set(this.places.map(([kind]) => kind));
	}
}

/** The functions that take calls of one kind. */
const FUNCTIONS: Record<string, string> = {
	creates: "RETURN fn::spky::wf::create_batch($creates)",
	acquires: "RETURN fn::spky::wf::acquire_all($acquires)",
	commits: "RETURN fn::spky::wf::commit_steps($commits, $rows)",
	finishes: "RETURN fn::spky::wf::finish_all($finishes)",
};
const ALL = "RETURN fn::spky::wf::all($creates, $acquires, $commits, $rows, $finishes)";

/** Makes calls in one transaction; the answers are in their order. */
export async function perform(db: Database, calls: Call[], timeoutMs: number): Promise<unknown[]> {
	const sorted = new Sorted(calls);
	const answers = await send(db, sorted, timeoutMs).catch((error: unknown) => {
		if (error instanceof DatabaseError && error.alreadyExists) return send(db, sorted, timeoutMs); // an instance made by somebody else meanwhile: look again
		throw error;
	});
	return sorted.places.map(([kind, place]) => {
		const answer = answers[kind]?.[place];
		if (answer === undefined) throw new DatabaseError(`no answer to one of ${calls.length} calls`);
		return answer;
	});
}

async function send(db: Database, { kinds, vars }: Sorted, timeoutMs: number): Promise<Record<string, unknown[]>> {
	if (kinds.size > 1) return db.query(ALL, vars, timeoutMs);
	const [kind] = [...kinds] as [string];
	const used = kind === "commits" ? { commits: vars["commits"], rows: vars["rows"] } : { [kind]: vars[kind] };
	return { [kind]: await db.query<unknown[]>(FUNCTIONS[kind]!, used, timeoutMs) };
}
