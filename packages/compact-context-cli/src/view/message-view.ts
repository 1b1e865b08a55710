import { type Message, messageText, type Role } from "compact-context/internal/core/message";
import type { PlannedAction } from "compact-context/internal/core/plan";
import type { LayerName } from "compact-context/internal/core/report";
import { isUserSpeech, typedText } from "compact-context/internal/core/units";
import { isObject } from "compact-context/internal/errors";
import type { CompactionHead, ExpandedView, LayerKey, MessageKind, Outcome } from "./session-view.ts";

/** Most characters of a preview. */
const PREVIEW = 240;

/** What a message mostly is. */
export function kindOf(message: Message): MessageKind {
  if (message.meta?.summaryVersion !== undefined) return "summary";
  const types = new Set(message.parts.map((part) => part.type));
  for (const kind of ["toolCall", "toolResult", "media"] as const) if (types.has(kind)) return kind;
  return types.has("text") || !types.has("reasoning") ? "text" : "reasoning";
}

/** The beginning of a text on one line. */
export function shortPreview(text: string): string {
  const line = text
    .slice(0, PREVIEW * 4)
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= PREVIEW ? line : `${line.slice(0, PREVIEW - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** What a person typed in the message; undefined for a command without words, and where a host put all of it there. */
export function typedAsk(message: Message): string | undefined {
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

/** What the plan's word for it is called on the page; `unknown` for a word that is none of a plan. */
export function outcomeOf({ action }: { readonly action: string | undefined }): Outcome {
  return OUTCOMES.get(action) ?? "unknown";
}

/** Settings ready to show; those without a value are left out. */
export function namedLines(
  lines: Readonly<Record<string, string | number | undefined>>,
): CompactionHead["policy"] {
  return Object.entries(lines).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value: String(value) }],
  );
}

/** `85 % of the window`. */
export function triggerWords(share: number): string {
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

/** The layers of a session that is told by events alone. */
export const EVENT_LAYERS: readonly LayerKey[] = [...MESSAGE_LAYERS, "messages"];

/** How many messages had each outcome. */
export function countOutcomes(
  entries: readonly { readonly outcome: Outcome }[],
): Partial<Record<Outcome, number>> {
  const counts: Partial<Record<Outcome, number>> = {};
  for (const { outcome } of entries) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/** Tokens that stand beside the messages. */
export interface FixedTokens {
  readonly system: number;
  readonly tools: number;
}

/** One message's share. */
export interface LayerShare {
  readonly layer: LayerKey;
  readonly tokens: number;
}

/** Instructions are told apart from what else is pinned. */
export function layerKeyOf(layer: LayerName, role: Role): LayerKey {
  return layer === "pinned" && (role === "system" || role === "developer") ? role : layer;
}

/** Tokens by layer, in the order of `MESSAGE_LAYERS`. */
export function stacked(shares: Iterable<LayerShare>, fixed: FixedTokens): number[] {
  const sums = new Map<LayerKey, number>([
    ["system", fixed.system],
    ["tools", fixed.tools],
  ]);
  for (const { layer, tokens } of shares) sums.set(layer, (sums.get(layer) ?? 0) + tokens);
  return MESSAGE_LAYERS.map((layer) => sums.get(layer) ?? 0);
}

/** Tokens of messages by layer, as far as a compaction told them. */
export type ToldLayers = Readonly<Partial<Record<LayerKey, number>>>;

/**
 * Tokens in the order of `EVENT_LAYERS`: the fixed parts, then what is told of the messages. What no part accounts for,
 * such as what came since a compaction and the pending input, is of the conversation.
 */
export function eventLayers(fixed: readonly number[], told: ToldLayers, total: number): number[] {
  const [tools = 0, system = 0, developer = 0] = fixed;
  const known: Partial<Record<LayerKey, number>> = { ...told, tools, system, developer };
  let rest = total;
  return EVENT_LAYERS.map((layer) => {
    const part = layer === "messages" ? rest : Math.min(rest, known[layer] ?? 0);
    rest -= part;
    return part;
  });
}

/** An own field that is an object. */
export function recordIn(value: unknown, name: string): Readonly<Record<string, unknown>> | undefined {
  const found = own(value, name);
  return isObject(found) ? found : undefined;
}

/** An own field that is a list. */
export function listIn(value: unknown, name: string): readonly unknown[] | undefined {
  const found = own(value, name);
  return Array.isArray(found) ? found : undefined;
}

/** An own field that is a finite number from 0. */
export function numberIn(value: unknown, name: string): number | undefined {
  const found = own(value, name);
  return typeof found === "number" && Number.isFinite(found) && found >= 0 ? found : undefined;
}

/** An own field that is text. */
export function textIn(value: unknown, name: string): string | undefined {
  const found = own(value, name);
  return typeof found === "string" ? found : undefined;
}

/** Any value as JSON text; words in its place where it is nested too deeply to be written. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "(nested too deeply to be shown)";
  }
}

function own(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Most characters that one answer carries. */
const PIECE = 20_000;

/** The stretch of a text from an offset on, and where to go on; no character is cut in two. */
export function expandedPiece(
  text: string,
  offset: number,
): Pick<ExpandedView, "text" | "offset" | "characters" | "next"> {
  const from = Math.min(offset, text.length);
  const piece = text.slice(from, from + PIECE).replace(/(?<=.)[\ud800-\udbff]$/s, "");
  const end = from + piece.length;
  return { text: piece, offset: from, characters: text.length, next: end < text.length ? end : undefined };
}
