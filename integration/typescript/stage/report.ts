/** Tells the test, which outlives this process, what happens here. */

import { appendFileSync } from "node:fs";

const log = process.env["STAGE_LOG"] ?? "/dev/null";
const base = process.env["STAGE_URL"] ?? "";

/** Writes a line that a kill at the next moment can't take back, and that takes no time to speak of. */
export function tell(what: string, facts: object): void {
	appendFileSync(log, `${JSON.stringify({ what, ...facts })}\n`);
}

/** Waits until the test releases a latch. */
export async function latch(facts: object, signal: AbortSignal): Promise<void> {
	await fetch(`${base}/latch`, { method: "POST", body: JSON.stringify(facts), signal });
}
