import type { Kind, StepRow } from "./protocol.js";

/** The identity of a call of a step. */
export interface StepKey {
	kind: Kind;
	name: string;
	/** Counts the calls of one kind and name in a pass, from 1, in call order. */
	occurrence: number;
}

/** A step as it was loaded, and whether this pass has come to it. */
export interface StoredStep {
	row: StepRow;
	reached: boolean;
}

function keyText({ kind, name, occurrence }: StepKey): string {
	return `${kind} ${JSON.stringify(name)} #${occurrence}`;
}

/** What earlier runs have stored, and how far this pass has come in it. */
export class History {
	/** Calls of steps that are functions, in this pass. */
	calls = 0;
	private readonly stored = new Map<string, StoredStep>();
	private readonly counts = new Map<string, number>();
	private left: number;
	private lastSeq = 0;

	constructor(rows: StepRow[]) {
		for (const row of rows) {
			this.stored.set(keyText(row), { row, reached: false });
			this.lastSeq = Math.max(this.lastSeq, row.seq);
		}
		this.left = rows.length;
	}

	/** Gives a call of a step its identity, in call order, and finds its row. */
	identify(kind: Kind, name: string): [StepKey, StoredStep | undefined] {
		const counted = `${kind} ${name}`;
		const occurrence = (this.counts.get(counted) ?? 0) + 1;
		this.counts.set(counted, occurrence);
		if (kind === "do") this.calls++;
		const key = { kind, name, occurrence };
		const step = this.stored.get(keyText(key));
		if (step && !step.reached) {
			step.reached = true;
			this.left--;
		}
		return [key, step];
	}

	/** The seq of a step without a row. */
	newSeq(): number {
		return ++this.lastSeq;
	}

	/** Whether the pass has come by every stored step. */
	get allReached(): boolean {
		return this.left === 0;
	}

	/** The stored steps that the pass has not come by, in the order in which they began. */
	unreached(): string[] {
		const missed = [...this.stored.values()].filter((step) => !step.reached);
		return missed.sort((a, b) => a.row.seq - b.row.seq).map((step) => keyText(step.row));
	}
}
