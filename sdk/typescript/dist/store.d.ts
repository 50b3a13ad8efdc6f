import { type Database } from "./database.js";
import { type Ack, type Acquired, type Finish, type StepWrite, type Wait, type Warning } from "./protocol.js";
/** The functions fn::spky::wf::… that a run calls. */
export declare class Store {
    readonly db: Database;
    private readonly shared;
    /** Those of large histories: one after the other, for memory's sake, and that of everybody else's calls. */
    private readonly readers;
    constructor(db: Database);
    /** Writes instances and their first jobs in one transaction. Answers in order: false where the id is used. */
    create(rows: Record<string, unknown>[], size: number): Promise<boolean[]>;
    /** Takes the lease of an instance for a run, which token names. */
    acquire(id: string, binding: string, job: string | undefined, token: string): Promise<Acquired>;
    /** Reads the history of an instance that was acquired without it, some rows at a time, and keeps the lease meanwhile. */
    private readApart;
    /** Writes a step that is not done yet. */
    begin(write: StepWrite): Promise<Ack>;
    /** Writes a step that is done. */
    commit(write: StepWrite): Promise<Ack>;
    renew(id: string, fence: number): Promise<Ack>;
    /** Ends a run: with waits until the first of them ends, without to go on at once. */
    suspend(id: string, fence: number, waits: Wait[]): Promise<Ack>;
    finish(id: string, fence: number, end: Finish, size: number): Promise<Ack>;
    /** Notes steps that a pass did not reach; stalled ends the run over it. */
    warn(id: string, fence: number, warning: Warning, stalled: boolean): Promise<Ack>;
    /** What calls travel in: the same group for all, but on workerd, where a request can't wait for another's calls. */
    private group;
    private newGroup;
}
