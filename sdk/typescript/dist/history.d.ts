import type { Kind, StepRow } from "./protocol.js";
/** The identity of a call of a step. */
export interface StepKey {
    kind: Kind;
    name: string;
    /** Counts the calls of one kind and name in a pass, from 1, in call order. */
    occurrence: number;
}
/** A step as it was loaded, and whether this pass has come to it. */
export interface StoredStep {
    row: StepRow;
    reached: boolean;
}
/** What earlier runs have stored, and how far this pass has come in it. */
export declare class History {
    /** Calls of steps that are functions, in this pass. */
    calls: number;
    private readonly stored;
    private readonly counts;
    private left;
    private lastSeq;
    constructor(rows: StepRow[]);
    /** Gives a call of a step its identity, in call order, and finds its row. */
    identify(kind: Kind, name: string): [StepKey, StoredStep | undefined];
    /** The seq of a step without a row. */
    newSeq(): number;
    /** Whether the pass has come by every stored step. */
    get allReached(): boolean;
    /** The stored steps that the pass has not come by, in the order in which they began. */
    unreached(): string[];
}
