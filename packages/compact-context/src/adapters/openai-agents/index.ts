export { compactInputFilter, type InputFilterOptions } from "./input-filter.ts";
export type { InputFilter } from "./sdk.ts";
export {
  type CompactingSession,
  CompactSession,
  type CompactSessionConstructor,
  type CompactSessionOptions,
} from "./session.ts";
export { createSpanExporter, type SpanExporter } from "./span-exporter.ts";
