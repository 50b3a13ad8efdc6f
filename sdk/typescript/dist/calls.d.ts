import type { Database } from "./database.js";
type Row = Record<string, unknown>;
/** A call that travels in groups, by its argument; a commit has the step's row beside it. */
export type Call = {
    create: Row;
} | {
    acquire: Row;
} | {
    commit: Row;
    row: Row;
} | {
    finish: Row;
};
/** Makes calls in one transaction; the answers are in their order. */
export declare function perform(db: Database, calls: Call[], timeoutMs: number): Promise<unknown[]>;
export {};
