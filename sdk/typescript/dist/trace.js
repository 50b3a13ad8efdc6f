import { newScope } from "./platform.js";
/** A trace context of version 00, as instances keep it; anything else counts as none, for anybody may have written it. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const NONE = Object.freeze({});
/** The trace of the request that is being answered, for what is created meanwhile. */
export const answering = newScope();
/** The trace that a request names. A tracestate means nothing without a traceparent. */
export function traceOf(headers) {
    const traceparent = wellFormed(headers.get("traceparent"));
    if (traceparent === undefined)
        return NONE;
    const tracestate = headers.get("tracestate");
    return Object.freeze({ traceparent, ...(tracestate && { tracestate }) });
}
/** What a new instance keeps: the trace that its creator gives, else that of the program, else that of the request. */
export function traceparentFor(given, active) {
    return traceparentOf(() => given) ?? traceparentOf(active) ?? answering.getStore()?.traceparent;
}
/** The traceparent of what is answered, read once. No instance is lost for want of its trace: what throws counts as none. */
function traceparentOf(ask) {
    try {
        const trace = ask?.();
        disown(trace);
        return wellFormed(trace?.traceparent);
    }
    catch {
        return undefined;
    }
}
/** Sees to it that a promise, which names no trace, ends no program either where it is rejected. */
function disown(answer) {
    if (typeof answer?.then === "function")
        Promise.resolve(answer).catch(() => undefined);
}
function wellFormed(traceparent) {
    return typeof traceparent === "string" && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}
