/** The types of Cloudflare Workflows, as cloudflare:workers has them, and the little that is added. */
/**
 * Makes steps. A step is known by its kind, name and occurrence, which counts calls of the same kind and name from 1 in
 * call order. What it returns is stored, and is what the call gives when the code runs again.
 */
export class WorkflowStep {
    /**
     * What the attempt of the runner is doing that asked for this run, for spans of one's own. Each run has another:
     * decide nothing by it.
     */
    trace = {};
}
/** The base of workflows: one object for each pass over run. */
export class WorkflowEntrypoint {
    ctx;
    env;
    constructor(ctx, env) {
        this.ctx = ctx;
        this.env = env;
    }
}
