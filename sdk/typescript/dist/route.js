import { DatabaseError } from "./dberror.js";
import { isInstanceId } from "./names.js";
import { traceOf } from "./trace.js";
/** Where runs are asked for. */
export const ROUTE = "/__spky/workflow/";
/** Most bytes of a request for a run. */
const MAX_REQUEST = 64 << 10;
/** An attempt's timeout where the request does not say. */
const DEFAULT_ATTEMPT_MS = 10_000;
/**
 * Answers POST /__spky/workflow/{binding}: 200 with {"state": …} whatever the workflow came to, 503 with Spky-Retry: busy
 * while another run holds the instance, 404 for an unknown binding, 401 without the token, and 500 where the database was
 * not reached: the job is then tried again.
 */
export async function serveRun(engine, token, request, env, ctx) {
    if (request.method !== "POST")
        return refuse(405, "bad_request", "runs are asked for with POST", { allow: "POST" });
    const binding = new URL(request.url).pathname.slice(ROUTE.length);
    if (!(await authorised(request, token)))
        return refuse(401, "unauthorized", token === "" ? "the option authToken of this backend is empty: set the variable that it comes from, or leave the option out" : "the bearer token is missing or wrong");
    if (!engine.knows(binding))
        return refuse(404, "unknown_workflow", `no workflow is registered as "${binding}" in this backend`);
    const instance = await requested(request);
    if (instance === undefined)
        return refuse(400, "bad_request", 'the body is not {"instance": "<id>"}');
    if (engine.ending)
        return refuse(503, "shutting_down", "this process shuts down", { "spky-retry": "busy" });
    try {
        const result = await engine.run({ binding, instance, job: jobId(request), timeoutMs: attemptTimeout(request), trace: traceOf(request.headers), env, ctx, request });
        return answer(result);
    }
    catch (error) {
        engine.log.warn("no run", { instance, error: String(error) });
        const hint = error instanceof DatabaseError && error.notFound ? "the database lacks the platform's schema; run `spky migrate apply`: " : "";
        return refuse(500, "database", hint + (error instanceof Error ? error.message : String(error)));
    }
}
function answer(result) {
    switch (result.state) {
        case "busy":
            return refuse(503, "busy", "another run holds the instance", { "spky-retry": "busy" });
        case "missing":
            return refuse(404, "unknown_instance", "no such instance of this workflow");
        default:
            return Response.json(result);
    }
}
function refuse(status, code, message, headers = {}) {
    return Response.json({ code, message }, { status, headers });
}
/** The instance that a request names, undefined where it names none. */
async function requested(request) {
    const text = await limited(request);
    if (text === undefined)
        return undefined;
    try {
        const { instance } = JSON.parse(text);
        return isInstanceId(instance) ? instance : undefined;
    }
    catch {
        return undefined;
    }
}
/** The body, unless it is too large. */
async function limited(request) {
    const reader = request.body?.getReader();
    const decoder = new TextDecoder();
    let [text, size] = ["", 0];
    for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
        size += part.value.length;
        if (size > MAX_REQUEST) {
            await reader.cancel();
            return undefined;
        }
        text += decoder.decode(part.value, { stream: true });
    }
    return text + decoder.decode();
}
/** The text of the job's id; a broken one fits no instance. */
function jobId(request) {
    const text = request.headers.get("spky-job-id");
    if (!text)
        return undefined;
    try {
        return decodeURIComponent(text);
    }
    catch {
        return text;
    }
}
function attemptTimeout(request) {
    const text = request.headers.get("spky-timeout-ms") ?? "";
    const ms = /^\d{1,10}$/.test(text) ? Number(text) : 0;
    return ms > 0 ? ms : DEFAULT_ATTEMPT_MS;
}
/** Compares hashes, so that the time taken tells nothing of the token. */
async function authorised(request, token) {
    if (token === undefined)
        return true;
    if (token === "")
        return false; // of a variable that is not set, for instance: nobody means to leave the door open
    const header = request.headers.get("authorization") ?? "";
    const [have, want] = await Promise.all([hash(header.startsWith("Bearer ") ? header.slice(7) : ""), hash(token)]);
    let different = header.startsWith("Bearer ") ? 0 : 1;
    for (let i = 0; i < want.length; i++)
        different |= have[i] ^ want[i];
    return different === 0;
}
async function hash(text) {
    return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}
