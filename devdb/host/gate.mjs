/**
 * Keeps the requests of one session in the order that matters: what changes the session (`use`, `signin`, `let`, …)
 * waits for what came before it and holds back what comes after it; everything else runs side by side.
 */
export class Gate {
	/** @type {{ exclusive: boolean, run: () => void }[]} */
	#waiting = [];
	#running = 0;
	#exclusive = false;

	/**
	 * @template T
	 * @param {boolean} exclusive
	 * @param {() => Promise<T>} work
	 * @returns {Promise<T>}
	 */
	async run(exclusive, work) {
		if (this.#exclusive || this.#waiting.length > 0 || (exclusive && this.#running > 0)) {
			await new Promise((run) => this.#waiting.push({ exclusive, run: () => run(undefined) }));
		} else {
			this.#enter(exclusive);
		}
		try {
			return await work();
		} finally {
			this.#leave();
		}
	}

	/** @param {boolean} exclusive */
	#enter(exclusive) {
		this.#running++;
		this.#exclusive = exclusive;
	}

	#leave() {
		this.#running--;
		if (this.#exclusive) this.#exclusive = false;
		while (this.#waiting.length > 0) {
			const next = this.#waiting[0];
			if (this.#exclusive || (next.exclusive && this.#running > 0)) return;
			this.#waiting.shift();
			this.#enter(next.exclusive);
			next.run();
		}
	}
}
