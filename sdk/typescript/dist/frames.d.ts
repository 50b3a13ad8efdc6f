/** WebSocket frames (RFC 6455), as a client writes and reads them; no extensions. */
export declare const OP: {
    readonly continuation: 0;
    readonly text: 1;
    readonly binary: 2;
    readonly close: 8;
    readonly ping: 9;
    readonly pong: 10;
};
/** A whole message, or a control frame. */
export interface Frame {
    op: number;
    payload: Uint8Array;
    /** How long the message is where it is too large: payload is its beginning then. */
    tooLarge?: number;
}
/** The bytes of a frame, masked as a client has to. */
export declare function writeFrame(op: number, payload: Uint8Array): Uint8Array;
/** Puts frames together from the bytes of a connection, in whatever pieces they come. */
export declare class FrameReader {
    private readonly most;
    private chunks;
    private size;
    private message;
    private op;
    /** The message that is passed over, and how many bytes of it are still to come. */
    private passed;
    private passing;
    constructor(most?: number);
    /** The frames that are whole with this piece. Throws on what is no WebSocket. */
    push(chunk: Uint8Array): Frame[];
    /** The next whole message; null for a fragment, undefined where bytes are missing. */
    private next;
    /** Begins to pass over a message that comes in one frame. */
    private tooLarge;
    private pass;
    private whole;
    /** The first bytes in one piece. */
    private peek;
    private skip;
}
