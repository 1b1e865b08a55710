// Compiled, never run: the exporter accepts OpenTelemetry's API module.
import * as api from "@opentelemetry/api";
import { CompactManager } from "compact-context";
import { createOpenTelemetryExporter } from "compact-context/tracing";

const exporter = createOpenTelemetryExporter({ api });
export const manager: CompactManager = new CompactManager({ model: "gpt-4o" }, { exporters: [exporter] });
