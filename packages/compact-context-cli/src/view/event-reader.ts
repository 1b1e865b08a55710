import type { LayerName } from "compact-context/internal/core/report";
import { type JsonRecord, recordOf, stringOf } from "../transcripts/json.ts";
import {
  eventLayers,
  formatTrigger,
  jsonText,
  type LayerTokens,
  listIn,
  namedValues,
  numberIn,
  outcomeOf,
  recordIn,
  sum,
  textIn,
} from "./message-view.ts";
import type { CompactedList } from "./originals.ts";
import type { SessionRecord } from "./session-record.ts";
import type { CompactionHead, MessageOutcome, SpanView } from "./session-view.ts";

/** An event of Compact, from a file or from Ariadne's protocol. */
export interface TracedEvent {
  readonly name: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly status: "ok" | "error";
  readonly properties: Readonly<Record<string, unknown>>;
  readonly payload?: unknown;
}

/** Turns events into spans, steps and compactions. */
export interface EventReader {
  /** Adds the span and applies the event. */
  add(event: TracedEvent): void;
  /** Adds only steps and compactions, for events whose spans are already recorded. */
  apply(event: TracedEvent): void;
  /** The summary of each compaction, and its outcomes in runs of messages. */
  readonly compactions: readonly CompactedList[];
}

/** A compaction whose last event has not arrived yet. */
interface PendingCompaction {
  readonly startedAt: string;
  reason?: string;
  policy: CompactionHead["policy"];
  summary?: TracedEvent;
  archival?: TracedEvent["properties"];
  readonly failures: string[];
}

/** The number of a session's messages before an archive step. */
type MessagesOf = (archiveStep: number) => number;

/** Reads the events of one session in order. */
export function createEventReader(record: SessionRecord, messagesOf?: MessagesOf): EventReader {
  const compactions: CompactedList[] = [];
  const addSpan = createSpanTree(record);
  let pending: PendingCompaction | undefined;
  /** Tokens after the last compaction. */
  let left: LayerTokens = {};

  const pendingFor = ({ startedAt }: TracedEvent): PendingCompaction => {
    pending ??= { startedAt, policy: [], failures: [] };
    return pending;
  };
  const handlers: Readonly<Record<string, (event: TracedEvent) => void>> = {
    "compact.token_estimate": (event) => {
      pending = undefined;
      addEstimatedStep(record, event, left);
    },
    "compact.archival": (event) => {
      pendingFor(event).archival = event.properties;
    },
    "compact.trigger_decision": (event) => {
      amendLimits(record, event);
      if (event.properties.triggered !== true) return;
      const compaction = pendingFor(event);
      compaction.reason = textIn(event.properties, "reason") ?? "";
      compaction.policy = policyOf(event);
    },
    "compact.summary_created": (event) => {
      pendingFor(event).summary = event;
    },
    "compact.error": ({ properties }) => {
      const failure = `${textIn(properties, "message") ?? ""}; ${textIn(properties, "fallback") ?? "nothing"} instead`;
      pending?.failures.push(failure);
    },
    "compact.pruned_messages": (event) => {
      const compaction = pendingFor(event);
      const sizes = recordIn(event.properties, "layer_tokens");
      const summary = numberIn(compaction.summary?.properties, "summary_tokens") ?? left.summary ?? 0;
      const fixed = sum((record.steps.at(-1)?.tokens ?? []).slice(0, 3));
      const before = layerTokens(recordIn(sizes, "before"), fixed) ?? left;
      left = layerTokens(recordIn(sizes, "after"), fixed) ?? { summary };
      addCompaction(record, compaction, event, { before, after: left, messagesOf });
      compactions.push({ entries: outcomesIn(event), summary: stringOf(compaction.summary?.payload) ?? "" });
      pending = undefined;
    },
  };
  const apply = (event: TracedEvent): void => {
    // Event names are untrusted: `__proto__` must not find an inherited property.
    if (Object.hasOwn(handlers, event.name)) handlers[event.name]?.(event);
  };
  return {
    compactions,
    apply,
    add(event) {
      addSpan(event);
      apply(event);
    },
  };
}

interface OpenSpan {
  readonly id: string;
  startedAt: string;
  failed: boolean;
}

/** Gives a function that adds an event's span; those of one compaction become children of a span of their own. */
export function createSpanTree(record: SessionRecord): (event: TracedEvent) => void {
  let count = 0;
  let parent: OpenSpan | undefined;
  const nextId = (): string => {
    count += 1;
    return `${record.id}#${count}`;
  };
  const closeParent = (endedAt: string): void => {
    if (parent === undefined) return;
    const { id, startedAt: start, failed } = parent;
    const status = failed ? "error" : "ok";
    record.addSpan(spanView({ id, name: "compact", start, end: later(start, endedAt), status, data: {} }));
    parent = undefined;
  };
  return ({ name, startedAt, endedAt, status, properties, payload }) => {
    if (name === "compact.token_estimate") parent = undefined;
    if (name === "compact.archival") parent ??= { id: nextId(), startedAt, failed: false };
    if (parent !== undefined) {
      // A compaction starts with its first event and fails with any of them.
      if (startedAt < parent.startedAt) parent.startedAt = startedAt;
      parent.failed ||= status === "error";
    }
    const data = payload === undefined ? properties : { ...properties, output: payload };
    const times = { start: startedAt, end: later(startedAt, endedAt) };
    record.addSpan(spanView({ id: nextId(), parent: parent?.id, name, ...times, status, data }));
    if (name === "compact.pruned_messages") closeParent(endedAt);
  };
}

function later(one: string, other: string): string {
  return one > other ? one : other;
}

function addEstimatedStep(
  record: SessionRecord,
  { properties, startedAt }: TracedEvent,
  left: LayerTokens,
): void {
  const parts = recordIn(properties, "breakdown");
  const fixed = ["tools_schema", "system", "developer"].map((name) => numberIn(parts, name) ?? 0);
  const tokens = eventLayers(fixed, left, numberIn(properties, "t_est") ?? 0);
  const model = textIn(properties, "model");
  record.amend({
    window: numberIn(properties, "max_tokens") ?? 0,
    model: model === "unknown" ? undefined : model,
  });
  record.addStep({ at: startedAt, messages: 0, tokens });
}

function amendLimits(record: SessionRecord, { properties }: TracedEvent): void {
  const policy = recordIn(properties, "policy");
  const { window } = record.head();
  const share = numberIn(policy, "trigger_pct");
  if (window === 0 || share === undefined) return;
  const budget = window - (numberIn(policy, "hard_cap_buffer") ?? 0);
  record.amend({ trigger: Math.min(budget, Math.ceil(window * share)), budget });
}

function policyOf({ properties }: TracedEvent): CompactionHead["policy"] {
  const policy = recordIn(properties, "policy");
  const kept = recordIn(properties, "kept");
  const share = numberIn(policy, "trigger_pct");
  return namedValues({
    trigger: share === undefined ? undefined : formatTrigger(share),
    "kept free": numberIn(policy, "hard_cap_buffer"),
    strategy: textIn(policy, "strategy"),
    "recent turns": numberIn(kept, "recent_turns"),
    "tool pairs": numberIn(kept, "tool_pairs"),
    note: textIn(properties, "note"),
  });
}

/** Adds a compaction with its last event and the tokens by layer before and after it. */
function addCompaction(
  record: SessionRecord,
  { startedAt, reason, policy, summary, archival, failures }: PendingCompaction,
  { properties, endedAt }: TracedEvent,
  { before, after, messagesOf }: Record<"before" | "after", LayerTokens> & { messagesOf?: MessagesOf },
): void {
  const last = record.steps.at(-1);
  const tokensBefore = numberIn(properties, "tokens_before") ?? last?.total ?? 0;
  const tokensAfter = numberIn(properties, "tokens_after") ?? tokensBefore;
  const archiveStep = numberIn(archival, "step");
  const layers = recordIn(properties, "layers");
  // A manual compaction has no estimate of its own.
  if (last === undefined || last.compaction !== undefined || reason === "manual") {
    const tokens = eventLayers([], before, tokensBefore);
    record.addStep({ at: startedAt, messages: last?.messages ?? 0, tokens });
  }
  const fixed = record.steps.at(-1)?.tokens ?? [];
  const { index } = record.addCompaction({
    step: record.steps.length - 1,
    at: startedAt,
    // A record of the archive has one time, and no duration.
    durationMs: Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)) || undefined,
    reason,
    tokensBefore,
    tokensAfter,
    messagesBefore: numberIn(archival, "messages"),
    messagesAfter: layers && sum(["pinned", "summary", "recent"].map((name) => numberIn(layers, name) ?? 0)),
    policy,
    summaryTokens: numberIn(summary?.properties, "summary_tokens"),
    summarizer: textIn(summary?.properties, "summarizer"),
    archiveStep,
    failures,
  });
  record.amendStep({
    compaction: index,
    before: eventLayers(fixed, before, tokensBefore),
    tokens: eventLayers(fixed, after, tokensAfter),
    messages: archiveStep === undefined ? undefined : messagesOf?.(archiveStep),
  });
}

/** The layers by their names in an event; the fixed parts come with the estimate. */
export const EVENT_NAMES: Readonly<Record<LayerName, string>> = {
  pinned: "pinned",
  summary: "summary",
  remainder: "remainder",
  toolPairs: "tool_pairs",
  recent: "recent",
};

/** `fixed`: all tokens of tools and instructions. Those in the list count as pinned, but have layers of their own. */
function layerTokens(sizes: JsonRecord | undefined, fixed: number): LayerTokens | undefined {
  if (sizes === undefined) return undefined;
  const layers: LayerTokens = Object.fromEntries(
    Object.entries(EVENT_NAMES).map(([layer, name]) => [layer, numberIn(sizes, name) ?? 0]),
  );
  const inList = Math.max(0, fixed - (numberIn(sizes, "fixed") ?? 0));
  return { ...layers, pinned: Math.max(0, (layers.pinned ?? 0) - inList) };
}

/** Per compaction. */
const MAX_RUNS = 500;

/** One row for each run of messages: an event holds no texts. */
function outcomesIn({ properties }: TracedEvent): MessageOutcome[] {
  return (listIn(properties, "actions") ?? []).slice(0, MAX_RUNS).map((run) => {
    const [from, to] = [numberIn(run, "from") ?? 0, numberIn(run, "to") ?? 0];
    return {
      role: "",
      kind: "text",
      outcome: outcomeOf(textIn(run, "action")),
      tokens: numberIn(run, "tokens_before") ?? 0,
      tokensAfter: numberIn(run, "tokens_after") ?? 0,
      preview:
        from === to ? `message ${from + 1} of the list` : `messages ${from + 1} to ${to + 1} of the list`,
    };
  });
}

/** Longer values are truncated; the whole summary is shown with its compaction. */
const MAX_VALUE_LENGTH = 4000;
const MAX_ATTRIBUTES = 64;

/** A received span: without a duration, with nested attributes. */
interface SpanDraft extends Omit<SpanView, "durationMs" | "attributes"> {
  readonly data: Readonly<Record<string, unknown>>;
}

/** A span as the page shows it. */
export function spanView({ id, parent, name, start, end, status, data }: SpanDraft): SpanView {
  const durationMs = Date.parse(end ?? "") - Date.parse(start ?? "");
  return {
    id: id.slice(0, 200),
    parent: parent?.slice(0, 200),
    name: name.slice(0, 200),
    start,
    end,
    durationMs: Number.isNaN(durationMs) ? undefined : Math.max(0, durationMs),
    status,
    attributes: attributesOf(data),
  };
}

/** Flat names and values; those of a nested object are named `outer.inner`. */
function attributesOf(data: Readonly<Record<string, unknown>>): SpanView["attributes"] {
  const attributes: { name: string; value: string }[] = [];
  const add = (name: string, value: unknown): void => {
    if (attributes.length < MAX_ATTRIBUTES && value !== undefined) {
      attributes.push({ name: name.slice(0, 200), value: valueText(value) });
    }
  };
  for (const [name, value] of Object.entries(data)) {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      for (const [inner, innerValue] of Object.entries(value)) add(`${name}.${inner}`, innerValue);
    } else add(name, value);
  }
  return attributes;
}

function valueText(value: unknown): string {
  const text = typeof value === "string" ? value : jsonText(value);
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH)}…`;
}

/** An event of `events.jsonl` with its session; undefined for a line that is not an event. */
export function readEventLine(line: string): (TracedEvent & { readonly sessionId: string }) | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const [name, sessionId] = [textIn(value, "name"), textIn(value, "session_id")];
  const startedAt = textIn(value, "started_at");
  if (name === undefined || sessionId === undefined || !isTime(startedAt)) return undefined;
  const endedAt = textIn(value, "ended_at");
  return {
    name,
    sessionId,
    startedAt,
    endedAt: isTime(endedAt) ? endedAt : startedAt,
    status: textIn(value, "status") === "error" ? "error" : "ok",
    properties: recordIn(value, "properties") ?? {},
    payload: recordOf(value).payload,
  };
}

function isTime(text: string | undefined): text is string {
  return text !== undefined && !Number.isNaN(Date.parse(text));
}
