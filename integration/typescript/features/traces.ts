/** Creates instances in every way, and shows what their runs find of the trace. */

import { type WorkflowApp, type WorkflowBindings, WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep, type WorkflowTrace, withWorkflows } from "@spooky-sync/backend";
import { serve } from "@spooky-sync/backend/node";

interface Params {
	child?: boolean;
}

class Traced extends WorkflowEntrypoint<WorkflowBindings<{ TRACED: typeof Traced }>, Params> {
	override async run(event: WorkflowEvent<Params>, step: WorkflowStep): Promise<unknown> {
		const inStep = await step.do("look", (ctx) => ({ trace: ctx.trace, shown: Object.keys(ctx) }));
		const child = event.payload.child ? await step.do("beget", async () => (await this.env.TRACED.create()).id) : null;
		return { run: step.trace, ...inStep, child };
	}
}

const workflows = { TRACED: Traced };

interface Wish {
	outside?: boolean;
	batch?: boolean;
	given?: WorkflowTrace;
	program?: WorkflowTrace;
	params?: Params;
}

let program: WorkflowTrace = {};

const app: WorkflowApp<typeof workflows> = withWorkflows(async (request, env: WorkflowBindings<typeof workflows>) => {
	const wish = (await request.json()) as Wish;
	const flow = wish.outside ? app.workflows.TRACED : env.TRACED;
	const options = { ...(wish.given && { trace: wish.given }), ...(wish.params && { params: wish.params }) };
	program = wish.program ?? {};
	const made = wish.batch ? flow.createBatch([options, options]) : flow.create(options).then((one) => [one]);
	return Response.json((await made).map(({ id }) => id));
}, workflows, { trace: () => program });

const { port } = await serve(app, { port: 0 });
console.log(`listening ${port}`);
