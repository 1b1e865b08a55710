import { isObject } from "compact-context/internal/errors";
import {
  eventLayers,
  jsonText,
  listIn,
  namedLines,
  numberIn,
  outcomeOf,
  recordIn,
  type ToldLayers,
  textIn,
  triggerWords,
} from "./message-view.ts";
import type { SessionRecord } from "./session-record.ts";
import type { CompactionHead, LayerKey, MessageOutcome, Outcome, SpanView } from "./session-view.ts";

/** An event of ours, whichever way it came. */
export interface ToldEvent {
  readonly name: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly status: "ok" | "error";
  readonly properties: Readonly<Record<string, unknown>>;
  readonly payload?: unknown;
}

/** Turns events into spans, and into the steps and compactions that they speak of. */
export interface EventReader {
  /** Both. */
  add(event: ToldEvent): void;
  /** Steps and compactions alone, for events whose spans are known already. */
  learn(event: ToldEvent): void;
  /** The text of a compaction's summary, by the compaction's place. */
  summaryOf(compaction: number): string | undefined;
  /** What became of the messages of a compaction's list, those that fared alike as one; empty where it was not told. */
  outcomesOf(compaction: number): readonly MessageOutcome[];
}

interface EventReaderOptions {
  readonly record: SessionRecord;
  /** True where steps and compactions are told better by somebody else. */
  readonly spansOnly: boolean;
  /** Where a compaction stands in the session when its archive step is known; where left out, messages are not known. */
  readonly messagesOf?: (archiveStep: number) => number;
}

/** What is known of a compaction that is not done yet. */
interface Round {
  startedAt: string;
  failed: boolean;
  reason?: string;
  policy: CompactionHead["policy"];
  summary?: { readonly text: string; readonly properties: ToldEvent["properties"] };
  archival?: ToldEvent["properties"];
  failures: string[];
}

/** Reads the events of one session in their order. */
export function createEventReader(options: EventReaderOptions): EventReader {
  const { record, spansOnly } = options;
  const summaries = new Map<number, string>();
  const outcomes = new Map<number, readonly MessageOutcome[]>();
  const spans = createSpanTree(record);
  let round: Round | undefined;
  /** What the last compaction left, by layer. */
  let left: ToldLayers = {};

  const opened = (event: ToldEvent): Round => {
    round ??= { startedAt: event.startedAt, failed: false, policy: [], failures: [] };
    return round;
  };
  const readers: Readonly<Record<string, (event: ToldEvent) => void>> = {
    "compact.token_estimate": (event) => {
      round = undefined;
      estimated(record, event, left);
    },
    "compact.archival": (event) => {
      opened(event).archival = event.properties;
    },
    "compact.trigger_decision": (event) => {
      thresholds(record, event);
      if (event.properties.triggered !== true) return;
      const known = opened(event);
      known.reason = textIn(event.properties, "reason") ?? "";
      known.policy = policyOf(event);
    },
    "compact.summary_created": (event) => {
      opened(event).summary = {
        text: typeof event.payload === "string" ? event.payload : "",
        properties: event.properties,
      };
    },
    "compact.error": ({ properties }) => {
      const words = `${textIn(properties, "message") ?? ""}; ${textIn(properties, "fallback") ?? "nothing"} instead`;
      round?.failures.push(words);
    },
    "compact.pruned_messages": (event) => {
      const known = opened(event);
      const sizes = recordIn(event.properties, "layer_tokens");
      const summary = numberIn(known.summary?.properties, "summary_tokens") ?? left.summary ?? 0;
      // Instructions in the list are pinned, and have layers of their own.
      const fixed = (record.steps.at(-1)?.tokens ?? []).slice(0, 3).reduce((sum, each) => sum + each, 0);
      const before = toldLayers(recordIn(sizes, "before"), fixed) ?? {};
      left = toldLayers(recordIn(sizes, "after"), fixed) ?? { summary };
      const made = compacted(options, known, {
        event,
        before,
        after: left,
      });
      outcomes.set(made.index, toldOutcomes(event));
      if (round?.summary !== undefined) summaries.set(made.index, round.summary.text);
      round = undefined;
    },
  };
  const learn = (event: ToldEvent): void => {
    // A name is anybody's: `__proto__` is none of ours.
    if (Object.hasOwn(readers, event.name)) readers[event.name]?.(event);
  };
  return {
    learn,
    add(event) {
      spans.add(event);
      if (!spansOnly) learn(event);
    },
    summaryOf: (compaction) => summaries.get(compaction),
    outcomesOf: (compaction) => outcomes.get(compaction) ?? [],
  };
}

/** The spans of events: those of one compaction stand below a span of its own. */
function createSpanTree(record: SessionRecord): { add(event: ToldEvent): void } {
  let count = 0;
  let round: { readonly id: string; startedAt: string; failed: boolean } | undefined;
  const nextId = (): string => {
    count += 1;
    return `${record.id}#${count}`;
  };
  const closeRound = (endedAt: string): void => {
    if (round === undefined) return;
    const { id, startedAt: start, failed } = round;
    const status = failed ? "error" : "ok";
    record.addSpan(spanView({ id, name: "compact", start, end: later(start, endedAt), status, data: {} }));
    round = undefined;
  };
  return {
    add(event) {
      const { name, startedAt, endedAt, status, properties, payload } = event;
      if (name === "compact.token_estimate") round = undefined;
      if (name === "compact.archival") round ??= { id: nextId(), startedAt, failed: false };
      stretch(round, event);
      const data = payload === undefined ? properties : { ...properties, output: payload };
      const times = { start: startedAt, end: later(startedAt, endedAt) };
      record.addSpan(spanView({ id: nextId(), parent: round?.id, name, ...times, status, data }));
      if (name === "compact.pruned_messages") closeRound(endedAt);
    },
  };
}

/** A compaction began when its first step did, and failed when one of them did. */
function stretch(round: { startedAt: string; failed: boolean } | undefined, event: ToldEvent): void {
  if (round === undefined) return;
  if (event.startedAt < round.startedAt) round.startedAt = event.startedAt;
  round.failed ||= event.status === "error";
}

function later(one: string, other: string): string {
  return one > other ? one : other;
}

function estimated(record: SessionRecord, { properties, startedAt }: ToldEvent, left: ToldLayers): void {
  const parts = recordIn(properties, "breakdown");
  const fixed = ["tools_schema", "system", "developer"].map((name) => numberIn(parts, name) ?? 0);
  const tokens = eventLayers(fixed, left, numberIn(properties, "t_est") ?? 0);
  const model = textIn(properties, "model");
  record.amend({
    window: numberIn(properties, "max_tokens") ?? 0,
    model: model === undefined || model === "unknown" ? undefined : model,
  });
  record.addStep({ at: startedAt, messages: 0, tokens });
}

function thresholds(record: SessionRecord, { properties }: ToldEvent): void {
  const policy = recordIn(properties, "policy");
  const { window } = record.head();
  const share = numberIn(policy, "trigger_pct");
  const buffer = numberIn(policy, "hard_cap_buffer");
  if (window === 0 || share === undefined) return;
  const budget = window - (buffer ?? 0);
  record.amend({ trigger: Math.min(budget, Math.ceil(window * share)), budget });
}

function policyOf({ properties }: ToldEvent): CompactionHead["policy"] {
  const policy = recordIn(properties, "policy");
  const kept = recordIn(properties, "kept");
  const share = numberIn(policy, "trigger_pct");
  return namedLines({
    trigger: share === undefined ? undefined : triggerWords(share),
    "kept free": numberIn(policy, "hard_cap_buffer"),
    strategy: textIn(policy, "strategy"),
    "recent turns": numberIn(kept, "recent_turns"),
    "tool pairs": numberIn(kept, "tool_pairs"),
    note: textIn(properties, "note"),
  });
}

function compacted(
  { record, messagesOf }: EventReaderOptions,
  round: Round,
  {
    event,
    before: told,
    after: left,
  }: { readonly event: ToldEvent; readonly before: ToldLayers; readonly after: ToldLayers },
): CompactionHead {
  const { properties } = event;
  const before = numberIn(properties, "tokens_before") ?? record.steps.at(-1)?.total ?? 0;
  const after = numberIn(properties, "tokens_after") ?? before;
  const archiveStep = numberIn(round.archival, "step");
  const last = record.steps.at(-1);
  // A compaction by hand comes without an estimate of its own.
  if (last === undefined || last.compaction !== undefined || round.reason === "manual") {
    record.addStep({
      at: round.startedAt,
      messages: last?.messages ?? 0,
      tokens: eventLayers([], told, before),
    });
  }
  const step = record.steps.at(-1);
  const made = record.addCompaction({
    step: record.steps.length - 1,
    at: round.startedAt,
    durationMs: Math.max(0, Date.parse(event.endedAt) - Date.parse(round.startedAt)),
    reason: round.reason,
    tokensBefore: before,
    tokensAfter: after,
    ...messageCounts(round, properties),
    policy: round.policy,
    ...summaryFacts(round),
    archive:
      archiveStep === undefined
        ? undefined
        : { step: archiveStep, location: textIn(round.archival, "location") ?? "" },
    failures: round.failures,
  });
  record.amendStep({
    compaction: made.index,
    before: eventLayers(step?.tokens ?? [], told, before),
    tokens: eventLayers(step?.tokens ?? [], left, after),
    messages: messagesOf === undefined || archiveStep === undefined ? undefined : messagesOf(archiveStep),
  });
  return made;
}

/** The names of the layers in an event; the fixed parts are told by the estimate. */
const TOLD_LAYERS: Readonly<Record<string, LayerKey>> = {
  pinned: "pinned",
  summary: "summary",
  remainder: "remainder",
  tool_pairs: "toolPairs",
  recent: "recent",
};

/** `fixed`: tokens of tools and instructions, wherever they stand. */
function toldLayers(
  sizes: Readonly<Record<string, unknown>> | undefined,
  fixed: number,
): ToldLayers | undefined {
  if (sizes === undefined) return undefined;
  const told = Object.entries(TOLD_LAYERS).map(([name, layer]) => [layer, numberIn(sizes, name) ?? 0]);
  const layers: ToldLayers = Object.fromEntries(told);
  const inList = Math.max(0, fixed - (numberIn(sizes, "fixed") ?? 0));
  return { ...layers, pinned: Math.max(0, (layers.pinned ?? 0) - inList) };
}

/** Most runs of messages that are kept of one compaction. */
const MAX_RUNS = 500;

/** What became of the messages, run by run: an event names no texts. */
function toldOutcomes({ properties }: ToldEvent): MessageOutcome[] {
  return (listIn(properties, "actions") ?? []).slice(0, MAX_RUNS).map((run) => {
    const [from, to] = [numberIn(run, "from") ?? 0, numberIn(run, "to") ?? 0];
    const name = textIn(run, "layer") ?? "";
    const layer = Object.hasOwn(TOLD_LAYERS, name) ? TOLD_LAYERS[name] : undefined;
    return {
      role: "",
      kind: layer === "summary" ? "summary" : "text",
      layer: layer ?? "messages",
      outcome: outcomeOf({ action: textIn(run, "action") }),
      tokens: numberIn(run, "tokens_before") ?? 0,
      tokensAfter: numberIn(run, "tokens_after") ?? 0,
      preview:
        from === to ? `message ${from + 1} of the list` : `messages ${from + 1} to ${to + 1} of the list`,
    };
  });
}

function summaryFacts({ summary }: Round): Partial<CompactionHead> {
  const tokens = numberIn(summary?.properties, "summary_tokens");
  const summarizer = textIn(summary?.properties, "summarizer");
  return { summaryTokens: tokens, summarizer };
}

function messageCounts(round: Round, properties: ToldEvent["properties"]): Partial<CompactionHead> {
  const layers = recordIn(properties, "layers");
  const after = ["pinned", "summary", "recent"].reduce((sum, name) => sum + (numberIn(layers, name) ?? 0), 0);
  const before = numberIn(round.archival, "messages");
  const summarized = numberIn(properties, "pruned_count");
  const cleared = numberIn(properties, "cleared_count") ?? 0;
  const outcomes: Partial<Record<Outcome, number>> = {};
  if (summarized !== undefined) outcomes.summarized = summarized;
  if (cleared > 0) outcomes.cleared = cleared;
  if (before !== undefined) outcomes.kept = Math.max(0, before - (summarized ?? 0) - cleared);
  return {
    messagesAfter: after,
    messagesBefore: before,
    outcomes: summarized === undefined ? undefined : outcomes,
  };
}

/** Longest value of an attribute that is kept: the whole summary is shown with its compaction. */
const LONGEST = 4000;
const MAX_ATTRIBUTES = 64;

/** A span before its times are compared. */
export interface SpanDraft extends Omit<SpanView, "durationMs" | "attributes"> {
  readonly data: Readonly<Record<string, unknown>>;
}

/** A span as the page shows it. */
export function spanView({ id, parent, name, start, end, status, data }: SpanDraft): SpanView {
  const took = start === undefined || end === undefined ? Number.NaN : Date.parse(end) - Date.parse(start);
  return {
    id: id.slice(0, 200),
    parent: parent?.slice(0, 200),
    name: name.slice(0, 200),
    start,
    end,
    durationMs: Number.isNaN(took) ? undefined : Math.max(0, took),
    status,
    attributes: attributesOf(data),
  };
}

/** Names and values, those of an object inside by `outer.inner`. */
function attributesOf(data: Readonly<Record<string, unknown>>): SpanView["attributes"] {
  const attributes: { name: string; value: string }[] = [];
  const add = (name: string, value: unknown): void => {
    if (attributes.length < MAX_ATTRIBUTES && value !== undefined) {
      attributes.push({ name: name.slice(0, 200), value: shown(value) });
    }
  };
  for (const [name, value] of Object.entries(data)) {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      for (const [inner, one] of Object.entries(value)) add(`${name}.${inner}`, one);
    } else add(name, value);
  }
  return attributes;
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : jsonText(value);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`;
}

/** An event of `events.jsonl` with its session; undefined for a line that is none. */
export function readEventLine(line: string): (ToldEvent & { readonly sessionId: string }) | undefined {
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
    payload: isObject(value) ? value.payload : undefined,
  };
}

function isTime(text: string | undefined): text is string {
  return text !== undefined && !Number.isNaN(Date.parse(text));
}
