import { newScope, onNode } from "./platform.js";
/** Shared by all copies of the package in a process, for two that listen would take each other for the app's own. */
const KEY = Symbol.for("@spooky-sync/backend rejections");
const globals = globalThis;
/**
 * Runs a workflow's code. Code that begins two branches and awaits one after the other leaves a promise rejected for a
 * while when the second fails first. Node.js would end the process over it, with all that runs there, and again in each
 * further run of that instance, since the step fails again; tell hears of it instead. Rejections of everything else end
 * the process as they do without this package.
 */
export function guarded(tell, code) {
    const guard = (globals[KEY] ??= { scope: newScope(), listens: false });
    return guard.scope.run(tell, () => {
        if (onNode && !guard.listens && guard.scope.getStore() === tell)
            listen(guard, globals.process);
        return code();
    });
}
function listen(guard, process) {
    guard.listens = true;
    const told = [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].join(" ").includes("--unhandled-rejections");
    if (told)
        return; // whoever started the process has decided what happens
    process.on("unhandledRejection", (reason) => {
        const tell = guard.scope.getStore();
        if (tell)
            tell(reason);
        else if (process.listenerCount("unhandledRejection") === 1)
            throw reason; // as where nobody listens
    });
    process.on("rejectionHandled", () => undefined); // which Node.js would warn of
}
