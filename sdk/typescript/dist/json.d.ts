/** Most bytes of JSON that a value may have. */
export declare const MAX_VALUE: number;
/** A value as it is kept, and its size. */
export interface Encoded {
    /** JSON's reading of the value: what the workflow sees, in the first run as in every other. */
    value: unknown;
    /** Bytes of JSON. */
    size: number;
}
/**
 * Makes a value what is stored: JSON of at most 1 MiB. `undefined` stays as it is. What JSON can't hold is refused, and
 * so is what it would turn into an empty object without a word: Map, Set, bytes, streams.
 */
export declare function encodeValue(what: string, value: unknown): Encoded;
