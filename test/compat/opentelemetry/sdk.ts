import { createRequire } from "node:module";

// The installed OpenTelemetry; loosely typed, because three release lines are tested.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Loose = any;

export interface Sdk {
  readonly line: string;
  readonly api: Loose;
  /** Registers an SDK that exports to the URL as JSON or protobuf. */
  start(url: string, encoding: "json" | "protobuf"): RunningSdk;
}

export interface RunningSdk {
  /** Flushes everything and unregisters the SDK. */
  stop(): Promise<void>;
}

/** Undefined if it is not installed or requires a newer Node. */
export function loadSdk(line: "oldest" | "2.x" | "newest"): Sdk | undefined {
  const folder = line === "2.x" ? "./" : `./${line}/`;
  const load = createRequire(new URL(`${folder}package.json`, import.meta.url));
  try {
    const api = load("@opentelemetry/api");
    const trace = load(line === "newest" ? "@opentelemetry/sdk-trace" : "@opentelemetry/sdk-trace-base");
    const metrics = load("@opentelemetry/sdk-metrics");
    const { AsyncLocalStorageContextManager } = load("@opentelemetry/context-async-hooks");
    const exporters = (encoding: "json" | "protobuf"): Loose[] => {
      const package_ = encoding === "json" ? "http" : "proto";
      return [
        load(`@opentelemetry/exporter-trace-otlp-${package_}`).OTLPTraceExporter,
        load(`@opentelemetry/exporter-metrics-otlp-${package_}`).OTLPMetricExporter,
      ];
    };
    exporters("json");
    const start = (url: string, encoding: "json" | "protobuf"): RunningSdk => {
      const [TraceExporter, MetricExporter] = exporters(encoding);
      const exporter = new TraceExporter({ url: `${url}/v1/traces` });
      const processor = new trace.BatchSpanProcessor(line === "newest" ? { exporter } : exporter);
      const reader = new metrics.PeriodicExportingMetricReader({
        exporter: new MetricExporter({ url: `${url}/v1/metrics` }),
        exportIntervalMillis: 60_000,
      });
      const Provider = trace.BasicTracerProvider ?? trace.TracerProvider;
      const tracerProvider = new Provider({ spanProcessors: [processor] });
      tracerProvider.addSpanProcessor?.(processor);
      const meterProvider = new metrics.MeterProvider({ readers: [reader] });
      if (line === "oldest") meterProvider.addMetricReader(reader);
      api.trace.setGlobalTracerProvider(tracerProvider);
      api.metrics.setGlobalMeterProvider(meterProvider);
      api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
      return {
        async stop() {
          for (const provider of [tracerProvider, meterProvider]) await provider.forceFlush();
          await tracerProvider.shutdown();
          await meterProvider.shutdown();
          for (const part of [api.trace, api.metrics, api.context]) part.disable();
          // Another line has another API version, which would not register alongside this one.
          delete (globalThis as Record<symbol, unknown>)[Symbol.for("opentelemetry.js.api.1")];
        },
      };
    };
    return { line, api, start };
  } catch {
    return undefined;
  }
}
