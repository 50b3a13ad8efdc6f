import { WorkflowFatalError } from "./errors.js";
/** Most bytes of JSON that a value may have. */
export const MAX_VALUE = 1 << 20;
/** How many lists and objects a value may have within one another, in every SDK. */
const MAX_DEPTH = 64;
const utf8 = new TextEncoder();
/**
 * Makes a value what is stored: JSON of at most 1 MiB. `undefined` stays as it is. What JSON can't hold is refused, and
 * so is what it would turn into an empty object without a word: Map, Set, bytes, streams.
 */
export function encodeValue(what, value) {
    if (value === undefined)
        return { value: undefined, size: 0 };
    const json = stringify(what, value);
    const size = json.length * 3 <= MAX_VALUE ? json.length : utf8.encode(json).length;
    if (size > MAX_VALUE) {
        throw new WorkflowFatalError("too_large", `${what}: the value is larger than 1 MiB of JSON (${size} bytes); keep large data in rows of its own and return its id`);
    }
    return { value: asStored(JSON.parse(json), (why) => refuse(what, why)), size };
}
function refuse(what, why) {
    throw new WorkflowFatalError("not_json", `${what}: the value is not serialisable as JSON: ${why}`);
}
function stringify(what, value) {
    let json;
    try {
        json = JSON.stringify(value, (key, item) => {
            if (typeof item === "bigint")
                return refuse(what, `${key ? `.${key} is ` : ""}a BigInt; return String(it), or Number(it)`);
            const lost = typeof item === "object" && item !== null ? lostKind(item) : undefined;
            return lost ? refuse(what, `${key ? `.${key} is ` : ""}${lost}`) : item;
        });
    }
    catch (error) {
        if (error instanceof WorkflowFatalError)
            throw error;
        return refuse(what, error instanceof Error ? error.message : String(error));
    }
    return json ?? refuse(what, typeof value === "object" ? "its toJSON gives nothing" : `it is a ${typeof value}`);
}
/** What an object is that JSON would make an empty or a useless one of, and what to do instead. */
function lostKind(item) {
    const prototype = Object.getPrototypeOf(item);
    if (Array.isArray(item) || prototype === Object.prototype || prototype === null)
        return undefined;
    if (item instanceof Number || item instanceof String || item instanceof Boolean)
        return undefined; // JSON unwraps them
    if (item instanceof Map)
        return "a Map; return Object.fromEntries(map), or [...map]";
    if (item instanceof Set)
        return "a Set; return [...set]";
    if (item instanceof ArrayBuffer || ArrayBuffer.isView(item))
        return "bytes; return Array.from(bytes), or a base64 text";
    if (item instanceof ReadableStream)
        return "a stream, which is not supported; keep the data elsewhere and return where";
    if (item instanceof Promise)
        return "a Promise; await it";
    if (item instanceof Error)
        return "an Error; throw it, or return its name and message";
    // A Response, for instance: what it has is behind methods and getters.
    const hidden = Object.keys(item).length === 0 && Object.getOwnPropertyNames(prototype).length > 1;
    return hidden ? `a ${item.constructor?.name ?? "object"}, of which JSON keeps nothing; return what you need of it` : undefined;
}
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
/**
 * A value as it comes back from the database, which sorts the keys of objects, and can't hold halves of surrogate
 * pairs: code that goes by the order of keys has to see the same in every run.
 */
function asStored(value, refuse, depth = 0) {
    if (depth > MAX_DEPTH)
        refuse(`it is nested deeper than ${MAX_DEPTH} levels`);
    if (typeof value === "string")
        return LONE_SURROGATE.test(value) ? value.replace(LONE_SURROGATE, "\ufffd") : value;
    if (typeof value !== "object" || value === null)
        return value;
    if (Array.isArray(value)) {
        for (let i = 0; i < value.length; i++)
            value[i] = asStored(value[i], refuse, depth + 1);
        return value;
    }
    const entries = Object.entries(value).map(([key, item]) => [asStored(key, refuse), asStored(item, refuse, depth + 1)]);
    return Object.fromEntries(entries.sort(([a], [b]) => compareText(a, b)));
}
/** The order of UTF-8, which differs from that of UTF-16 where surrogates are. */
function compareText(a, b) {
    const length = Math.min(a.length, b.length);
    for (let i = 0; i < length; i++) {
        const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
        if (x !== y)
            return order(x) - order(y);
    }
    return a.length - b.length;
}
/** Surrogates come after everything else. */
function order(unit) {
    return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}
