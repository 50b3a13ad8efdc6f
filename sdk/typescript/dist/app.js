import { Engine } from "./engine.js";
import { ROUTE, serveRun } from "./route.js";
import { answering, traceOf } from "./trace.js";
/** Handlers of a Worker besides fetch, which go on as they are. */
const HANDLERS = ["scheduled", "queue", "email", "tail", "tailStream", "trace", "test"];
const noContext = { waitUntil: () => undefined, passThroughOnException: () => undefined };
/**
 * Adds durable workflows to an app: env has a Workflow under each binding, beside what the app had there, and
 * POST /__spky/workflow/{binding} is where the runner asks for runs. Every other request goes to the app as it is.
 */
export function withWorkflows(app, workflows, options = {}) {
    const engine = new Engine(workflows, options);
    const fetch = typeof app === "function" ? app : (request, env, ctx) => app.fetch(request, env, ctx);
    const wrapped = {
        async fetch(request, env, ctx) {
            const own = (env ?? {});
            engine.learn(own);
            const full = withBindings(own, engine.bindings);
            return answering.run(traceOf(request.headers), () => {
                if (!pathOf(request.url).startsWith(ROUTE))
                    return fetch(request, full, ctx);
                return serveRun(engine, tokenOf(options, own), request, full, (ctx ?? noContext));
            });
        },
        workflows: engine.bindings,
        close: () => engine.close(),
    };
    return Object.assign(wrapped, otherHandlers(app, engine));
}
/** env with the bindings beside what it has; env itself stays as it is. */
function withBindings(env, bindings) {
    return Object.assign(Object.create(Object.getPrototypeOf(env)), env, bindings);
}
function otherHandlers(app, engine) {
    if (typeof app === "function")
        return {};
    const handlers = {};
    for (const name of HANDLERS) {
        const handler = app[name];
        if (typeof handler !== "function")
            continue;
        handlers[name] = (event, env = {}, ctx) => {
            engine.learn(env);
            return handler.call(app, event, withBindings(env, engine.bindings), ctx);
        };
    }
    return handlers;
}
/** The token that runs have to bring; none where the option is left out. One that is empty lets nobody in. */
function tokenOf(options, env) {
    if (!("authToken" in options))
        return undefined;
    const { authToken } = options;
    return (typeof authToken === "function" ? authToken(env) : authToken) ?? "";
}
/** The path of an absolute URL, without the work of parsing all of it. */
function pathOf(url) {
    const from = url.indexOf("/", url.indexOf("://") + 3);
    return from < 0 ? "/" : url.slice(from);
}
