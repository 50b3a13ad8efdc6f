/**
 * CBOR (RFC 8949) with SurrealDB's tags, as much of it as the database and the workflows say to each other. JSON would
 * lose moments, durations, record ids, and the difference between NONE and NULL. `undefined` is NONE.
 */
/** The bytes of a value: JSON's types, undefined, bigint, bytes, Date, and the classes of values.ts. */
export declare function encode(value: unknown): Uint8Array;
/** The value of CBOR bytes. Throws on anything that is none, or is cut off. */
export declare function decode(bytes: Uint8Array): unknown;
