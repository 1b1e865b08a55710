export type { CompactEvent, CompactEventName, Exporter, HostSpan, Place } from "../core/ports.ts";
export { escapeControl } from "../errors.ts";
export { type AriadneOptions, createAriadneExporter } from "./exporters/ariadne.ts";
export { createCallbackExporter, createConsoleExporter, createJsonlExporter } from "./exporters/local.ts";
export {
  createMetrics,
  type InstrumentOptions,
  type Metrics,
  type OpenTelemetryAttributes,
  type OpenTelemetryContext,
  type OpenTelemetryMeter,
} from "./exporters/metrics.ts";
export type {
  OpenTelemetryApi,
  OpenTelemetryIds,
  OpenTelemetrySpan,
  OpenTelemetryTracer,
} from "./exporters/opentelemetry.ts";
export { createOpenTelemetryExporter, type OpenTelemetryOptions } from "./exporters/opentelemetry.ts";
export {
  type EventSchema,
  eventSchema,
  type Properties,
  recordProblems,
  recordSchema,
} from "./schema.ts";
