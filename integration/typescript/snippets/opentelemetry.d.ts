/** As much of OpenTelemetry's API as the documents' snippets use: nothing here depends on it. */

declare module "@opentelemetry/api" {
	interface Context {
		getValue(key: symbol): unknown;
	}
	interface Span {
		end(): void;
	}
	const ROOT_CONTEXT: Context;
	const context: { active(): Context; with<T>(context: Context, fn: () => T): T };
	const propagation: { inject<Carrier>(context: Context, carrier: Carrier): void; extract<Carrier>(context: Context, carrier: Carrier): Context };
	const trace: { getTracer(name: string): { startActiveSpan<T>(name: string, fn: (span: Span) => T): T } };
}
