import type { CompactEvent, Exporter } from "../../core/report.ts";

// Metrics under one set of names: the OpenTelemetry exporter writes them to the host's SDK, `createMetrics`
// keeps them in memory for Prometheus to scrape.

/** Provider names of OpenTelemetry's GenAI conventions, if they differ from ours. */
const PROVIDERS: Readonly<Record<string, string>> = {
  google: "gcp.gemini",
  mistral: "mistral_ai",
  moonshotai: "moonshot_ai",
  xai: "x_ai",
  "amazon-bedrock": "aws.bedrock",
};

/** Model and provider of one request, named by the GenAI conventions. */
export function requestAttributes({ model, provider }: Attempt): OpenTelemetryAttributes {
  const request = { "gen_ai.operation.name": "chat", "gen_ai.request.model": model };
  if (provider === undefined) return request;
  return { ...request, "gen_ai.provider.name": PROVIDERS[provider] ?? provider };
}

export interface Usage {
  readonly input: number;
  readonly cache_read: number;
  readonly output: number;
}

/** A model request, as events carry it. */
export interface Attempt {
  readonly model: string;
  readonly provider?: string;
  readonly outcome: string;
  readonly duration_ms: number;
  readonly usage?: Usage;
  readonly cost_usd?: number;
}

/** The model requests of an event: those of a summary, or the one that failed. */
export function attemptsIn(properties: CompactEvent["properties"]): readonly Attempt[] {
  const { attempts, attempt } = properties;
  if (Array.isArray(attempts)) return attempts as Attempt[];
  return typeof attempt === "object" && attempt !== null ? [attempt as Attempt] : [];
}

interface Instrument {
  readonly kind: "counter" | "histogram";
  readonly unit: string;
  readonly description: string;
}

const counter = (unit: string, description: string): Instrument => ({ kind: "counter", unit, description });
const histogram = (unit: string, description: string): Instrument => ({
  kind: "histogram",
  unit,
  description,
});

/** All metrics; `gen_ai.*` as defined by OpenTelemetry's GenAI conventions. */
export const METRICS: Readonly<Record<string, Instrument>> = {
  "compact.request.tokens": histogram("{token}", "Tokens of the request that was looked at, by our count"),
  "compact.request.usage": histogram("1", "Share of the model's window that the request takes"),
  "compact.rounds": counter("{round}", "Compactions, by their reason"),
  "compact.round.duration": histogram("s", "Work of one compaction, its summary included"),
  "compact.round.tokens_removed": counter("{token}", "Tokens that compactions took out of requests"),
  "compact.round.messages_pruned": counter("{message}", "Messages that left the list for the archive"),
  "compact.summary.compression_ratio": histogram(
    "1",
    "Tokens of the summary by tokens of what it stands for",
  ),
  "compact.summary.duration": histogram("s", "Making one summary"),
  "compact.summary.cost": counter(
    "{USD}",
    "Dollars for the models of summaries, where usage and prices are known",
  ),
  "compact.errors": counter("{error}", "Failures, by type"),
  "compact.warnings": counter("{warning}", "Warnings, by code"),
  "gen_ai.client.token.usage": histogram(
    "{token}",
    "Tokens that the models of summaries read and wrote, as their providers report them",
  ),
  "gen_ai.client.operation.duration": histogram("s", "Requests to the models of summaries"),
};

type Measure = (name: string, value: unknown, attributes?: OpenTelemetryAttributes) => void;

export type OpenTelemetryAttributes = Record<string, string | number | boolean | string[]>;

/**
 * Calls `write` with every value that an event adds to a metric. No attribute identifies a session: each session would
 * add a series.
 */
export function measureEvent(
  event: CompactEvent,
  write: (name: string, value: number, attributes: OpenTelemetryAttributes) => void,
): void {
  const measure: Measure = (name, value, attributes = {}) => {
    if (typeof value === "number" && Number.isFinite(value)) write(name, value, attributes);
  };
  measureOwn(event, measure);
  for (const attempt of newAttempts(event)) measureAttempt(attempt, measure);
}

function measureOwn({ name, properties, startedAt, endedAt }: CompactEvent, measure: Measure): void {
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

/** Failed attempts were counted when they failed; a summary repeats them along with the accepted one. */
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

// ---- Prometheus

/** In-process metrics: an exporter that accumulates, and its current values. */
export interface Metrics extends Exporter {
  /** Prometheus' text format 0.0.4. Names match those that the OpenTelemetry collector gives the same metrics. */
  text(): string;
}

/** Upper bounds of histogram buckets, by unit. */
const BUCKETS: Readonly<Record<string, readonly number[]>> = {
  s: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  "{token}": [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6],
  "1": [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1],
};
/** Maximum series per metric: a caller that invents names per call must not fill the memory. */
const MOST_SERIES = 200;

/** The values of a metric with the same labels; a counter is its sum. */
interface Series {
  readonly labels: readonly string[];
  /** Values up to the end of each bucket. */
  readonly counts: number[];
  count: number;
  sum: number;
}

/** An exporter that measures events as the OpenTelemetry exporter does, for a `/metrics` endpoint of the program. */
export function createMetrics(): Metrics {
  const metrics = new Map<string, Map<string, Series>>();
  return {
    name: "metrics",
    export: (event) =>
      measureEvent(event, (name, value, attributes) => {
        const all = metrics.get(name) ?? new Map<string, Series>();
        metrics.set(name, all);
        const series = seriesIn(all, attributes);
        series.count += 1;
        series.sum += value;
        for (const [index, end] of endsOf(name).entries())
          if (value <= end) series.counts[index] = (series.counts[index] ?? 0) + 1;
      }),
    text: () => [...metrics].map(([name, all]) => metricText(name, [...all.values()])).join(""),
  };
}

function endsOf(name: string): readonly number[] {
  return BUCKETS[METRICS[name]?.unit ?? ""] ?? [];
}

function seriesIn(all: Map<string, Series>, attributes: OpenTelemetryAttributes): Series {
  const labels = Object.entries(attributes).map(
    ([name, value]) => `${name.replace(/[^a-zA-Z0-9_]/g, "_")}="${escapeLabel(String(value))}"`,
  );
  const isFull = all.size >= MOST_SERIES && !all.has(labels.join());
  const key = isFull ? "" : labels.join();
  const series = all.get(key) ?? { labels: isFull ? [] : labels, counts: [], count: 0, sum: 0 };
  all.set(key, series);
  return series;
}

function metricText(name: string, all: readonly Series[]): string {
  const { kind, unit, description } = METRICS[name] as Instrument;
  const shown = `${name.replaceAll(".", "_")}${unit === "s" ? "_seconds" : ""}${kind === "counter" ? "_total" : ""}`;
  const lines = all.flatMap(({ labels, counts, count, sum }) => {
    if (kind === "counter") return [`${shown}${braces(labels)} ${sum}\n`];
    const bucket = (end: string, value: number): string =>
      `${shown}_bucket${braces([...labels, `le="${end}"`])} ${value}\n`;
    return [
      ...endsOf(name).map((end, index) => bucket(String(end), counts[index] ?? 0)),
      bucket("+Inf", count),
      `${shown}_sum${braces(labels)} ${sum}\n`,
      `${shown}_count${braces(labels)} ${count}\n`,
    ];
  });
  return [`# HELP ${shown} ${description}.\n# TYPE ${shown} ${kind}\n`, ...lines].join("");
}

function braces(labels: readonly string[]): string {
  return labels.length === 0 ? "" : `{${labels.join(",")}}`;
}

function escapeLabel(text: string): string {
  const quoted = text.slice(0, 200).replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
  return quoted.replace(/[\p{Cc}\p{Cf}]/gu, "?");
}
