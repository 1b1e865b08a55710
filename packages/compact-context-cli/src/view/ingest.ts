import { isObject } from "compact-context/internal/errors";
import { spanView } from "./event-reader.ts";
import { jsonText, recordIn, textIn } from "./message-view.ts";
import type { ViewStore } from "./view-store.ts";

/** Per request. */
const MAX_EVENTS = 2000;

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
  const invalid = batch.flatMap((event, index) => invalidPlace(event, `batch.${index}`) ?? []);
  if (invalid.length > 0) return validationError(invalid);
  for (const event of batch) {
    if (textIn(event, "type") === "span") addSpan(event, store);
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

function addSpan(event: unknown, store: ViewStore): void {
  const traceId = textIn(event, "trace_id") ?? "";
  const name = textIn(event, "name") ?? textIn(event, "kind") ?? "span";
  const [start, end] = [textIn(event, "started_at"), textIn(event, "ended_at")];
  const status = textIn(event, "status") === "error" ? "error" : "ok";
  const { session_id: _, ...data } = recordIn(event, "data") ?? {};
  const sessionId = textIn(recordIn(event, "data"), "session_id") ?? traceId;
  const size = jsonText(data).length + name.length;
  const session = store.eventSession(sessionId.slice(0, 200), size);
  const id = textIn(event, "span_id") ?? "";
  session.addSpan(spanView({ id, parent: textIn(event, "parent_id"), name, start, end, status, data }));
  if (!name.startsWith("compact.") || start === undefined || end === undefined) return;
  const { output: payload, ...properties } = data;
  session.reader.apply({ name, startedAt: start, endedAt: end, status, properties, payload });
}

/** A trace sets its session's title and end; without spans it creates no session. */
function applyTrace(event: unknown, store: ViewStore): void {
  const record = store.get(textIn(event, "trace_id") ?? "");
  if (record?.source !== "events") return;
  const live = textIn(event, "ended_at") === undefined ? undefined : false;
  record.amend({ title: textIn(event, "name")?.slice(0, 200), live });
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

/** The path of an event's first invalid field. */
function invalidPlace(event: unknown, path: string): string | undefined {
  if (!isObject(event)) return path;
  const type = textIn(event, "type");
  if (type !== "span" && type !== "trace") return `${path}.type`;
  const given = (name: string): boolean => Object.hasOwn(event, name);
  const invalid =
    REQUIRED[type].find((name) => !given(name)) ??
    Object.keys(CHECKS).find((name) => given(name) && CHECKS[name]?.(event[name]) === false);
  if (invalid !== undefined) return `${path}.${invalid}`;
  const [start, end] = [textIn(event, "started_at"), textIn(event, "ended_at")];
  const isBackwards = start !== undefined && end !== undefined && Date.parse(end) < Date.parse(start);
  return isBackwards ? `${path}.ended_at` : undefined;
}
