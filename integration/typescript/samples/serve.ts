/** Runs the ported samples on Node.js. */

import { serve } from "@spooky-sync/backend/node";

const worker = new URL("ported/worker.js", import.meta.url);
const { default: app } = (await import(worker.href)) as { default: Parameters<typeof serve>[0] };
const { port } = await serve(app, { port: 0 });
console.log(`listening ${port}`);
