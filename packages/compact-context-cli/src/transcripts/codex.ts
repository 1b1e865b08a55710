import { codecFor } from "compact-context/internal/codecs/formats";
import { isCompactionType } from "compact-context/internal/core/message";
import { defined, isRecord, type JsonRecord, listOf, numberOf, recordOf, stringOf, textOf } from "./json.ts";
import { decodeStretches, splitAtSummary, usageRecord, withMeta, withSummaryVersion } from "./session.ts";
import type {
  CompactedSession,
  ReadLog,
  RecordFormat,
  RecordReader,
  Session,
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
  /** Usage records of the answer that begins with this item. */
  readonly reported: unknown[];
}

interface Stretch {
  readonly items: Item[];
  carried: number;
  /** How the segment ended. */
  endedBy?: { readonly kind: "summary" | "opaque"; readonly tokensBefore?: number };
  /** Usage of the newest call. */
  usage?: unknown;
}

type Facts = Pick<Session, "system" | "model" | "sessionId" | "cwd" | "window">;

function openCodex(log: ReadLog): RecordReader {
  let current: Stretch = { items: [], carried: 0 };
  const stretches = [current];
  const facts: Facts = {};
  let ordinal: number | undefined;

  return {
    add(value) {
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
        case "session_meta":
          Object.assign(facts, sessionFacts(payload));
          break;
        case "turn_context":
          Object.assign(facts, defined({ model: stringOf(payload.model) }));
          log.leaveOut("turn_context");
          break;
        default:
          noteUsage(payload, current);
          Object.assign(facts, defined({ window: numberOf(recordOf(payload.info).model_context_window) }));
          if (payload.type === "thread_rolled_back") rollBack(current, payload.num_turns, log);
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

/** Codex reports a call's tokens after its items, in an event. */
function noteUsage(payload: JsonRecord, stretch: Stretch): void {
  if (payload.type !== "token_count") return;
  const usage = recordOf(payload.info).last_token_usage;
  if (usage === undefined) return;
  stretch.usage = usage;
  answerAt(stretch, stretch.items.length - 1)?.reported.push(usage);
}

/** The first item of the answer that ends here: results may already follow it when the event arrives. */
function answerAt({ items, carried }: Stretch, end: number): Item | undefined {
  let index = end;
  while (index >= carried && !isAnswer(items[index]?.native)) index -= 1;
  while (index > carried && isAnswer(items[index - 1]?.native)) index -= 1;
  return index < carried ? undefined : items[index];
}

function isAnswer(native: JsonRecord | undefined): boolean {
  const type = stringOf(native?.type) ?? "";
  return type === "message" ? native?.role === "assistant" : !type.endsWith("_output");
}

/** The user rewound: the last turns are no longer part of the conversation. */
function rollBack(stretch: Stretch, turns: unknown, log: ReadLog): void {
  const starts = stretch.items.flatMap((item, index) => (isTyped(item.native) ? [index] : []));
  const start = starts.at(-Math.max(1, numberOf(turns) ?? 1)) ?? starts[0];
  if (start === undefined) return;
  log.leaveOut("abandoned branch", stretch.items.splice(start).length);
  stretch.carried = Math.min(stretch.carried, start);
  stretch.usage = stretch.items.flatMap(({ reported }) => reported).at(-1);
}

/** A typed user message; Codex also sends its own context as user messages, in tags or with a heading. */
function isTyped(native: JsonRecord): boolean {
  if (native.type !== "message" || native.role !== "user") return false;
  const first = stringOf(recordOf(listOf(native.content)[0]).text) ?? "";
  return !/^\s*(<[a-z_]+>|# AGENTS\.md instructions)/.test(first);
}

/**
 * The context with which Codex continues: the recorded replacement, or, in older files, instructions and user
 * messages with the summary.
 */
function afterCompaction(before: Stretch, payload: JsonRecord, timestamp: string | undefined): Stretch {
  const summary = textOf(payload.message);
  const replacement = payload.replacement_history;
  const natives = Array.isArray(replacement)
    ? replacement.filter(isRecord)
    : [...before.items.map((item) => item.native).filter(isInstruction), userItem(summary)];
  before.endedBy = {
    kind: natives.some(({ type }) => isCompactionType(type)) ? "opaque" : "summary",
    tokensBefore: usageRecord("codex", before.usage, { segment: 0, index: 0 })?.promptTokens,
  };
  return {
    items: natives.map((native) => ({ native, timestamp, reported: [] })),
    carried: natives.length,
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
  /** Number of the last record, in files with numbered records. */
  readonly ordinal: number | undefined;
}

function finish(stretches: readonly Stretch[], facts: Facts, ending: Ending): Session {
  const { log } = ending;
  const format = { codec: "openai-responses", usage: "codex", path: "response_item" } as const;
  const { segments, usage } = decodeStretches(
    stretches,
    {
      ...format,
      finish(message, { timestamp }) {
        const dated = withMeta(message, { timestamp });
        return message.role === "user" ? withSummaryVersion(dated) : dated;
      },
    },
    log,
  );
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
