import { WorkflowEntrypoint, WorkflowEvent, WorkflowStep } from "cloudflare:workers";
import { note } from "./calls.js";

export interface CartParams {
	cart: string;
	items: { name: string; cents: number }[];
	/** How many reminders it takes until the customer buys. */
	persuadedBy: number;
}

/** Reminds a customer of a cart that was left behind, twice at most. */
export class AbandonedCart extends WorkflowEntrypoint<unknown, CartParams> {
	async run(event: WorkflowEvent<CartParams>, step: WorkflowStep) {
		const { cart, items, persuadedBy } = event.payload;
		const total = await step.do("add up the cart", async (ctx) => {
			note(ctx);
			return items.reduce((sum, item) => sum + item.cents, 0);
		});
		for (let reminders = 0; ; reminders++) {
			await step.sleep("leave the customer alone", "1 second");
			const bought = await step.do("look whether it was bought", async (ctx) => {
				note(ctx);
				return reminders >= persuadedBy;
			});
			if (bought || reminders === 2) return { cart, total, bought, reminders };
			await step.do("send a mail", { retries: { limit: 3, delay: 100, backoff: "linear" }, timeout: "5 seconds" }, async (ctx) => {
				note(ctx);
				if (ctx.attempt === 1) throw new Error("the mail server is busy");
				return { to: "customer", subject: `Your cart ${cart} misses you`, attempt: ctx.attempt };
			});
		}
	}
}
