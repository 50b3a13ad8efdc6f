import { look } from "./calls.js";
import { AbandonedCart } from "./cart.js";
import { FanOut } from "./fanout.js";
import { IngestDocument } from "./ingest.js";

export { AbandonedCart, FanOut, IngestDocument };

interface Instance {
	id: string;
	status(): Promise<{ status: string; output?: unknown; error?: unknown }>;
	sendEvent(event: { type: string; payload: unknown }): Promise<void>;
}

interface Binding {
	create(options: { id: string; params: unknown }): Promise<Instance>;
	get(id: string): Promise<Instance>;
}

/** POST /{binding}/{id} creates, GET asks, PUT sends an event; GET /calls tells what was called. */
async function handle(request: Request, env: Record<string, Binding>): Promise<Response> {
	const [, binding, id] = new URL(request.url).pathname.split("/") as [string, string, string];
	if (binding === "calls") return Response.json(look());
	const workflow = env[binding];
	if (!workflow) return new Response("not found", { status: 404 });
	if (request.method === "POST") {
		const instance = await workflow.create({ id, params: await request.json() });
		return Response.json({ id: instance.id });
	}
	const instance = await workflow.get(id);
	if (request.method === "PUT") {
		await instance.sendEvent({ type: "approval", payload: await request.json() });
		return Response.json({});
	}
	const { status, output, error } = await instance.status();
	return Response.json({ status, output, error });
}

export default { fetch: handle };
