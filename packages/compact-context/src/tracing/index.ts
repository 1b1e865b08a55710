export type { CompactEventName } from "../core/report.ts";
export { type AriadneOptions, createAriadneExporter } from "./exporters/ariadne.ts";
export { createConsoleExporter, createJsonlExporter } from "./exporters/http-post.ts";
export { createMetrics, type Metrics } from "./exporters/metrics.ts";
export { createOpenTelemetryExporter, type OpenTelemetryOptions } from "./exporters/opentelemetry.ts";
