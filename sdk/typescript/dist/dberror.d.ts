/** A statement that the database refused, or a request that it refused as a whole. */
export declare class DatabaseError extends Error {
    name: string;
    readonly kind: string;
    readonly code: number;
    constructor(message: string, kind?: string, code?: number);
    /** Another transaction got in between, and this one had no effect: run it again. */
    get conflict(): boolean;
    /** A record that was to be created exists. */
    get alreadyExists(): boolean;
    /** Something that a statement names is not there: a function, a table, a namespace. */
    get notFound(): boolean;
    /** Refused credentials, a session that has expired, missing rights. */
    get auth(): boolean;
    /** The server does not know any more who asks; signing in again helps. */
    get sessionLost(): boolean;
}
/** A call that was carried out, whose answer is more than is read. Other calls go on. */
export declare class AnswerTooLargeError extends DatabaseError {
    name: string;
}
/** The database was not reached, or its answer was lost: nothing is known of what came of the call. */
export declare class UnreachableError extends Error {
    name: string;
}
/** Whether a call that failed so is worth repeating. */
export declare function unreachable(error: unknown): boolean;
