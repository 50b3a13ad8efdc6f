import type { Engine } from "./engine.js";
import type { WorkflowExecutionContext } from "./types.js";
/** Where runs are asked for. */
export declare const ROUTE = "/__spky/workflow/";
/**
 * Answers POST /__spky/workflow/{binding}: 200 with {"state": …} whatever the workflow came to, 503 with Spky-Retry: busy
 * while another run holds the instance, 404 for an unknown binding, 401 without the token, and 500 where the database was
 * not reached: the job is then tried again.
 */
export declare function serveRun(engine: Engine, token: string | undefined, request: Request, env: Record<string, unknown>, ctx: WorkflowExecutionContext): Promise<Response>;
