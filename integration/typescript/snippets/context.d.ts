/** What the documents' snippets are about, and leave unsaid. */

import type * as backend from "@spooky-sync/backend";

declare global {
	const NonRetryableError: typeof backend.NonRetryableError;
	const WorkflowError: typeof backend.WorkflowError;
	const WorkflowTimeoutError: typeof backend.WorkflowTimeoutError;
	class Ingest extends backend.WorkflowEntrypoint<unknown, { document: string }> {
		run(): Promise<unknown>;
	}
	const app: backend.WorkflowApp;
	const env: { INGEST: backend.Workflow<{ document: string }> };
	const step: backend.WorkflowStep;
	const document: string;
	const documents: string[];
	const order: { id: string };
	function countPages(document: string): number;
	function convert(document: string): Promise<string>;
	function charge(order: { id: string }): Promise<void>;
}
