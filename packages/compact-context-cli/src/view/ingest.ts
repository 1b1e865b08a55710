import { isObject } from "compact-context/internal/errors";
import { type SpanDraft, spanView } from "./event-reader.ts";
import { jsonText, recordIn, textIn } from "./message-view.ts";
import type { ViewStore } from "./view-store.ts";

/** Per request. */
const MAX_EVENTS = 2000;

interface IngestedSpan extends SpanDraft {
  readonly traceId: string;
}

interface IngestedTrace {
  readonly traceId: string;
  readonly name: string | undefined;
  readonly ended: boolean;
}

/** A validation error in the format of Ariadne's protocol. */
interface IngestError {
  readonly error: string;
  readonly details: readonly { readonly path: string; readonly message: string }[];
}

/**
 * Stores one event of Ariadne's protocol, or the events of `{batch: [event, …]}`; returns their count or a validation
 * error. One invalid event rejects the whole batch.
 */
export function ingest(body: unknown, store: ViewStore): { readonly count: number } | IngestError {
  const batch = isObject(body) && Object.hasOwn(body, "batch") ? body.batch : [body];
  if (!Array.isArray(batch)) return validationError(["batch"]);
  if (batch.length > MAX_EVENTS) return { error: `More than ${MAX_EVENTS} events at once`, details: [] };
  const events: (IngestedSpan | IngestedTrace)[] = [];
  const invalid: string[] = [];
  for (const [index, value] of batch.entries()) {
    const event = parseEvent(value, `batch.${index}`);
    if (typeof event === "string") invalid.push(event);
    else events.push(event);
  }
  if (invalid.length > 0) return validationError(invalid);
  for (const event of events) {
    if ("data" in event) addSpan(event, store);
    else applyTrace(event, store);
  }
  return { count: batch.length };
}

function validationError(paths: readonly string[]): IngestError {
  return {
    error: "Validation failed",
    details: paths.slice(0, 20).map((path) => ({ path, message: "Invalid input" })),
  };
}

function addSpan({ traceId, ...span }: IngestedSpan, store: ViewStore): void {
  const { name, start, end, status } = span;
  const size = jsonText(span.data).length + name.length;
  const session = store.eventSession((textIn(span.data, "session_id") ?? traceId).slice(0, 200), size);
  const { session_id: _, ...data } = span.data;
  session.addSpan(spanView({ ...span, data }));
  if (!name.startsWith("compact.") || start === undefined || end === undefined) return;
  const { output, ...properties } = data;
  session.reader.apply({ name, startedAt: start, endedAt: end, status, properties, payload: output });
}

/** A trace sets its session's title and end; without spans it creates no session. */
function applyTrace({ traceId, name, ended }: IngestedTrace, store: ViewStore): void {
  const record = store.get(traceId);
  if (record?.source !== "events") return;
  record.amend({
    title: name?.slice(0, 200),
    live: ended ? false : undefined,
  });
}

/** The parsed event, or the path of its first invalid field. */
function parseEvent(event: unknown, path: string): IngestedSpan | IngestedTrace | string {
  if (!isObject(event)) return path;
  const type = textIn(event, "type");
  if (type !== "span" && type !== "trace") return `${path}.type`;
  const invalid = invalidField(event, type);
  if (invalid !== undefined) return `${path}.${invalid}`;
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
/** ISO 8601 in UTC, which the protocol requires. */
const isTime: Check = (value) =>
  typeof value === "string" &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?Z$/.test(value) &&
  !Number.isNaN(Date.parse(value));
const isTexts: Check = (value) => isObject(value) && Object.values(value).every(isText);
const isStatus: Check = (value) => value === "ok" || value === "error";

const REQUIRED: Readonly<Record<"span" | "trace", readonly string[]>> = {
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

function invalidField(event: Readonly<Record<string, unknown>>, type: "span" | "trace"): string | undefined {
  const missing = REQUIRED[type].find((name) => !Object.hasOwn(event, name));
  if (missing !== undefined) return missing;
  const invalid = Object.entries(CHECKS).find(
    ([name, check]) => Object.hasOwn(event, name) && !check(event[name]),
  );
  if (invalid !== undefined) return invalid[0];
  const [start, end] = [textIn(event, "started_at"), textIn(event, "ended_at")];
  return start !== undefined && end !== undefined && Date.parse(end) < Date.parse(start)
    ? "ended_at"
    : undefined;
}
