import type { Message } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { isCompactionType } from "compact-context/internal/core/message";
import { decodeReadable } from "./entries.ts";
import { defined, isRecord, type JsonRecord, listOf, numberOf, recordOf, stringOf, textOf } from "./json.ts";
import { endSegment, splitAtSummary, usageRecord, withMeta, withSummaryVersion } from "./session.ts";
import type {
  CompactedSession,
  ReadLog,
  RecordFormat,
  RecordReader,
  Segment,
  Session,
  UsageRecord,
  WritePorts,
} from "./transcript.ts";

const TYPES: ReadonlySet<unknown> = new Set([
  "session_meta",
  "turn_context",
  "response_item",
  "event_msg",
  "compacted",
  "world_state",
]);

/** Codex' `rollout-*.jsonl`. */
export const codex: RecordFormat = {
  format: "codex",
  recognises: (record) => isRecord(record) && TYPES.has(record.type) && isRecord(record.payload),
  open: openCodex,
};

interface Item {
  readonly native: JsonRecord;
  readonly timestamp: string | undefined;
}

interface Stretch {
  readonly items: Item[];
  carried: number;
  /** How the stretch before it ended. */
  readonly opaque: boolean;
  readonly usage: { readonly item: number; readonly usage: unknown }[];
}

interface Facts {
  system?: string;
  model?: string;
  sessionId?: string;
  cwd?: string;
  window?: number;
}

function openCodex(log: ReadLog): RecordReader {
  const stretches: Stretch[] = [{ items: [], carried: 0, opaque: false, usage: [] }];
  const facts: Facts = {};
  let ordinal: number | undefined;
  const current = (): Stretch =>
    stretches[stretches.length - 1] ?? { items: [], carried: 0, opaque: false, usage: [] };

  return {
    add(value) {
      const record = recordOf(value);
      const payload = recordOf(record.payload);
      ordinal = numberOf(record.ordinal) ?? ordinal;
      const timestamp = stringOf(record.timestamp);
      switch (record.type) {
        case "response_item":
          current().items.push({ native: payload, timestamp });
          break;
        case "compacted":
          stretches.push(afterCompaction(current(), payload, timestamp));
          break;
        case "session_meta":
          Object.assign(facts, sessionFacts(payload));
          break;
        case "turn_context":
          Object.assign(facts, defined({ model: stringOf(payload.model) }));
          log.leaveOut("turn_context");
          break;
        default:
          noteUsage(payload, current());
          Object.assign(facts, defined({ window: numberOf(recordOf(payload.info).model_context_window) }));
          if (payload.type === "thread_rolled_back") rollBack(current(), payload.num_turns, log);
          log.leaveOut([record.type, payload.type].filter((word) => typeof word === "string").join(" "));
      }
    },
    end: (endsWithNewline) => finish(stretches, facts, { log, endsWithNewline, ordinal }),
  };
}

function sessionFacts(payload: JsonRecord): Facts {
  return defined({
    system: stringOf(recordOf(payload.base_instructions).text),
    sessionId: stringOf(payload.id),
    cwd: stringOf(payload.cwd),
  });
}

/** Codex reports the tokens of a call after its items, in an event. */
function noteUsage(payload: JsonRecord, stretch: Stretch): void {
  if (payload.type !== "token_count") return;
  const usage = recordOf(payload.info).last_token_usage;
  if (usage !== undefined) stretch.usage.push({ item: stretch.items.length - 1, usage });
}

/** The person went back: the last turns are no longer part of the conversation. */
function rollBack(stretch: Stretch, turns: unknown, log: ReadLog): void {
  const starts = stretch.items.flatMap((item, index) => (isTyped(item.native) ? [index] : []));
  const start = starts.at(-Math.max(1, numberOf(turns) ?? 1)) ?? starts[0];
  if (start === undefined) return;
  log.leaveOut("abandoned branch", stretch.items.splice(start).length);
  stretch.carried = Math.min(stretch.carried, start);
  stretch.usage.splice(0, stretch.usage.length, ...stretch.usage.filter((one) => one.item < start));
}

/** A user message that a person typed; Codex puts its own context into user messages, each wrapped in a tag or headed. */
function isTyped(native: JsonRecord): boolean {
  if (native.type !== "message" || native.role !== "user") return false;
  const first = stringOf(recordOf(listOf(native.content)[0]).text) ?? "";
  return !/^\s*(<[a-z_]+>|# AGENTS\.md instructions)/.test(first);
}

/** What Codex continues with: the replacement it wrote down, or, in older files, instructions and user messages with the summary. */
function afterCompaction(before: Stretch, payload: JsonRecord, timestamp: string | undefined): Stretch {
  const summary = textOf(payload.message);
  const replacement = payload.replacement_history;
  const natives = Array.isArray(replacement)
    ? replacement.filter(isRecord)
    : [...before.items.map((item) => item.native).filter(isInstruction), userItem(summary)];
  return {
    items: natives.map((native) => ({ native, timestamp })),
    carried: natives.length,
    opaque: natives.some(({ type }) => isCompactionType(type)),
    usage: [],
  };
}

function isInstruction(native: JsonRecord): boolean {
  return native.type === "message" && native.role !== "assistant";
}

function userItem(text: string): JsonRecord {
  return { type: "message", role: "user", content: [{ type: "input_text", text }] };
}

interface Ending {
  readonly log: ReadLog;
  readonly endsWithNewline: boolean;
  /** Of the last record, in files whose records are numbered. */
  readonly ordinal: number | undefined;
}

function finish(all: readonly Stretch[], facts: Facts, ending: Ending): Session {
  const { log } = ending;
  const natives = all.flatMap((stretch) => stretch.items.map((item) => item.native));
  const { messages: decoded, unreadable } = decodeReadable("openai-responses", natives, "response_item", log);
  const stretches = all.map((stretch) => without(stretch, unreadable));
  const segments: Segment[] = [];
  const usage: UsageRecord[] = [];
  let start = 0;
  stretches.forEach((stretch, segment) => {
    const messages = stretch.items.map((item, index) => finishMessage(decoded[start + index], item));
    start += stretch.items.length;
    usage.push(...usageOf(stretch, segment));
    const one = { messages: messages.filter((message) => message !== undefined), carried: stretch.carried };
    const next = stretches[segment + 1];
    if (next === undefined) segments.push(one);
    else endSegment(segments, one, { kind: next.opaque ? "opaque" : "summary", ...tokensBefore(stretch) });
  });
  return {
    format: "codex",
    list: "openai-responses",
    segments,
    usage,
    ...facts,
    leftOut: log.leftOut(),
    write: (compacted, ports) => ({
      mode: "append",
      chunks: writeCodex(compacted, ports, ending),
    }),
  };
}

/** The stretch without these items; what counts items is moved along. */
function without(stretch: Stretch, unreadable: ReadonlySet<unknown>): Stretch {
  if (unreadable.size === 0) return stretch;
  const readable = (item: Item): boolean => !unreadable.has(item.native);
  const before = (end: number): number => stretch.items.slice(0, end).filter(readable).length;
  return {
    ...stretch,
    items: stretch.items.filter(readable),
    carried: before(stretch.carried),
    usage: stretch.usage.map(({ item, usage }) => ({ item: before(item + 1) - 1, usage })),
  };
}

function usageOf(stretch: Stretch, segment: number): UsageRecord[] {
  return stretch.usage.flatMap(({ item, usage }) => {
    // The event right after a compaction repeats the count of the compacted prompt.
    if (item < stretch.carried) return [];
    const index = lastAnswer(stretch, item);
    const record = index === undefined ? undefined : usageRecord("codex", usage, { segment, index });
    return record === undefined ? [] : [record];
  });
}

/** The first item of the answer: results may already stand behind it when the event arrives. */
function lastAnswer(stretch: Stretch, item: number): number | undefined {
  let index = item;
  while (index >= stretch.carried && !isAnswer(stretch.items[index]?.native)) index -= 1;
  while (index > stretch.carried && isAnswer(stretch.items[index - 1]?.native)) index -= 1;
  return index < stretch.carried ? undefined : index;
}

function isAnswer(native: JsonRecord | undefined): boolean {
  const type = stringOf(native?.type) ?? "";
  return type === "message" ? native?.role === "assistant" : !type.endsWith("_output");
}

function tokensBefore(stretch: Stretch): { tokensBefore?: number } {
  const last = usageRecord("codex", stretch.usage.at(-1)?.usage, { segment: 0, index: 0 });
  return { tokensBefore: last?.promptTokens };
}

function finishMessage(message: Message | undefined, item: Item): Message | undefined {
  if (message === undefined) return undefined;
  const dated = withMeta(message, { timestamp: item.timestamp });
  return message.role === "user" ? withSummaryVersion(dated) : dated;
}

function* writeCodex(
  compacted: CompactedSession,
  ports: WritePorts,
  { endsWithNewline, ordinal }: Ending,
): Iterable<string> {
  if (!endsWithNewline) yield "\n";
  const { before, summary, after } = splitAtSummary(compacted);
  const codec = codecFor("openai-responses");
  const replacement = [
    ...codec.encode(before),
    ...(summary === undefined ? [] : [userItem(summary)]),
    ...codec.encode(after),
  ];
  const payload = { message: summary ?? "", replacement_history: listOf(replacement) };
  const number = ordinal === undefined ? {} : { ordinal: ordinal + 1 };
  yield `${JSON.stringify({ timestamp: ports.now(), ...number, type: "compacted", payload })}\n`;
}
