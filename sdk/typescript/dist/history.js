function keyText({ kind, name, occurrence }) {
    return `${kind} ${JSON.stringify(name)} #${occurrence}`;
}
/** What earlier runs have stored, and how far this pass has come in it. */
export class History {
    /** Calls of steps that are functions, in this pass. */
    calls = 0;
    stored = new Map();
    counts = new Map();
    left;
    lastSeq = 0;
    constructor(rows) {
        for (const row of rows) {
            this.stored.set(keyText(row), { row, reached: false });
            this.lastSeq = Math.max(this.lastSeq, row.seq);
        }
        this.left = rows.length;
    }
    /** Gives a call of a step its identity, in call order, and finds its row. */
    identify(kind, name) {
        const counted = `${kind} ${name}`;
        const occurrence = (this.counts.get(counted) ?? 0) + 1;
        this.counts.set(counted, occurrence);
        if (kind === "do")
            this.calls++;
        const key = { kind, name, occurrence };
        const step = this.stored.get(keyText(key));
        if (step && !step.reached) {
            step.reached = true;
            this.left--;
        }
        return [key, step];
    }
    /** The seq of a step without a row. */
    newSeq() {
        return ++this.lastSeq;
    }
    /** Whether the pass has come by every stored step. */
    get allReached() {
        return this.left === 0;
    }
    /** The stored steps that the pass has not come by, in the order in which they began. */
    unreached() {
        const missed = [...this.stored.values()].filter((step) => !step.reached);
        return missed.sort((a, b) => a.row.seq - b.row.seq).map((step) => keyText(step.row));
    }
}
