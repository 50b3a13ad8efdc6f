/** WebSocket frames (RFC 6455), as a client writes and reads them; no extensions. */
export const OP = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 };
/** Most bytes of one message that are read. */
const MAX_MESSAGE = 128 << 20;
/** How much is kept of a message that is too large: enough to see what it answers. */
const BEGINNING = 64;
/** The bytes of a frame, masked as a client has to. */
export function writeFrame(op, payload) {
    const size = payload.length;
    const head = size < 126 ? 2 : size < 0x10000 ? 4 : 10;
    const out = new Uint8Array(head + 4 + size);
    const view = new DataView(out.buffer);
    out[0] = 0x80 | op;
    if (head === 2) {
        out[1] = 0x80 | size;
    }
    else if (head === 4) {
        out[1] = 0x80 | 126;
        view.setUint16(2, size);
    }
    else {
        out[1] = 0x80 | 127;
        view.setBigUint64(2, BigInt(size));
    }
    const mask = out.subarray(head, head + 4);
    crypto.getRandomValues(mask);
    for (let i = 0, at = head + 4; i < size; i++, at++)
        out[at] = payload[i] ^ mask[i & 3];
    return out;
}
/** Puts frames together from the bytes of a connection, in whatever pieces they come. */
export class FrameReader {
    most;
    chunks = [];
    size = 0;
    message = [];
    op = 0;
    /** The message that is passed over, and how many bytes of it are still to come. */
    passed;
    passing = 0;
    constructor(most = MAX_MESSAGE) {
        this.most = most;
    }
    /** The frames that are whole with this piece. Throws on what is no WebSocket. */
    push(chunk) {
        this.chunks.push(chunk);
        this.size += chunk.length;
        const frames = [];
        for (let frame = this.next(); frame !== undefined; frame = this.next()) {
            if (frame !== null)
                frames.push(frame);
        }
        return frames;
    }
    /** The next whole message; null for a fragment, undefined where bytes are missing. */
    next() {
        if (this.passed)
            return this.pass(this.passed);
        if (this.size < 2)
            return undefined;
        const head = this.peek(Math.min(this.size, 10));
        if (head[1] & 0x80 || head[0] & 0x70)
            throw new Error("the server sends frames that no server may send");
        let length = head[1] & 0x7f;
        let start = 2;
        const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
        if (length === 126) {
            if (this.size < 4)
                return undefined;
            [length, start] = [view.getUint16(2), 4];
        }
        else if (length === 127) {
            if (this.size < 10)
                return undefined;
            [length, start] = [Number(view.getBigUint64(2)), 10];
        }
        if (length > this.most)
            return this.tooLarge(head[0], start, length);
        if (this.size < start + length)
            return undefined;
        return this.whole(head[0], this.peek(start + length).subarray(start), start + length);
    }
    /** Begins to pass over a message that comes in one frame. */
    tooLarge(first, start, length) {
        if (first !== (0x80 | OP.binary) || length > Number.MAX_SAFE_INTEGER)
            throw new Error(`the server sends a frame of ${length} bytes`);
        if (this.size < start + BEGINNING)
            return undefined;
        this.passed = { op: OP.binary, payload: this.peek(start + BEGINNING).slice(start), tooLarge: length };
        this.passing = start + length;
        return this.next();
    }
    pass(frame) {
        const come = Math.min(this.size, this.passing);
        this.skip(come);
        this.passing -= come;
        if (this.passing > 0)
            return undefined;
        this.passed = undefined;
        return frame;
    }
    whole(first, payload, taken) {
        this.skip(taken);
        const op = first & 15;
        if (op >= OP.close)
            return { op, payload };
        if (op !== OP.continuation)
            this.op = op;
        this.message.push(payload);
        if (!(first & 0x80))
            return null;
        const parts = this.message;
        this.message = [];
        return { op: this.op, payload: parts.length === 1 ? payload : concat(parts) };
    }
    /** The first bytes in one piece. */
    peek(count) {
        if (this.chunks[0].length < count)
            this.chunks = [concat(this.chunks)];
        return this.chunks[0].subarray(0, count);
    }
    skip(count) {
        this.size -= count;
        while (count > 0) {
            const first = this.chunks[0];
            if (first.length > count)
                this.chunks[0] = first.subarray(count);
            else
                this.chunks.shift();
            count -= Math.min(first.length, count);
        }
    }
}
function concat(parts) {
    const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
        out.set(part, at);
        at += part.length;
    }
    return out;
}
