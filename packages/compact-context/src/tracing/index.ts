export type { CompactEvent, CompactEventName, Exporter, HostSpan, Place } from "../core/ports.ts";
export { recordProblems } from "./check-record.ts";
export { escapeControl } from "./escape.ts";
export { type AriadneOptions, createAriadneExporter } from "./exporters/ariadne.ts";
export { createCallbackExporter } from "./exporters/callback.ts";
export { createConsoleExporter } from "./exporters/console.ts";
export { createJsonlExporter } from "./exporters/jsonl.ts";
export { createOpenTelemetryExporter, type OpenTelemetryOptions } from "./exporters/opentelemetry.ts";
export type {
  InstrumentOptions,
  OpenTelemetryApi,
  OpenTelemetryAttributes,
  OpenTelemetryContext,
  OpenTelemetryIds,
  OpenTelemetryMeter,
  OpenTelemetrySpan,
  OpenTelemetryTracer,
} from "./exporters/opentelemetry-api.ts";
export type { Properties, PropertySchema, PropertyType } from "./property-schema.ts";
export { type EventSchema, eventSchema, recordSchema } from "./schema.ts";
