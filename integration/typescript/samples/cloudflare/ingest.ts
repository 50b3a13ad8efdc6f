import { WorkflowEntrypoint, WorkflowEvent, WorkflowStep } from "cloudflare:workers";
import { NonRetryableError } from "cloudflare:workflows";
import { note } from "./calls.js";

export interface DocumentParams {
	name: string;
	text: string;
}

/** Takes a document in once somebody has approved it, and asks again when nobody answers. */
export class IngestDocument extends WorkflowEntrypoint<unknown, DocumentParams> {
	async run(event: Readonly<WorkflowEvent<DocumentParams>>, step: WorkflowStep) {
		const { name, text } = event.payload;
		const chunks = await step.do("split", async (ctx) => {
			note(ctx);
			if (!text) throw new NonRetryableError("the document is empty");
			return text.split(". ");
		});
		const approval = await this.approval(step);
		if (!approval?.ok) return { name, state: approval ? "rejected" : "nobody answered" };
		let words = 0;
		for (const chunk of chunks) {
			words += await step.do("index a chunk", { retries: { limit: 2, delay: "1 second" } }, async (ctx) => {
				note(ctx);
				return chunk.split(" ").length;
			});
		}
		return { name, state: "indexed", chunks: chunks.length, words, by: approval.by };
	}

	private async approval(step: WorkflowStep): Promise<{ ok: boolean; by: string } | undefined> {
		for (let asked = 0; asked < 2; asked++) {
			await step.do("ask for approval", async (ctx) => {
				note(ctx);
				return asked;
			});
			try {
				return (await step.waitForEvent<{ ok: boolean; by: string }>("approval", { type: "approval", timeout: "2 seconds" })).payload;
			} catch {
				// nobody has answered in time
			}
		}
		return undefined;
	}
}
