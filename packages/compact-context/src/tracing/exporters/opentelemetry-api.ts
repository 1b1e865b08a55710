/** What is used of `@opentelemetry/api` 1.3 and later; the module itself fits. */
export interface OpenTelemetryApi {
  readonly context: { active(): OpenTelemetryContext };
  readonly trace: {
    getTracer(name: string, version?: string): OpenTelemetryTracer;
    setSpan(context: OpenTelemetryContext, span: OpenTelemetrySpan): OpenTelemetryContext;
    getSpanContext(context: OpenTelemetryContext): OpenTelemetryIds | undefined;
  };
  readonly metrics: {
    getMeter(name: string, version?: string): OpenTelemetryMeter;
  };
}

/** Opaque. */
export interface OpenTelemetryContext {
  getValue(key: symbol): unknown;
}

export interface OpenTelemetryIds {
  readonly traceId: string;
  readonly spanId: string;
}

export type OpenTelemetryAttributes = Record<string, string | number | boolean | string[]>;

export interface OpenTelemetrySpan {
  spanContext(): OpenTelemetryIds;
  setAttributes(attributes: OpenTelemetryAttributes): unknown;
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  end(time?: Date): void;
}

export interface OpenTelemetryTracer {
  startSpan(
    name: string,
    options?: { readonly startTime?: Date; readonly attributes?: OpenTelemetryAttributes },
    context?: OpenTelemetryContext,
  ): OpenTelemetrySpan;
}

export interface InstrumentOptions {
  readonly description?: string;
  readonly unit?: string;
}

export interface OpenTelemetryMeter {
  createCounter(
    name: string,
    options?: InstrumentOptions,
  ): { add(value: number, attributes?: OpenTelemetryAttributes, context?: OpenTelemetryContext): void };
  createHistogram(
    name: string,
    options?: InstrumentOptions,
  ): { record(value: number, attributes?: OpenTelemetryAttributes, context?: OpenTelemetryContext): void };
}

/** `SpanStatusCode.ERROR`. */
export const STATUS_ERROR = 2;
