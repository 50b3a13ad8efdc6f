import { type Workflow, withWorkflows } from "@spooky-sync/backend";
import { serve } from "@spooky-sync/backend/node";
import { Hono } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import { IngestMaterial, type MaterialParams, healthy } from "./ingest.js";

const token = process.env["API_AUTH_TOKEN"] ?? "dev-token";

const app = new Hono<{ Bindings: { INGEST: Workflow<MaterialParams> } }>();

app.get("/healthz", async (c) => {
	await healthy();
	return c.json({ status: "ok" });
});

app.post("/materials", bearerAuth({ token }), async (c) => {
	const params = await c.req.json<MaterialParams>();
	if (typeof params.title !== "string" || typeof params.text !== "string") return c.json({ code: "bad_request", message: "title and text are mandatory" }, 400);
	// The job's key as the instance's id: a job whose answer was lost starts nothing twice.
	const id = (c.req.header("idempotency-key") ?? crypto.randomUUID()).replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 100);
	const [made] = await c.env.INGEST.createBatch([{ id, params }]);
	return c.json({ instance: id, started: made !== undefined }, 202);
});

const server = await serve(withWorkflows(app, { INGEST: IngestMaterial }, { authToken: token }));
console.log(`listening on ${server.url}`);
