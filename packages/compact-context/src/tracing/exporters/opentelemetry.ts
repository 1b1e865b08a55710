import type { CompactEvent, Exporter, Place } from "../../core/report.ts";
import { createLruMap, requireKnown } from "../../errors.ts";
import { notBefore, roundStep } from "../tracer.ts";
import {
  attemptsIn,
  METRICS,
  measureEvent,
  type OpenTelemetryAttributes,
  requestAttributes,
  type Usage,
} from "./metrics.ts";

export interface OpenTelemetryOptions {
  /** The module `@opentelemetry/api`. Default: loaded when the exporter is created. */
  readonly api?: OpenTelemetryApi;
  /** Whether spans carry the summary's text as `compact.payload`. Default: true. */
  readonly payload?: boolean;
}

interface ContextPlace extends Place {
  readonly context: OpenTelemetryContext;
}

/** Maximum compactions with open spans; the oldest is ended first. */
const MAX_ROUNDS = 256;
/** The trace id of spans that no SDK created. */
const NOBODY = /^0+$/;
const SCOPE = "compact-context";

/**
 * OBS-4: passes every event to the OpenTelemetry SDK that the host has registered, as a child of the span
 * that was current when it happened, and as metrics. The exporter sends nothing itself; the SDK does.
 */
export function createOpenTelemetryExporter(options: OpenTelemetryOptions = {}): Exporter {
  requireKnown(options, { api: true, payload: true });
  let api = options.api;
  const loaded = api === undefined ? loadApi() : Promise.resolve(api);
  loaded.then(
    (module) => {
      api = module;
    },
    // Reported by the first `export`.
    () => undefined,
  );
  let send: ((event: CompactEvent, place: ContextPlace | undefined) => void) | undefined;
  return {
    name: "OpenTelemetry",
    // Until the module is loaded, continuations of the promise still run in the current context.
    here: () => (api === undefined ? loaded.then(placeIn) : placeIn(api)),
    async export(event, place) {
      send ??= createSender(await loaded, options.payload ?? true);
      send(event, place as ContextPlace | undefined);
    },
  };
}

async function loadApi(): Promise<OpenTelemetryApi> {
  try {
    // The literal keeps tsc's helper for computed paths out, which bundlers warn of.
    // biome-ignore lint/suspicious/noTsIgnore: an optional peer, which some projects have installed
    // @ts-ignore
    return (await import(/* webpackIgnore: true */ "@opentelemetry/api")) as OpenTelemetryApi;
  } catch (cause) {
    throw new Error("the package @opentelemetry/api is not installed: npm install @opentelemetry/api", {
      cause,
    });
  }
}

function placeIn(api: OpenTelemetryApi): ContextPlace {
  const context = api.context.active();
  const ids = api.trace.getSpanContext(context);
  return { context, host: ids === undefined ? undefined : { traceId: ids.traceId, spanId: ids.spanId } };
}

interface OpenRound {
  readonly span: OpenTelemetrySpan;
  readonly context: OpenTelemetryContext;
  readonly startedAt: string;
  endedAt: string;
  failed: boolean;
  /** The text of the summary, once known. */
  summary?: string;
}

function createSender(
  api: OpenTelemetryApi,
  payload: boolean,
): (event: CompactEvent, place: ContextPlace | undefined) => void {
  const tracer = api.trace.getTracer(SCOPE);
  const startSpan: OpenTelemetryTracer["startSpan"] = (...args) => {
    const span = tracer.startSpan(...args);
    if (NOBODY.test(span.spanContext().traceId)) {
      throw new Error("no OpenTelemetry SDK is registered; register one before the first call");
    }
    return span;
  };
  const writeMetric = createWriter(api.metrics.getMeter(SCOPE));
  // A compaction without a last event ends with its newest step.
  const rounds = createLruMap<OpenRound>(MAX_ROUNDS, (round) => endRound({ ...round, failed: true }));

  const roundFor = (key: string, event: CompactEvent, place: OpenTelemetryContext): OpenRound => {
    const known = rounds.get(key);
    if (known !== undefined) return known;
    const attributes = { "gen_ai.conversation.id": event.sessionId };
    const span = startSpan("compact", { startTime: new Date(event.startedAt), attributes }, place);
    const context = api.trace.setSpan(place, span);
    const round = { span, context, startedAt: event.startedAt, endedAt: event.endedAt, failed: false };
    rounds.set(key, round);
    return round;
  };

  return (event, place) => {
    const context = place?.context ?? api.context.active();
    measureEvent(event, (name, value, attributes) => writeMetric(name)(value, attributes, context));
    const part = roundStep(event);
    const attributes = eventAttributes(event, payload);
    if (part === undefined) {
      writeSpan(startSpan(event.name, { startTime: new Date(event.startedAt), attributes }, context), event);
      return;
    }
    const key = `${part.step} ${event.sessionId}`;
    const round = roundFor(key, event, context);
    // Without an archive, the first event received of a round may be later than its decision.
    const startedAt = notBefore(event.startedAt, round.startedAt);
    writeSpan(startSpan(event.name, { startTime: new Date(startedAt), attributes }, round.context), {
      ...event,
      startedAt,
    });
    if (payload && typeof event.payload === "string") round.summary = event.payload;
    round.failed ||= event.status === "error" && part.last;
    round.endedAt = notBefore(event.endedAt, round.endedAt);
    if (!part.last) return;
    rounds.delete(key);
    const { payload: _, ...last } = event;
    round.span.setAttributes(eventAttributes(last, false));
    if (round.summary !== undefined) round.span.setAttributes({ [OUTPUT]: round.summary });
    endRound(round);
  };
}

type Write = (value: number, attributes?: OpenTelemetryAttributes, context?: OpenTelemetryContext) => void;

/** Creates each instrument at its first value. */
function createWriter(meter: OpenTelemetryMeter): (name: string) => Write {
  const writers = new Map<string, Write>();
  return (name) => {
    const known = writers.get(name);
    if (known !== undefined) return known;
    const { kind, ...options } = { ...METRICS[name] };
    let write: Write;
    if (kind === "counter") {
      const made = meter.createCounter(name, options);
      write = (...given) => made.add(...given);
    } else {
      const made = meter.createHistogram(name, options);
      write = (...given) => made.record(...given);
    }
    writers.set(name, write);
    return write;
  };
}

function writeSpan(
  span: OpenTelemetrySpan,
  { status, properties, name, startedAt, endedAt }: CompactEvent,
): void {
  if (status === "error") span.setStatus({ code: STATUS_ERROR, message: String(properties.message ?? name) });
  span.end(new Date(notBefore(endedAt, startedAt)));
}

function endRound({ span, endedAt, failed }: OpenRound): void {
  if (failed) span.setStatus({ code: STATUS_ERROR, message: "the compaction came to nothing" });
  span.end(new Date(endedAt));
}

// Attributes of an event's span.

/** A span's output in OpenInference; trace viewers display it. */
const OUTPUT = "output.value";

/**
 * The attributes of an event's span: every property as `compact.<name>`, nested ones with dots, lists of
 * objects as lists of JSON; plus the GenAI conventions' names, if there are any.
 */
function eventAttributes(event: CompactEvent, payload: boolean): OpenTelemetryAttributes {
  const attributes: OpenTelemetryAttributes = {
    "gen_ai.conversation.id": event.sessionId,
    "compact.event.version": event.version,
  };
  for (const [name, value] of Object.entries(event.properties)) add(attributes, `compact.${name}`, value);
  if (payload && event.payload !== undefined) {
    add(attributes, "compact.payload", event.payload);
    add(attributes, OUTPUT, event.payload);
  }
  const { name, properties } = event;
  const error: OpenTelemetryAttributes =
    name === "compact.error" ? { "error.type": String(properties.error_type) } : {};
  return { ...attributes, ...modelAttributes(event), ...error };
}

function add(attributes: OpenTelemetryAttributes, name: string, value: unknown): void {
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "number")
    attributes[name] = value;
  else if (Array.isArray(value)) {
    attributes[name] = value.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  } else if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) add(attributes, `${name}.${key}`, inner);
  }
}

function modelAttributes({ name, properties }: CompactEvent): OpenTelemetryAttributes {
  if (name === "compact.token_estimate" && typeof properties.model === "string") {
    return { "gen_ai.request.model": properties.model };
  }
  const attempts = attemptsIn(properties);
  const last = attempts.at(-1);
  if (last === undefined) return {};
  const used = attempts.flatMap(({ usage }) => usage ?? []);
  const sum = (pick: (usage: Usage) => number): number =>
    used.reduce((total, usage) => total + pick(usage), 0);
  const request = requestAttributes(last);
  if (used.length === 0) return request;
  return {
    ...request,
    "gen_ai.usage.input_tokens": sum(({ input }) => input),
    "gen_ai.usage.output_tokens": sum(({ output }) => output),
    "gen_ai.usage.cache_read.input_tokens": sum(({ cache_read }) => cache_read),
  };
}

/** The part of `@opentelemetry/api` 1.3 and later that is used; the module itself fits. */
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

interface InstrumentOptions {
  readonly description?: string;
  readonly unit?: string;
}

/** `add` and `record` are methods, since those of `@opentelemetry/api` take a narrower context. */
interface OpenTelemetryMeter {
  createCounter(
    name: string,
    options?: InstrumentOptions,
  ): { add(value: number, attributes?: OpenTelemetryAttributes, context?: OpenTelemetryContext): void };
  createHistogram(
    name: string,
    options?: InstrumentOptions,
  ): { record(value: number, attributes?: OpenTelemetryAttributes, context?: OpenTelemetryContext): void };
}

export interface OpenTelemetryIds {
  readonly traceId: string;
  readonly spanId: string;
}

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

/** `SpanStatusCode.ERROR`. */
const STATUS_ERROR = 2;
