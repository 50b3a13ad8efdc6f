import type { WorkflowTrace } from "./types.js";
/** The trace of the request that is being answered, for what is created meanwhile. */
export declare const answering: import("./platform.js").Scope<WorkflowTrace>;
/** The trace that a request names. A tracestate means nothing without a traceparent. */
export declare function traceOf(headers: Headers): WorkflowTrace;
/** What a new instance keeps: the trace that its creator gives, else that of the program, else that of the request. */
export declare function traceparentFor(given: WorkflowTrace | undefined, active: (() => WorkflowTrace | undefined) | undefined): string | undefined;
