import { NonRetryableError, WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "@spooky-sync/backend";
import { Store } from "./store.js";
import { countWords, pagesOf, slug, toHTML } from "./text.js";

/** What the workflow is started with. */
export interface MaterialParams {
	/** What it is published under. Defaults to the title, simplified. */
	name?: string;
	title: string;
	text: string;
	/** The most words of a page. */
	pageWords?: number;
	/** The pause before the review. */
	settleSeconds?: number;
	/** How many attempts of each conversion fail on purpose. */
	failures?: number;
}

/** The payload of the event reviewed. */
interface Review {
	ok: boolean;
	note?: string;
}

/** How many pages one step converts. */
const BATCH = 10;

const store = await Store.open();

/**
 * Counts the pages of a text, converts them in batches of ten, lets things settle, waits for somebody to review the
 * result, and publishes it. Whatever dies meanwhile, it goes on with the step that was not done.
 */
export class IngestMaterial extends WorkflowEntrypoint<unknown, MaterialParams> {
	async run(event: WorkflowEvent<MaterialParams>, step: WorkflowStep) {
		const { title, text, name = slug(title), pageWords = 10, settleSeconds = 0, failures = 0 } = event.payload;
		const total = await step.do("count pages", async () => {
			const pages = pagesOf(text, pageWords).length;
			if (!name || pages === 0) throw new NonRetryableError("a material needs a title and a text with words");
			return { pages, words: countWords(text) };
		});
		for (let first = 1; first <= total.pages; first += BATCH) {
			const last = Math.min(first + BATCH - 1, total.pages);
			await step.do(`convert pages ${first} to ${last}`, { retries: { limit: 3, delay: "500 ms", backoff: "exponential" }, timeout: "1 minute" }, async ({ attempt }) => {
				if (attempt <= failures) throw new Error(`attempt ${attempt} fails on purpose; attempt ${failures + 1} will not`);
				const pages = pagesOf(text, pageWords).slice(first - 1, last);
				await store.writeSheets(name, pages.map((page, i) => ({ number: first + i, html: toHTML(page) })));
				return pages.length;
			});
		}
		await step.sleep("let the index settle", settleSeconds * 1000);
		const review = await step.waitForEvent<Review>("review", { type: "reviewed", timeout: "24 hours" });
		if (!review.payload.ok) throw new NonRetryableError(`the review rejected it: ${review.payload.note ?? "without a word"}`);
		await step.do("publish", () => store.publish(name, { title, ...total, note: review.payload.note }));
		return { material: name, ...total, note: review.payload.note };
	}
}

/** Fails while the database is away. */
export function healthy(): Promise<void> {
	return store.ping();
}
