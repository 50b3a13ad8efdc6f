import type { Database } from "./database.js";
import type { Store } from "./store.js";
import type { Workflow, WorkflowInstance, WorkflowInstanceCreateOptions, WorkflowTrace } from "./types.js";
/** What new instances of a backend have in common. */
export interface Home {
    db: Database;
    store: Store;
    table: string;
    backend: string | undefined;
    version: string | undefined;
    /** What the program is doing, where it says so. */
    trace: () => WorkflowTrace | undefined;
}
/** The instances of one workflow. home is asked at each call, so that a binding costs nothing until it is used. */
export declare class Binding<Params = unknown> implements Workflow<Params> {
    #private;
    constructor(home: () => Home, name: string);
    get(id: string): Promise<WorkflowInstance>;
    create(options?: WorkflowInstanceCreateOptions<Params>): Promise<WorkflowInstance>;
    createBatch(batch: WorkflowInstanceCreateOptions<Params>[]): Promise<WorkflowInstance[]>;
}
