import type { Message } from "compact-context";
import { codecFor } from "compact-context/internal/codecs/formats";
import { isCompactionType } from "compact-context/internal/core/message";
import { defined, isRecord, type JsonRecord, listOf, numberOf, recordOf, stringOf, textOf } from "./json.ts";
import {
  type CompactedSession,
  decodeStretches,
  promptTokens,
  RESPONSES_USAGE,
  type ReadLog,
  type RecordFormat,
  type Segment,
  type Session,
  type SourceRecord,
  splitAtSummary,
  type WritePorts,
  withMeta,
  withSummaryVersion,
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
  read: readCodex,
};

interface Item {
  readonly native: JsonRecord;
  readonly timestamp: string | undefined;
  /** Usage records of the answer that begins with this item. */
  readonly reported: unknown[];
}

interface Stretch {
  readonly items: Item[];
  carried: number;
  endedBy?: Segment["endedBy"];
}

async function readCodex(records: AsyncIterable<SourceRecord>, log: ReadLog): Promise<Session> {
  let current: Stretch = { items: [], carried: 0 };
  const stretches = [current];
  const facts: Pick<Session, "system" | "model" | "sessionId" | "cwd" | "window"> = {};
  /** Number of the last record, in files with numbered records. */
  let ordinal: number | undefined;
  for await (const { value } of records) {
    const record = recordOf(value);
    const payload = recordOf(record.payload);
    ordinal = numberOf(record.ordinal) ?? ordinal;
    const timestamp = stringOf(record.timestamp);
    switch (record.type) {
      case "response_item":
        current.items.push({ native: payload, timestamp, reported: [] });
        break;
      case "compacted":
        current = afterCompaction(current, payload, timestamp);
        stretches.push(current);
        break;
      case "session_meta": {
        const system = stringOf(recordOf(payload.base_instructions).text);
        const [sessionId, cwd] = [stringOf(payload.id), stringOf(payload.cwd)];
        Object.assign(facts, defined({ system, sessionId, cwd }));
        break;
      }
      case "turn_context":
        Object.assign(facts, defined({ model: stringOf(payload.model) }));
        log.leaveOut("turn_context");
        break;
      default:
        noteEvent(payload, current, log);
        Object.assign(facts, defined({ window: numberOf(recordOf(payload.info).model_context_window) }));
        log.leaveOut([record.type, payload.type].filter((word) => typeof word === "string").join(" "));
    }
  }
  const format = {
    codec: "openai-responses",
    usage: RESPONSES_USAGE,
    path: "response_item",
    finish,
  } as const;
  return {
    format: "codex",
    ...decodeStretches(stretches, format, log),
    ...facts,
    write: (compacted, ports) => ({ mode: "append", chunks: [compactedLine(compacted, ports, ordinal)] }),
  };
}

function finish(message: Message, { timestamp }: Item): Message {
  const dated = withMeta(message, { timestamp });
  return message.role === "user" ? withSummaryVersion(dated) : dated;
}

function noteEvent(payload: JsonRecord, stretch: Stretch, log: ReadLog): void {
  if (payload.type === "thread_rolled_back") rollBack(stretch, payload.num_turns, log);
  const usage = recordOf(payload.info).last_token_usage;
  if (payload.type === "token_count" && usage !== undefined) newestAnswer(stretch)?.reported.push(usage);
}

/** The first item of the newest answer: results may already follow it when the event with its tokens arrives. */
function newestAnswer({ items, carried }: Stretch): Item | undefined {
  const end = items.findLastIndex(({ native }) => isAnswer(native));
  if (end < carried) return undefined;
  const before = items.slice(carried, end).findLastIndex(({ native }) => !isAnswer(native));
  return items[carried + before + 1];
}

function isAnswer({ type, role }: JsonRecord): boolean {
  return type === "message" ? role === "assistant" : !textOf(type).endsWith("_output");
}

/** The user rewound: the last turns are no longer part of the conversation. */
function rollBack(stretch: Stretch, turns: unknown, log: ReadLog): void {
  const starts = stretch.items.flatMap((item, index) => (isTyped(item.native) ? [index] : []));
  const start = starts.at(-Math.max(1, numberOf(turns) ?? 1)) ?? starts[0];
  if (start === undefined) return;
  log.leaveOut("abandoned branch", stretch.items.splice(start).length);
  stretch.carried = Math.min(stretch.carried, start);
}

/** A typed user message; Codex also sends its own context as user messages, in tags or with a heading. */
function isTyped(native: JsonRecord): boolean {
  if (native.type !== "message" || native.role !== "user") return false;
  const first = stringOf(recordOf(listOf(native.content)[0]).text) ?? "";
  return !/^\s*(<[a-z_]+>|# AGENTS\.md instructions)/.test(first);
}

/** The context with which Codex continues: the recorded one, or in older files instructions, asks and the summary. */
function afterCompaction(before: Stretch, payload: JsonRecord, timestamp: string | undefined): Stretch {
  const replacement = payload.replacement_history;
  const spoken = before.items.map(({ native }) => native);
  const isInstruction = ({ type, role }: JsonRecord): boolean => type === "message" && role !== "assistant";
  const natives = Array.isArray(replacement)
    ? replacement.filter(isRecord)
    : [...spoken.filter(isInstruction), userItem(textOf(payload.message))];
  const newest = before.items.flatMap(({ reported }) => reported).at(-1);
  before.endedBy = {
    kind: natives.some(({ type }) => isCompactionType(type)) ? "opaque" : "summary",
    tokensBefore: promptTokens(RESPONSES_USAGE, newest) || undefined,
  };
  return { items: natives.map((native) => ({ native, timestamp, reported: [] })), carried: natives.length };
}

function userItem(text: string): JsonRecord {
  return { type: "message", role: "user", content: [{ type: "input_text", text }] };
}

/** One record with everything that replaces the session. */
function compactedLine(compacted: CompactedSession, ports: WritePorts, ordinal: number | undefined): string {
  const { before, summary, after } = splitAtSummary(compacted);
  const codec = codecFor("openai-responses");
  const replacement = [
    ...codec.encode(before),
    ...(summary === undefined ? [] : [userItem(summary)]),
    ...codec.encode(after),
  ];
  const payload = { message: summary ?? "", replacement_history: replacement };
  const number = ordinal === undefined ? {} : { ordinal: ordinal + 1 };
  return `${JSON.stringify({ timestamp: ports.now(), ...number, type: "compacted", payload })}\n`;
}
