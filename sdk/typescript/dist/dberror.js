/** A statement that the database refused, or a request that it refused as a whole. */
export class DatabaseError extends Error {
    name = "DatabaseError";
    kind;
    code;
    constructor(message, kind = "", code = 0) {
        super(message);
        this.kind = kind;
        this.code = code;
    }
    /** Another transaction got in between, and this one had no effect: run it again. */
    get conflict() {
        return this.kind !== "Thrown" && (this.code === -32009 || this.message.includes("can be retried"));
    }
    /** A record that was to be created exists. */
    get alreadyExists() {
        return this.message.includes("Database record `") && this.message.endsWith("already exists");
    }
    /** Something that a statement names is not there: a function, a table, a namespace. */
    get notFound() {
        return this.kind === "NotFound" || (this.message.startsWith("Function '") && this.message.includes("not found"));
    }
    /** Refused credentials, a session that has expired, missing rights. */
    get auth() {
        return this.kind === "NotAllowed" || this.message.includes("problem with authentication") || this.message.includes("InvalidAuth") || this.sessionLost;
    }
    /** The server does not know any more who asks; signing in again helps. */
    get sessionLost() {
        return this.kind !== "Thrown" && /^(The session has expired|The token has expired|Anonymous access not allowed)/.test(this.message);
    }
}
/** A call that was carried out, whose answer is more than is read. Other calls go on. */
export class AnswerTooLargeError extends DatabaseError {
    name = "AnswerTooLargeError";
}
/** The database was not reached, or its answer was lost: nothing is known of what came of the call. */
export class UnreachableError extends Error {
    name = "UnreachableError";
}
/** Whether a call that failed so is worth repeating. */
export function unreachable(error) {
    return error instanceof UnreachableError || (error instanceof DatabaseError && error.conflict);
}
