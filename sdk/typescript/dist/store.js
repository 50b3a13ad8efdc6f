import { perform } from "./calls.js";
import { CALL_MS } from "./database.js";
import { AnswerTooLargeError } from "./dberror.js";
import { Group } from "./group.js";
import { onWorkerd } from "./platform.js";
import { Queue } from "./queue.js";
import { LEASE_MS, RENEW_MS, RUN_CALL_MS } from "./protocol.js";
import { DateTime, Duration, RecordId, plain } from "./values.js";
const TTL = Duration.ofMs(LEASE_MS);
/** How many steps, and how many events, are read at once of a large history. Each may have a mebibyte of JSON, up to 2.25 on the wire. */
const HISTORY_ROWS = 16;
/** About the bytes of a call without its values. */
const CALL_BYTES = 500;
/** The functions fn::spky::wf::… that a run calls. */
export class Store {
    db;
    shared;
    /** Those of large histories: one after the other, for memory's sake, and that of everybody else's calls. */
    readers = new Queue();
    constructor(db) {
        this.db = db;
        this.shared = this.newGroup();
    }
    /** Writes instances and their first jobs in one transaction. Answers in order: false where the id is used. */
    async create(rows, size) {
        const [first, ...others] = rows;
        if (first && others.length === 0)
            return [(await this.group().do({ create: first }, size)).ok];
        const answers = (await perform(this.db, rows.map((row) => ({ create: row })), CALL_MS));
        return answers.map((answer) => answer.ok);
    }
    /** Takes the lease of an instance for a run, which token names. */
    async acquire(id, binding, job, token) {
        const ask = { id, binding, job, run: token, ttl: TTL, apart: "large" };
        let got = (await this.group().do({ acquire: ask }, CALL_BYTES).catch((error) => {
            if (!(error instanceof AnswerTooLargeError))
                throw error;
            return this.group().do({ acquire: { ...ask, apart: "always" } }, CALL_BYTES); // of an instance that has not been counted from its beginning
        }));
        if (got.apart)
            got = await this.readApart(id, got);
        if (got.state !== "acquired")
            return { ...got, steps: [], events: [] };
        const instance = { ...got.instance, id, params: plain(got.instance.params) };
        return { ...got, instance, steps: got.steps.map(loadStep), events: got.events.filter((event) => !event.consumed_by).map(loadEvent) };
    }
    /** Reads the history of an instance that was acquired without it, some rows at a time, and keeps the lease meanwhile. */
    async readApart(id, got) {
        const since = performance.now();
        const { incarnation, fence } = got.instance;
        const lost = { ...got, state: "busy" };
        const turn = this.readers.enter();
        try {
            while (!(await turn.within(RENEW_MS)))
                if (!(await this.renew(id, fence)).ok)
                    return lost;
            for (let after = [undefined, undefined, undefined], from = 0;;) {
                const page = { id, incarnation, after, from, rows: HISTORY_ROWS };
                const { steps, events } = await this.db.query("RETURN fn::spky::wf::history($id, $incarnation, $after, $from, $rows)", page);
                got.steps.push(...steps);
                got.events.push(...events);
                if (steps.length < HISTORY_ROWS && events.length < HISTORY_ROWS)
                    break;
                if (!(await this.renew(id, fence)).ok)
                    return lost;
                const [step, event] = [steps.at(-1), events.at(-1)];
                if (step)
                    after = [step.kind, step.name, step.occurrence];
                if (event)
                    from = loadEvent(event).number;
            }
        }
        finally {
            turn.leave();
        }
        return { ...got, now: DateTime.at(got.now.ms + performance.now() - since) };
    }
    /** Writes a step that is not done yet. */
    begin(write) {
        return this.db.query("RETURN fn::spky::wf::begin_step($op, $row)", { op: stepOp(write), row: stepRow(write) }, RUN_CALL_MS);
    }
    /** Writes a step that is done. */
    async commit(write) {
        const [op, row] = [stepOp(write), stepRow(write)];
        if (write.event !== undefined)
            return this.db.query("RETURN fn::spky::wf::commit_step($op, $row, $event)", { op, row, event: write.event }, RUN_CALL_MS);
        return (await this.group().do({ commit: op, row }, write.size + CALL_BYTES));
    }
    renew(id, fence) {
        return this.db.query("RETURN fn::spky::wf::renew($id, $fence, $ttl)", { id, fence, ttl: TTL }, RENEW_MS);
    }
    /** Ends a run: with waits until the first of them ends, without to go on at once. */
    suspend(id, fence, waits) {
        const op = { id, fence, waiting_for: undefined, wake_at: undefined, events: [] };
        if (waits.length > 0) {
            const first = waits.reduce((a, b) => (b.wakeAt.ms < a.wakeAt.ms ? b : a));
            const types = waits.flatMap((wait) => wait.types);
            op["wake_at"] = first.wakeAt;
            op["events"] = types;
            op["waiting_for"] = { kind: first.kind, name: first.name, types, waits: waits.length };
        }
        return this.db.query("RETURN fn::spky::wf::suspend($op)", { op }, RUN_CALL_MS);
    }
    async finish(id, fence, end, size) {
        return (await this.group().do({ finish: { id, fence, ...end } }, size + CALL_BYTES));
    }
    /** Notes steps that a pass did not reach; stalled ends the run over it. */
    warn(id, fence, warning, stalled) {
        return this.db.query("RETURN fn::spky::wf::warn($id, $fence, $warning, $stalled)", { id, fence, warning, stalled }, RUN_CALL_MS);
    }
    /** What calls travel in: the same group for all, but on workerd, where a request can't wait for another's calls. */
    group() {
        return onWorkerd ? this.newGroup() : this.shared;
    }
    newGroup() {
        return new Group((calls) => perform(this.db, calls, RUN_CALL_MS));
    }
}
/** An event's number is the last part of its id. */
function loadEvent({ id, type, payload, sent_at }) {
    return { number: Number(id.id[2]), type, payload: plain(payload), sent_at };
}
function loadStep({ stack, ...row }) {
    if (row.error && stack !== undefined)
        row.error.stack = stack;
    return { ...row, config: row.config ?? undefined, attempts: row.attempts ?? [], output: plain(row.output) };
}
/** What the functions take that write steps: this, and the row. */
function stepOp({ instance, step, size }) {
    return { instance: new RecordId("_00_wf_instance", instance.id), fence: instance.fence, ttl: TTL, name: step.name, size: Math.ceil(size * 2.25) }; // of JSON, on the wire
}
/** The columns of a row that a run writes, as docs/protocol.md names them; the stack is one that owners can't see. */
function stepRow({ instance, step: s, finishedAt }) {
    const { stack, ...error } = s.error ?? {};
    const row = {
        id: new RecordId("_00_wf_step", [instance.id, instance.incarnation, s.kind, s.name, s.occurrence]),
        instance: new RecordId("_00_wf_instance", instance.id), owner: instance.owner,
        seq: s.seq, kind: s.kind, name: s.name, occurrence: s.occurrence, status: s.status,
        attempts: s.attempts.map(attemptRow), attempts_before: s.attempts_before || undefined, config: s.config, output: s.output, error: s.error && error, stack,
        retry_at: s.retry_at, wake_at: s.wake_at, started_at: s.started_at, finished_at: finishedAt,
    };
    for (const column of Object.keys(row))
        if (row[column] === undefined)
            delete row[column];
    return row;
}
function attemptRow(a) {
    return { started_at: a.started_at, ...(a.ended_at && { ended_at: a.ended_at }), ...(a.error && { error: a.error }) };
}
