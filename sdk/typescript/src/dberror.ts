/** A statement that the database refused, or a request that it refused as a whole. */
export class DatabaseError extends Error {
	override name = "DatabaseError";
	readonly kind: string;
	readonly code: number;

	constructor(message: string, kind = "", code = 0) {
		super(message);
		this.kind = kind;
		this.code = code;
	}

	/** Another transaction got in between, and this one had no effect: run it again. */
	get conflict(): boolean {
		return this.kind !== "Thrown" && (this.code === -32009 || this.message.includes("can be retried"));
	}

	/** A record that was to be created exists. */
	get alreadyExists(): boolean {
		return this.message.includes("Database record `") && this.message.endsWith("already exists");
	}

	/** Something that a statement names is not there: a function, a table, a namespace. */
	get notFound(): boolean {
		return this.kind === "NotFound" || (this.message.startsWith("Function '") && this.message.includes("not found"));
	}

	/** Refused credentials, a session that has expired, missing rights. */
	get auth(): boolean {
		return this.kind === "NotAllowed" || this.message.includes("problem with authentication") || this.message.includes("InvalidAuth") || this.sessionLost;
	}

	/** The server does not know any more who asks; signing in again helps. */
	get sessionLost(): boolean {
		return this.kind !== "Thrown" && /^(The session has expired|The token has expired|Anonymous access not allowed)/.test(this.message);
	}
}

/** A call that was carried out, whose answer is more than is read. Other calls go on. */
export class AnswerTooLargeError extends DatabaseError {
	override name = "AnswerTooLargeError";
}

/** The database was not reached, or its answer was lost: nothing is known of what came of the call. */
export class UnreachableError extends Error {
	override name = "UnreachableError";
}

/** Whether a call that failed so is worth repeating. */
export function unreachable(error: unknown): boolean {
	return error instanceof UnreachableError || (error instanceof DatabaseError && error.conflict);
}
