import { type WorkflowDefinition, type WorkflowSettings, type WorkflowsOptions } from "./engine.js";
import type { Workflow, WorkflowEntrypoint } from "./types.js";
/** Answers requests, as a Worker, Hono, and most routers do. */
export type FetchFunction = (request: Request, env?: any, ctx?: any) => Response | Promise<Response>;
/** A Hono app, a Worker's default export, or a fetch function. */
export type App = FetchFunction | {
    fetch: FetchFunction;
};
type ParamsOf<D> = D extends WorkflowSettings ? ParamsOf<D["class"]> : D extends new (...args: never[]) => WorkflowEntrypoint<infer _Env, infer P> ? P : unknown;
/** What withWorkflows adds to env. */
export type WorkflowBindings<W extends Record<string, WorkflowDefinition>> = {
    [Name in keyof W]: Workflow<ParamsOf<W[Name]>>;
};
/** An app with workflows: a Worker's default export, and what serve takes on Node.js. */
export interface WorkflowApp<W extends Record<string, WorkflowDefinition> = Record<string, WorkflowDefinition>> {
    fetch(request: Request, env?: unknown, ctx?: unknown): Promise<Response>;
    /** The same as env has, for code outside requests. */
    readonly workflows: WorkflowBindings<W>;
    /**
     * Refuses new runs, cancels the steps that execute, and hands their instances over to other processes. Resolves when
     * that is done. Call it before the server ends.
     */
    close(): Promise<void>;
}
/**
 * Adds durable workflows to an app: env has a Workflow under each binding, beside what the app had there, and
 * POST /__spky/workflow/{binding} is where the runner asks for runs. Every other request goes to the app as it is.
 */
export declare function withWorkflows<W extends Record<string, WorkflowDefinition>>(app: App, workflows: W, options?: WorkflowsOptions): WorkflowApp<W>;
export {};
