import type { CompactEvent, Exporter, Place } from "../../core/ports.ts";
import { createLruMap, requireOptions } from "../../errors.ts";
import { notBefore, roundStep } from "../tracer.ts";

export interface OpenTelemetryOptions {
  /** The module `@opentelemetry/api`; loaded when the exporter is made, where it is left out. */
  readonly api?: OpenTelemetryApi;
  /** Whether spans carry the summary's text as `compact.payload`; true when left out. */
  readonly payload?: boolean;
}

interface ContextPlace extends Place {
  readonly context: OpenTelemetryContext;
}

/** Compactions under way whose spans are open; the oldest is ended first. */
const MAX_ROUNDS = 256;
/** The trace of spans that no SDK made. */
const NOBODY = /^0+$/;
const SCOPE = "compact-context";

/**
 * OBS-4: gives every event to the OpenTelemetry SDK that the host has registered, as a span below the span that was
 * current when it happened, and as metrics. Nothing is sent by this exporter itself: that is the SDK's affair.
 */
export function createOpenTelemetryExporter(options: OpenTelemetryOptions = {}): Exporter {
  requireOptions(options);
  let api = options.api;
  const loaded = api === undefined ? loadApi() : Promise.resolve(api);
  loaded.then(
    (module) => {
      api = module;
    },
    // Told by the first `export`.
    () => undefined,
  );
  let send: ((event: CompactEvent, place: ContextPlace | undefined) => void) | undefined;
  return {
    name: "OpenTelemetry",
    // Until the module is there, what follows on the promise still runs in the context of this moment.
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
  /** The text of the summary, once there is one. */
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
  const measure = createMeasures(api.metrics.getMeter(SCOPE));
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
    measure(event, context);
    const part = roundStep(event);
    const attributes = eventAttributes(event, payload);
    if (part === undefined) {
      writeSpan(startSpan(event.name, { startTime: new Date(event.startedAt), attributes }, context), event);
      return;
    }
    const key = `${part.step} ${event.sessionId}`;
    const round = roundFor(key, event, context);
    // Without an archive, the first that is heard of a round may be younger than its decision.
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

// What an event says in OpenTelemetry's words: attributes of its span, and metrics.

/** What a span gave, by OpenInference: viewers of traces show it as the span's output. */
const OUTPUT = "output.value";

/** Our names of providers in the words of OpenTelemetry's GenAI conventions, where those differ. */
const PROVIDERS: Readonly<Record<string, string>> = {
  google: "gcp.gemini",
  mistral: "mistral_ai",
  moonshotai: "moonshot_ai",
  xai: "x_ai",
  "amazon-bedrock": "aws.bedrock",
};

/**
 * The attributes of an event's span: every property as `compact.<name>`, nested ones with dots, lists of objects as
 * lists of JSON; beside them the names of the GenAI conventions where there are some.
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
  return { ...attributes, ...modelAttributes(event), ...errorAttributes(event) };
}

function add(attributes: OpenTelemetryAttributes, name: string, value: unknown): void {
  if (typeof value === "string" || typeof value === "boolean") attributes[name] = value;
  else if (typeof value === "number") attributes[name] = value;
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

function errorAttributes({ name, properties }: CompactEvent): OpenTelemetryAttributes {
  return name === "compact.error" ? { "error.type": String(properties.error_type) } : {};
}

/** Model and provider of one request, as the GenAI conventions name them. */
function requestAttributes({ model, provider }: Attempt): OpenTelemetryAttributes {
  const request = { "gen_ai.operation.name": "chat", "gen_ai.request.model": model };
  if (provider === undefined) return request;
  return { ...request, "gen_ai.provider.name": PROVIDERS[provider] ?? provider };
}

interface Usage {
  readonly input: number;
  readonly cache_read: number;
  readonly output: number;
}

/** A request to a model as events carry it. */
interface Attempt {
  readonly model: string;
  readonly provider?: string;
  readonly outcome: string;
  readonly duration_ms: number;
  readonly usage?: Usage;
  readonly cost_usd?: number;
}

/** The requests to models that an event speaks of: those of a summary, or the one that failed. */
function attemptsIn(properties: CompactEvent["properties"]): readonly Attempt[] {
  const { attempts, attempt } = properties;
  if (Array.isArray(attempts)) return attempts as Attempt[];
  return typeof attempt === "object" && attempt !== null ? [attempt as Attempt] : [];
}

// ---- metrics

type MetricName =
  | "compact.request.tokens"
  | "compact.request.usage"
  | "compact.rounds"
  | "compact.round.duration"
  | "compact.round.tokens_removed"
  | "compact.round.messages_pruned"
  | "compact.summary.compression_ratio"
  | "compact.summary.duration"
  | "compact.summary.cost"
  | "compact.errors"
  | "compact.warnings"
  | "gen_ai.client.token.usage"
  | "gen_ai.client.operation.duration";

interface Instrument {
  readonly kind: "counter" | "histogram";
  readonly unit: string;
  readonly description: string;
}

/** Every metric of the exporter; `gen_ai.*` as OpenTelemetry's GenAI conventions define them. */
export const METRICS: Readonly<Record<MetricName, Instrument>> = {
  "compact.request.tokens": {
    kind: "histogram",
    unit: "{token}",
    description: "Tokens of the request that was looked at, by our count",
  },
  "compact.request.usage": {
    kind: "histogram",
    unit: "1",
    description: "Share of the model's window that the request takes",
  },
  "compact.rounds": { kind: "counter", unit: "{round}", description: "Compactions, by their reason" },
  "compact.round.duration": {
    kind: "histogram",
    unit: "s",
    description: "Work of one compaction, its summary included",
  },
  "compact.round.tokens_removed": {
    kind: "counter",
    unit: "{token}",
    description: "Tokens that compactions took out of requests",
  },
  "compact.round.messages_pruned": {
    kind: "counter",
    unit: "{message}",
    description: "Messages that left the list for the archive",
  },
  "compact.summary.compression_ratio": {
    kind: "histogram",
    unit: "1",
    description: "Tokens of the summary by tokens of what it stands for",
  },
  "compact.summary.duration": { kind: "histogram", unit: "s", description: "Making one summary" },
  "compact.summary.cost": {
    kind: "counter",
    unit: "{USD}",
    description: "Dollars for the models of summaries, where usage and prices are known",
  },
  "compact.errors": { kind: "counter", unit: "{error}", description: "Failures, by type" },
  "compact.warnings": { kind: "counter", unit: "{warning}", description: "Warnings, by code" },
  "gen_ai.client.token.usage": {
    kind: "histogram",
    unit: "{token}",
    description: "Tokens that the models of summaries read and wrote, as their providers report them",
  },
  "gen_ai.client.operation.duration": {
    kind: "histogram",
    unit: "s",
    description: "Requests to the models of summaries",
  },
};

type Measure = (name: MetricName, value: unknown, attributes?: OpenTelemetryAttributes) => void;
type Write = (value: number, attributes?: OpenTelemetryAttributes, context?: OpenTelemetryContext) => void;

/** Measures events. No attribute names a session: a metric's series would be as many as there are sessions. */
function createMeasures(
  meter: OpenTelemetryMeter,
): (event: CompactEvent, context?: OpenTelemetryContext) => void {
  const written = new Map<MetricName, Write>();
  const writerOf = (name: MetricName): Write => {
    const known = written.get(name);
    if (known !== undefined) return known;
    const { kind, ...options } = METRICS[name];
    if (kind === "counter") {
      const counter = meter.createCounter(name, options);
      written.set(name, (value, ...more) => counter.add(value, ...more));
    } else {
      const histogram = meter.createHistogram(name, options);
      written.set(name, (value, ...more) => histogram.record(value, ...more));
    }
    return writerOf(name);
  };
  return (event, context) => {
    const measure: Measure = (name, value, attributes = {}) => {
      if (typeof value === "number" && Number.isFinite(value)) writerOf(name)(value, attributes, context);
    };
    measureEvent(event, measure);
    for (const attempt of newAttempts(event)) measureAttempt(attempt, measure);
  };
}

function measureEvent({ name, properties, startedAt, endedAt }: CompactEvent, measure: Measure): void {
  if (name === "compact.token_estimate") {
    const of = { "gen_ai.request.model": String(properties.model) };
    measure("compact.request.tokens", properties.t_est, of);
    measure("compact.request.usage", properties.usage_pct, of);
  } else if (name === "compact.trigger_decision") {
    if (properties.triggered === true && properties.outcome !== "failed") {
      measure("compact.rounds", 1, { "compact.reason": String(properties.reason) });
    }
  } else if (name === "compact.summary_created") {
    const of = { "compact.summarizer": String(properties.summarizer) };
    measure("compact.summary.compression_ratio", properties.compression_ratio, of);
    measure("compact.summary.duration", (Date.parse(endedAt) - Date.parse(startedAt)) / 1000, of);
  } else if (name === "compact.pruned_messages") {
    measure("compact.round.duration", Number(properties.elapsed_ms) / 1000);
    const removed = Number(properties.tokens_before) - Number(properties.tokens_after);
    measure("compact.round.tokens_removed", Math.max(0, removed));
    measure("compact.round.messages_pruned", properties.pruned_count);
  } else if (name === "compact.error") {
    measure("compact.errors", 1, { "error.type": String(properties.error_type) });
  } else if (name === "compact.warning") {
    measure("compact.warnings", 1, { "compact.code": String(properties.code) });
  }
}

/** Attempts that failed were told as they failed; a summary repeats them beside the one that was accepted. */
function newAttempts({ name, properties }: CompactEvent): readonly Attempt[] {
  const asked = attemptsIn(properties).filter(({ outcome }) => outcome !== "skipped");
  return name === "compact.error" ? asked : asked.filter(({ outcome }) => outcome === "accepted");
}

function measureAttempt(attempt: Attempt, measure: Measure): void {
  const { usage, outcome, duration_ms, cost_usd } = attempt;
  const of = requestAttributes(attempt);
  const failed: OpenTelemetryAttributes = outcome === "accepted" ? {} : { "error.type": outcome };
  measure("gen_ai.client.operation.duration", duration_ms / 1000, { ...of, ...failed });
  measure("gen_ai.client.token.usage", usage?.input, { ...of, "gen_ai.token.type": "input" });
  measure("gen_ai.client.token.usage", usage?.output, { ...of, "gen_ai.token.type": "output" });
  measure("compact.summary.cost", cost_usd, of);
}

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
const STATUS_ERROR = 2;
