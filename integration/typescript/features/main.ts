import { type WorkflowBindings, withWorkflows } from "@spooky-sync/backend";
import { serve } from "@spooky-sync/backend/node";
import { type Action, act } from "../stage/director.js";
import { workflows } from "./workflows.js";

process.on("warning", (warning) => {
	console.error(`warning: ${warning.message}`);
	process.exit(9);
});

const app = withWorkflows(async (request, env: WorkflowBindings<typeof workflows>) => {
	const { binding, action } = (await request.json()) as { binding: string; action: Action };
	return Response.json((await act(env, binding, action)) ?? null);
}, workflows, { version: "v7" });

const { port } = await serve(app, { port: 0 });
console.log(`listening ${port}`);
