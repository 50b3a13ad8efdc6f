/** A backend whose workflows are those of the conformance table. */

import { type WorkflowBindings, type WorkflowDefinition, withWorkflows } from "@spooky-sync/backend";
import { serve } from "@spooky-sync/backend/node";
import { type Action, act } from "./director.js";
import { dieAfterCommits } from "./death.js";
import { workflowOf } from "./perform.js";
import { loadTable } from "./table.js";

const table = loadTable(process.env["TABLE"]!);
const workflows: Record<string, WorkflowDefinition> = {};
for (const c of table.cases) workflows[`CASE_${c.id}`] = { class: workflowOf(c), ...(c.stepLimit && { stepLimit: c.stepLimit }) };

if (process.env["DIE"]) await dieAfterCommits();

const app = withWorkflows(async (request, env: WorkflowBindings<typeof workflows>) => {
	const { binding, action } = (await request.json()) as { binding: string; action: Action };
	return Response.json((await act(env, binding, action)) ?? null);
}, workflows);

const { port } = await serve(app, { port: 0 });
console.log(`listening ${port}`);
