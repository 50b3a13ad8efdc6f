/** Values of SurrealDB that JavaScript has no type for. */
/** A moment with nanoseconds, which a Date would lose. */
export class DateTime {
    seconds;
    nanos;
    constructor(seconds, nanos) {
        this.seconds = seconds;
        this.nanos = nanos;
    }
    /** The moment so many milliseconds after 1970, cut to whole ones. */
    static at(ms) {
        const whole = Math.floor(ms);
        const seconds = Math.floor(whole / 1000);
        return new DateTime(seconds, (whole - seconds * 1000) * 1e6);
    }
    /** Milliseconds since 1970, with a fraction. */
    get ms() {
        return this.seconds * 1000 + this.nanos / 1e6;
    }
    /** The same as a Date, which keeps whole milliseconds. */
    toDate() {
        return new Date(Math.floor(this.ms));
    }
    /** RFC 3339 in UTC, with as many digits of the second as it has. */
    toString() {
        const whole = new Date(this.seconds * 1000).toISOString().slice(0, 19);
        const fraction = this.nanos === 0 ? "" : `.${String(this.nanos).padStart(9, "0").replace(/0+$/, "")}`;
        return `${whole}${fraction}Z`;
    }
    toJSON() {
        return this.toString();
    }
}
/** A length of time as SurrealDB keeps it. */
export class Duration {
    seconds;
    nanos;
    constructor(seconds, nanos) {
        this.seconds = seconds;
        this.nanos = nanos;
    }
    static ofMs(ms) {
        const seconds = Math.floor(ms / 1000);
        return new Duration(seconds, Math.round((ms - seconds * 1000) * 1e6));
    }
    toString() {
        return this.nanos === 0 ? `${this.seconds}s` : `${this.seconds}s${this.nanos}ns`;
    }
    toJSON() {
        return this.toString();
    }
}
/** The id of a record: its table and the key in it. */
export class RecordId {
    table;
    id;
    constructor(table, id) {
        this.table = table;
        this.id = id;
    }
    toString() {
        return `${this.table}:${keyText(this.id)}`;
    }
    toJSON() {
        return this.toString();
    }
}
function keyText(id) {
    if (typeof id === "number")
        return String(id);
    if (typeof id !== "string")
        return JSON.stringify(id);
    return /^[A-Za-z0-9_]+$/.test(id) && !/^\d+$/.test(id) ? id : `⟨${id.replaceAll("⟩", "\\⟩")}⟩`;
}
/**
 * The record that a text such as `user:abc`, `user:12` or `user:⟨a-b⟩` names; undefined for a text of another form.
 * A key of digits is a number, as in SurrealQL.
 */
export function parseRecordId(text) {
    const parts = /^([A-Za-z_][A-Za-z0-9_]*):(.+)$/su.exec(text);
    if (!parts)
        return undefined;
    const [, table, key] = parts;
    const quoted = /^⟨((?:[^⟩\\]|\\.)*)⟩$/su.exec(key) ?? /^`((?:[^`\\]|\\.)*)`$/su.exec(key);
    if (quoted)
        return new RecordId(table, quoted[1].replace(/\\(.)/gsu, "$1"));
    if (/^-?\d+$/.test(key) && Number.isSafeInteger(Number(key)))
        return new RecordId(table, Number(key));
    return /^[A-Za-z0-9_]+$/.test(key) ? new RecordId(table, key) : undefined;
}
/**
 * A value of the database as JSON has it: texts for moments, durations, record ids; base64 for bytes. NONE stays
 * undefined at the top, and is null in a list and left out of an object, as JSON.stringify does. Changes in place.
 */
export function plain(value) {
    if (typeof value !== "object" || value === null)
        return typeof value === "bigint" ? Number(value) : value;
    if (Array.isArray(value)) {
        for (let i = 0; i < value.length; i++)
            value[i] = plain(value[i]) ?? null;
        return value;
    }
    if (value instanceof Uint8Array)
        return base64(value);
    if (Object.getPrototypeOf(value) !== Object.prototype)
        return String(value);
    const object = value;
    for (const key of Object.keys(object)) {
        const item = plain(object[key]);
        if (item === undefined)
            delete object[key];
        else if (item !== object[key])
            object[key] = item;
    }
    return object;
}
function base64(bytes) {
    let text = "";
    for (const byte of bytes)
        text += String.fromCharCode(byte);
    return btoa(text);
}
