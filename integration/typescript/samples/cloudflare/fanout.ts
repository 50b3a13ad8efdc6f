import { WorkflowEntrypoint, WorkflowEvent, WorkflowStep } from "cloudflare:workers";
import { note } from "./calls.js";

export interface FanOutParams {
	numbers: number[];
}

/** Squares numbers side by side, one of them with an error that is caught, and adds them up. */
export class FanOut extends WorkflowEntrypoint<unknown, FanOutParams> {
	async run(event: WorkflowEvent<FanOutParams>, step: WorkflowStep) {
		const squares = await Promise.all(event.payload.numbers.map((n) => this.square(step, n)));
		const names = await Promise.all(["one", "two"].map((name) => step.do(name, async (ctx) => {
			note(ctx);
			return `${ctx.step.name}-${ctx.step.count}`;
		})));
		const sum = await step.do("add up", async (ctx) => {
			note(ctx);
			return squares.reduce((a: number, b) => a + (b ?? 0), 0);
		});
		return { squares, names, sum };
	}

	private async square(step: WorkflowStep, n: number): Promise<number | null> {
		try {
			return await step.do("square", { retries: { limit: 1, delay: 50, backoff: "constant" } }, async (ctx) => {
				note(ctx);
				if (n < 0) throw new RangeError(`${n} is negative`);
				return n * n;
			});
		} catch {
			return null;
		}
	}
}
