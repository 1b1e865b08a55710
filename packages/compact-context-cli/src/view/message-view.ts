import { type Message, messageText, type Role } from "compact-context/internal/core/message";
import type { PlannedAction } from "compact-context/internal/core/plan";
import type { LayerName } from "compact-context/internal/core/report";
import { isUserSpeech, typedText } from "compact-context/internal/core/units";
import { isRecord, type JsonRecord, numberOf, recordOf, stringOf } from "../transcripts/json.ts";
import type { CompactionHead, LayerKey, MessageKind, MessageOutcome, Outcome } from "./session-view.ts";

const PREVIEW_LENGTH = 240;

/** The kind of the message's most telling part. */
export function kindOf(message: Message): MessageKind {
  if (message.meta?.summaryVersion !== undefined) return "summary";
  const types = new Set(message.parts.map((part) => part.type));
  for (const kind of ["toolCall", "toolResult", "media"] as const) if (types.has(kind)) return kind;
  return types.has("text") || !types.has("reasoning") ? "text" : "reasoning";
}

/** The start of a text on one line. */
export function shortPreview(text: string): string {
  const line = text
    .slice(0, PREVIEW_LENGTH * 4)
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= PREVIEW_LENGTH
    ? line
    : `${line.slice(0, PREVIEW_LENGTH - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** The text that the user typed; undefined for a bare slash command and for text that only the host inserted. */
export function typedRequest(message: Message): string | undefined {
  if (!isUserSpeech(message)) return undefined;
  const text = typedText(messageText(message));
  return /^(?!# AGENTS\.md |\/[a-z:-]+$)\S/.test(text) ? text : undefined;
}

const OUTCOMES: ReadonlyMap<string | undefined, Outcome> = new Map<PlannedAction, Outcome>([
  ["keep", "kept"],
  ["clear", "cleared"],
  ["elide", "cut"],
  ["summarize", "summarized"],
]);

/** The outcome of a planned action; `unknown` for any other text. */
export function outcomeOf(action: string | undefined): Outcome {
  return OUTCOMES.get(action) ?? "unknown";
}

/** Settings for display; those without a value are omitted. */
export function namedValues(
  values: Readonly<Record<string, string | number | undefined>>,
): CompactionHead["policy"] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value: String(value) }],
  );
}

/** `85 % of the window`. */
export function formatTrigger(share: number): string {
  return `${Math.round(share * 1000) / 10} % of the window`;
}

/** The layers of a session whose messages are known, in stacking order. */
export const MESSAGE_LAYERS: readonly LayerKey[] = [
  "tools",
  "system",
  "developer",
  "pinned",
  "summary",
  "remainder",
  "toolPairs",
  "recent",
];

/** The layers of a session known by events alone. */
export const EVENT_LAYERS: readonly LayerKey[] = [...MESSAGE_LAYERS, "messages"];

/** Pinned instructions have layers of their own. */
export function layerKeyOf(layer: LayerName, role: Role): LayerKey {
  return layer === "pinned" && (role === "system" || role === "developer") ? role : layer;
}

/** Tokens by layer, in the order of `MESSAGE_LAYERS`: those of the messages, and the `fixed` ones of their request. */
export function tokensByLayer(
  shares: readonly { readonly layer: LayerKey; readonly tokens: number }[],
  fixed: Readonly<Record<"system" | "tools", number>>,
): number[] {
  const sums = new Map<string, number>(Object.entries(fixed));
  for (const { layer, tokens } of shares) sums.set(layer, (sums.get(layer) ?? 0) + tokens);
  return MESSAGE_LAYERS.map((layer) => sums.get(layer) ?? 0);
}

/** Tokens of messages by layer, as far as a compaction event contains them. */
export type LayerTokens = Readonly<Partial<Record<LayerKey, number>>>;

/**
 * Tokens in the order of `EVENT_LAYERS`: the fixed parts, then the known layers. The rest, such as messages since the
 * last compaction and the pending input, counts as `messages`.
 */
export function eventLayers(fixed: readonly number[], layers: LayerTokens, total: number): number[] {
  const [tools = 0, system = 0, developer = 0] = fixed;
  const known: Partial<Record<LayerKey, number>> = { ...layers, tools, system, developer };
  let rest = total;
  return EVENT_LAYERS.map((layer) => {
    const part = layer === "messages" ? rest : Math.min(rest, known[layer] ?? 0);
    rest -= part;
    return part;
  });
}

/** The total of the numbers. */
export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** A field that is an object. */
export function recordIn(value: unknown, name: string): JsonRecord | undefined {
  const found = recordOf(value)[name];
  return isRecord(found) ? found : undefined;
}

/** A field that is a list. */
export function listIn(value: unknown, name: string): readonly unknown[] | undefined {
  const found = recordOf(value)[name];
  return Array.isArray(found) ? found : undefined;
}

/** A field that is a finite number of at least 0. */
export function numberIn(value: unknown, name: string): number | undefined {
  const found = numberOf(recordOf(value)[name]);
  return found !== undefined && found >= 0 ? found : undefined;
}

/** A field that is text. */
export function textIn(value: unknown, name: string): string | undefined {
  return stringOf(recordOf(value)[name]);
}

/** Any value as JSON; a placeholder if it is nested too deeply to serialize. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "(nested too deeply to be shown)";
  }
}

/** The outcome of a message, from the summary record of its step. */
export type StoredOutcome = Pick<MessageOutcome, "outcome" | "tokens" | "tokensAfter" | "reason">;

/** The summary record of a compaction; every part may be missing. */
export interface StoredRecord {
  /** The summary. */
  readonly text?: string;
  /** ISO 8601. */
  readonly at?: string;
  readonly model?: string;
  readonly summarizer?: string;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  readonly summaryTokens?: number;
  /** Tokens of the request outside its messages. */
  readonly system: number;
  readonly tools: number;
  /** One per message of the list; undefined if any is invalid. */
  readonly outcomes?: readonly StoredOutcome[];
}

/** Parses the summary record that `compact FILE` or a manager stores beside an archived list. */
export function storedRecord(value: object | undefined): StoredRecord {
  const text = textIn(value, "text");
  const fixed = recordIn(value, "fixedTokens");
  const outcomes = listIn(value, "fates")?.map(storedOutcome);
  return {
    text,
    at: textIn(value, "at"),
    model: textIn(value, "model"),
    summarizer: text === undefined ? undefined : textIn(value, "summarizer"),
    tokensBefore: numberIn(value, "tokensBefore"),
    tokensAfter: numberIn(value, "tokensAfter"),
    summaryTokens: numberIn(value, "tokens"),
    system: numberIn(fixed, "system") ?? 0,
    tools: numberIn(fixed, "tools") ?? 0,
    outcomes: outcomes?.every((outcome) => outcome !== undefined) ? outcomes : undefined,
  };
}

function storedOutcome(value: unknown): StoredOutcome | undefined {
  const outcome = outcomeOf(textIn(value, "action"));
  const [tokens, tokensAfter] = [numberIn(value, "tokens"), numberIn(value, "tokensAfter")];
  const reason = textIn(value, "reason");
  if (outcome === "unknown" || tokens === undefined || tokensAfter === undefined) return undefined;
  return { outcome, tokens, tokensAfter, reason };
}
