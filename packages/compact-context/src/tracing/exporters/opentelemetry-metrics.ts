import type { CompactEvent } from "../../core/ports.ts";
import type {
  OpenTelemetryAttributes,
  OpenTelemetryContext,
  OpenTelemetryMeter,
} from "./opentelemetry-api.ts";

// What an event says in OpenTelemetry's words: attributes of its span, and metrics.

/** What a span gave, by OpenInference: viewers of traces show it as the span's output. */
export const OUTPUT = "output.value";

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
export function eventAttributes(event: CompactEvent, payload: boolean): OpenTelemetryAttributes {
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
export function createMeasures(
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
