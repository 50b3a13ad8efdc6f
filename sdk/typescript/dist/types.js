/** The types of Cloudflare Workflows, as cloudflare:workers has them, and the little that is added. */
/**
 * Makes steps. A step is known by its kind, name and occurrence, which counts calls of the same kind and name from 1 in
 * call order. What it returns is stored, and is what the call gives when the code runs again.
 */
export class WorkflowStep {
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
