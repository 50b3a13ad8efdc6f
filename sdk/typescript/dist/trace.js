import { newScope } from "./platform.js";
/** A trace context of version 00, as instances keep it; anything else counts as none, for anybody may have written it. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const NONE = Object.freeze({});
/** The trace of the request that is being answered, for what is created meanwhile. */
export const answering = newScope();
/** The trace that a request names. A tracestate means nothing without a traceparent. */
export function traceOf(headers) {
    const traceparent = headers.get("traceparent");
    if (!names({ traceparent }))
        return NONE;
    const tracestate = headers.get("tracestate");
    return Object.freeze({ traceparent: traceparent, ...(tracestate && { tracestate }) });
}
/** What a new instance keeps: the trace that its creator gives, else that of the program, else that of the request. */
export function traceparentFor(given, active) {
    if (names(given))
        return given?.traceparent;
    const program = active?.();
    if (names(program))
        return program?.traceparent;
    return answering.getStore()?.traceparent;
}
function names(trace) {
    const traceparent = trace?.traceparent;
    return typeof traceparent === "string" && TRACEPARENT.test(traceparent);
}
