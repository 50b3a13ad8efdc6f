import { DatabaseError } from "./dberror.js";
/** The arguments of a group's calls by kind, as the functions take them. */
class Sorted {
    vars = { creates: [], acquires: [], commits: [], rows: [], finishes: [] };
    /** Where each call's answer is: its kind, and its place among those of the kind. */
    places;
    constructor(calls) {
        this.places = calls.map((call) => {
            if ("create" in call)
                return this.add("creates", call.create);
            if ("acquire" in call)
                return this.add("acquires", call.acquire);
            if ("finish" in call)
                return this.add("finishes", call.finish);
            this.vars["rows"].push(call.row);
            return this.add("commits", call.commit);
        });
    }
    add(kind, row) {
        return [kind, this.vars[kind].push(row) - 1];
    }
    get kinds() {
        return new Set(this.places.map(([kind]) => kind));
    }
}
/** The functions that take calls of one kind. */
const FUNCTIONS = {
    creates: "RETURN fn::spky::wf::create_batch($creates)",
    acquires: "RETURN fn::spky::wf::acquire_all($acquires)",
    commits: "RETURN fn::spky::wf::commit_steps($commits, $rows)",
    finishes: "RETURN fn::spky::wf::finish_all($finishes)",
};
const ALL = "RETURN fn::spky::wf::all($creates, $acquires, $commits, $rows, $finishes)";
/** Makes calls in one transaction; the answers are in their order. */
export async function perform(db, calls, timeoutMs) {
    const sorted = new Sorted(calls);
    const answers = await send(db, sorted, timeoutMs).catch((error) => {
        if (error instanceof DatabaseError && error.alreadyExists)
            return send(db, sorted, timeoutMs); // an instance made by somebody else meanwhile: look again
        throw error;
    });
    return sorted.places.map(([kind, place]) => {
        const answer = answers[kind]?.[place];
        if (answer === undefined)
            throw new DatabaseError(`no answer to one of ${calls.length} calls`);
        return answer;
    });
}
async function send(db, { kinds, vars }, timeoutMs) {
    if (kinds.size > 1)
        return db.query(ALL, vars, timeoutMs);
    const [kind] = [...kinds];
    const used = kind === "commits" ? { commits: vars["commits"], rows: vars["rows"] } : { [kind]: vars[kind] };
    return { [kind]: await db.query(FUNCTIONS[kind], used, timeoutMs) };
}
