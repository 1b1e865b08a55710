export { escapeControl } from "./escape.ts";
export type { CompactEvent, CompactEventName, Exporter, HostSpan, Place } from "./event.ts";
export { type AriadneOptions, createAriadneExporter } from "./exporters/ariadne.ts";
export { createCallbackExporter } from "./exporters/callback.ts";
export { createConsoleExporter } from "./exporters/console.ts";
export { createJsonlExporter } from "./exporters/jsonl.ts";
export { createOpenTelemetryExporter, type OpenTelemetryOptions } from "./exporters/opentelemetry.ts";
export type { OpenTelemetryApi } from "./exporters/opentelemetry-api.ts";
