/** The workflow that `spky bench instances --backend` measures. */

import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep, withWorkflows } from "@spooky-sync/backend";
import { serve } from "@spooky-sync/backend/node";

class Bench extends WorkflowEntrypoint<unknown, { steps: number }> {
	override async run(event: WorkflowEvent<{ steps: number }>, step: WorkflowStep): Promise<number> {
		for (let i = 0; i < event.payload.steps; i++) await step.do("step", async () => i);
		return event.payload.steps;
	}
}

const app = withWorkflows(() => new Response("not found", { status: 404 }), { BENCH: Bench });
const { port } = await serve(app, { port: 0 });
console.log(`listening ${port}`);
