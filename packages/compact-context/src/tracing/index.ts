export type { CompactEvent, CompactEventName, Exporter, HostSpan, Place } from "../core/ports.ts";
export { type AriadneOptions, createAriadneExporter } from "./exporters/ariadne.ts";
export { createCallbackExporter, createConsoleExporter, createJsonlExporter } from "./exporters/local.ts";
export type {
  InstrumentOptions,
  OpenTelemetryApi,
  OpenTelemetryAttributes,
  OpenTelemetryContext,
  OpenTelemetryIds,
  OpenTelemetryMeter,
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
export { escapeControl } from "./tracer.ts";
