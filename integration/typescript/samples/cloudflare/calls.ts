/** What was called in this isolate, by instance-independent names: step, occurrence, attempt. */
const calls: string[] = [];

export function note(ctx: { step: { name: string; count: number }; attempt: number }): void {
	calls.push(`${ctx.step.name}-${ctx.step.count} attempt ${ctx.attempt}`);
}

/** What was called since the last look. */
export function look(): string[] {
	return calls.splice(0).sort();
}
