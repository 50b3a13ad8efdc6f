import { later, onWorkerd } from "./platform.js";

/** Lets one after the other do something; on workerd everybody at once, for there a request can't wait for another's end. */
export class Queue {
	private last: Promise<void> = Promise.resolve();

	/** Takes a place at the end. Whoever has it leaves it, whether or not his turn has come. */
	enter(): Turn {
		const before = onWorkerd ? Promise.resolve() : this.last;
		let leave!: () => void;
		const left = new Promise<void>((resolve) => {
			leave = resolve;
		});
		this.last = before.then(() => left);
		return new Turn(before, leave);
	}
}

/** A place in a queue. */
export class Turn {
	constructor(private readonly before: Promise<void>, readonly leave: () => void) {}

	/** Waits for so many milliseconds at the most; true when it is this one's turn. */
	within(ms: number): Promise<boolean> {
		return new Promise((resolve) => {
			const stop = later(ms, () => resolve(false));
			void this.before.then(() => {
				stop();
				resolve(true);
			});
		});
	}
}
