/** Does to instances what a script says, with the SDK's own handles. */

import { type Workflow, type WorkflowBindings, type WorkflowDefinition, WorkflowError, WorkflowFatalError, type WorkflowInstanceRestartFrom, parseDuration } from "@spooky-sync/backend";
import { plain } from "./table.js";

interface Creation {
	id?: unknown;
	params?: unknown;
}

export interface Action {
	create?: Creation;
	createBatch?: Creation[];
	get?: string;
	status?: string;
	send?: string;
	payload?: unknown;
	pause?: string;
	resume?: string;
	terminate?: string;
	restart?: string;
	from?: WorkflowInstanceRestartFrom;
	id?: string;
	duration?: string;
}

/** Kinds of refusals, by what the SDK throws. */
const KINDS: Record<string, string> = {
	"instance.already_exists": "exists", "instance.not_found": "notFound", "instance.invalid_state": "state", "instance.cannot_restart": "stepNotFound", "instance.invalid_id": "name",
	"instance.invalid_event_type": "name", "batch.invalid_size": "config", too_large: "tooLarge", not_json: "notJSON", config: "config", name: "name",
};

export async function act(flows: WorkflowBindings<Record<string, WorkflowDefinition>>, binding: string, action: Action): Promise<unknown> {
	try {
		return { value: await perform(flows[binding] as Workflow, action) };
	} catch (error) {
		const known = error instanceof WorkflowError || error instanceof WorkflowFatalError;
		return { refused: (known && KINDS[error.code]) || String(error), message: (error as Error).message };
	}
}

async function perform(flow: Workflow, a: Action): Promise<unknown> {
	if (a.create) return (await flow.create(creation(a.create))).id;
	if (a.createBatch) return (await flow.createBatch(a.createBatch.map(creation))).map((instance) => instance.id);
	if (a.get !== undefined) return (await flow.get(a.get)).id;
	if (a.duration !== undefined) return parseDuration(a.duration);
	const instance = await flow.get(a.status ?? a.id ?? a.pause ?? a.resume ?? a.terminate ?? a.restart ?? "");
	if (a.send !== undefined) return instance.sendEvent({ type: a.send, payload: a.payload });
	if (a.pause !== undefined) return instance.pause();
	if (a.resume !== undefined) return instance.resume();
	if (a.terminate !== undefined) return instance.terminate();
	if (a.restart !== undefined) return a.from ? instance.restart({ from: a.from }) : instance.restart();
	return instance.status();
}

function creation({ id, params }: Creation): { id?: string; params: unknown } {
	return { ...(id !== undefined && { id: String(plain(id)) }), params };
}
