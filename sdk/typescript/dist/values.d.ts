/** Values of SurrealDB that JavaScript has no type for. */
/** A moment with nanoseconds, which a Date would lose. */
export declare class DateTime {
    readonly seconds: number;
    readonly nanos: number;
    constructor(seconds: number, nanos: number);
    /** The moment so many milliseconds after 1970, cut to whole ones. */
    static at(ms: number): DateTime;
    /** Milliseconds since 1970, with a fraction. */
    get ms(): number;
    /** The same as a Date, which keeps whole milliseconds. */
    toDate(): Date;
    /** RFC 3339 in UTC, with as many digits of the second as it has. */
    toString(): string;
    toJSON(): string;
}
/** A length of time as SurrealDB keeps it. */
export declare class Duration {
    readonly seconds: number;
    readonly nanos: number;
    constructor(seconds: number, nanos: number);
    static ofMs(ms: number): Duration;
    toString(): string;
    toJSON(): string;
}
/** The id of a record: its table and the key in it. */
export declare class RecordId {
    readonly table: string;
    readonly id: unknown;
    constructor(table: string, id: unknown);
    toString(): string;
    toJSON(): string;
}
/**
 * The record that a text such as `user:abc`, `user:12` or `user:⟨a-b⟩` names; undefined for a text of another form.
 * A key of digits is a number, as in SurrealQL.
 */
export declare function parseRecordId(text: string): RecordId | undefined;
/**
 * A value of the database as JSON has it: texts for moments, durations, record ids; base64 for bytes. NONE stays
 * undefined at the top, and is null in a list and left out of an object, as JSON.stringify does. Changes in place.
 */
export declare function plain(value: unknown): unknown;
