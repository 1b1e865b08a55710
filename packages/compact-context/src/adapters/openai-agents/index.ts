export { compactInputFilter, type InputFilterOptions } from "./input-filter.ts";
export { type CompactingSession, CompactSession, type CompactSessionOptions } from "./session.ts";
export { createSpanExporter } from "./span-exporter.ts";
