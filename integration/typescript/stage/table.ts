/** The table of cases, conformance/workflows.json, whose README describes the format. */

import { readFileSync } from "node:fs";

export interface Table {
	cases: Case[];
	durations: { text: string; ms?: number; refused?: boolean }[];
}

export interface Case {
	id: string;
	stepLimit?: number;
	workflow: Statement[];
}

export interface Statement {
	do?: unknown;
	config?: any;
	calls?: Behavior[];
	sleep?: string;
	for?: string | number;
	sleepUntil?: string;
	fromStart?: number;
	waitForEvent?: string;
	type?: string;
	timeout?: string | number;
	as?: string;
	caught?: string;
	all?: Statement[];
	branches?: Statement[][];
	count?: string;
	throw?: string;
	rethrow?: string;
	return?: unknown;
}

export interface Behavior {
	after?: number;
	deaf?: number;
	latch?: string;
	hang?: boolean;
	throw?: string;
	nonRetryable?: string;
	return?: unknown;
}

export function loadTable(path: string): Table {
	return JSON.parse(readFileSync(path, "utf8")) as Table;
}

/** Replaces each object of one key that starts with $ by what it stands for. */
export function evaluate(value: unknown, stands: (key: string, arg: unknown) => [unknown] | undefined): unknown {
	if (Array.isArray(value)) return value.map((item) => evaluate(item, stands));
	if (typeof value !== "object" || value === null) return value;
	const entries = Object.entries(value);
	const found = entries.length === 1 ? stands(...(entries[0] as [string, unknown])) : undefined;
	if (found) return found[0];
	return Object.fromEntries(entries.map(([key, item]) => [key, evaluate(item, stands)]));
}

/** What a value stands for that needs no variables. */
export function plain(value: unknown): unknown {
	return evaluate(value, (key, arg) => (key === "$string" ? ["a".repeat(arg as number)] : undefined));
}
