import { isObject } from "compact-context/internal/errors";
import { type SpanDraft, spanView } from "./event-reader.ts";
import { jsonText, recordIn, textIn } from "./message-view.ts";
import type { ViewStore } from "./view-store.ts";

/** Most events of one request. */
const MAX_EVENTS = 2000;

interface IngestedSpan extends SpanDraft {
  readonly traceId: string;
}

interface IngestedTrace {
  readonly traceId: string;
  readonly name: string | undefined;
  readonly ended: boolean;
}

/** What is wrong with a body, as Ariadne tells it. */
interface IngestRefusal {
  readonly error: string;
  readonly details: readonly { readonly path: string; readonly message: string }[];
}

/**
 * Takes in one event of Ariadne's protocol, or `{batch: [event, …]}`: how many there were, or what is wrong. One bad
 * event refuses the whole batch.
 */
export function ingest(body: unknown, store: ViewStore): { readonly count: number } | IngestRefusal {
  const batch = isObject(body) && Object.hasOwn(body, "batch") ? body.batch : [body];
  if (!Array.isArray(batch)) return refusal("batch");
  if (batch.length > MAX_EVENTS) return { error: `More than ${MAX_EVENTS} events at once`, details: [] };
  const read = batch.map((event, index) => readEvent(event, `batch.${index}`));
  const wrong = read.filter((one): one is string => typeof one === "string");
  if (wrong.length > 0) return refusal(...wrong);
  for (const event of read) {
    if (typeof event === "string") continue;
    if ("data" in event) takeSpan(event, store);
    else takeTrace(event, store);
  }
  return { count: batch.length };
}

function refusal(...paths: string[]): IngestRefusal {
  return {
    error: "Validation failed",
    details: paths.slice(0, 20).map((path) => ({ path, message: "Invalid input" })),
  };
}

function takeSpan({ traceId, ...span }: IngestedSpan, store: ViewStore): void {
  const { name, start, end, status } = span;
  const weight = jsonText(span.data).length + name.length;
  const session = store.told((textIn(span.data, "session_id") ?? traceId).slice(0, 200), weight);
  const { session_id: _, ...data } = span.data;
  session.addSpan(spanView({ ...span, data }));
  if (!name.startsWith("compact.") || start === undefined || end === undefined) return;
  const { output, ...properties } = data;
  session.reader.learn({ name, startedAt: start, endedAt: end, status, properties, payload: output });
}

/** A trace says how its session is called, and that it is over; by itself it is no session. */
function takeTrace({ traceId, name, ended }: IngestedTrace, store: ViewStore): void {
  const record = store.get(traceId);
  if (record?.source !== "events") return;
  record.amend({
    title: name?.slice(0, 200),
    live: ended ? false : undefined,
  });
}

/** The path of what is wrong where it is no event. */
function readEvent(event: unknown, path: string): IngestedSpan | IngestedTrace | string {
  if (!isObject(event)) return path;
  const type = textIn(event, "type");
  if (type !== "span" && type !== "trace") return `${path}.type`;
  const wrong = wrongField(event, type);
  if (wrong !== undefined) return `${path}.${wrong}`;
  const traceId = textIn(event, "trace_id") ?? "";
  const name = textIn(event, "name");
  if (type === "trace") return { traceId, name, ended: textIn(event, "ended_at") !== undefined };
  return {
    traceId,
    id: textIn(event, "span_id") ?? "",
    parent: textIn(event, "parent_id"),
    name: name ?? textIn(event, "kind") ?? "span",
    start: textIn(event, "started_at"),
    end: textIn(event, "ended_at"),
    status: textIn(event, "status") === "error" ? "error" : "ok",
    data: recordIn(event, "data") ?? {},
  };
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isId: Check = (value) => typeof value === "string" && value !== "" && value.length <= 1024;
/** ISO 8601 in UTC, as Ariadne wants it. */
const isTime: Check = (value) =>
  typeof value === "string" &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?Z$/.test(value) &&
  !Number.isNaN(Date.parse(value));
const isTexts: Check = (value) => isObject(value) && Object.values(value).every(isText);
const isStatus: Check = (value) => value === "ok" || value === "error";

const NEEDED: Readonly<Record<"span" | "trace", readonly string[]>> = {
  span: ["trace_id", "span_id"],
  trace: ["trace_id"],
};

const CHECKS: Readonly<Record<string, Check>> = {
  trace_id: isId,
  span_id: isId,
  parent_id: isText,
  kind: isText,
  name: isText,
  group_id: isText,
  started_at: isTime,
  ended_at: isTime,
  data: isObject,
  metadata: isTexts,
  status: isStatus,
};

function wrongField(event: Readonly<Record<string, unknown>>, type: "span" | "trace"): string | undefined {
  const missing = NEEDED[type].find((name) => !Object.hasOwn(event, name));
  if (missing !== undefined) return missing;
  const wrong = Object.entries(CHECKS).find(
    ([name, check]) => Object.hasOwn(event, name) && !check(event[name]),
  );
  if (wrong !== undefined) return wrong[0];
  const [start, end] = [textIn(event, "started_at"), textIn(event, "ended_at")];
  return start !== undefined && end !== undefined && Date.parse(end) < Date.parse(start)
    ? "ended_at"
    : undefined;
}
