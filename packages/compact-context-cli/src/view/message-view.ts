import {
  argumentsValue,
  type Message,
  messageText,
  type Role,
  type ToolCallPart,
  type ToolResultPart,
} from "compact-context/internal/core/message";
import type { PlannedAction } from "compact-context/internal/core/plan";
import type { LayerName } from "compact-context/internal/core/report";
import { isUserSpeech, typedText } from "compact-context/internal/core/units";
import { readableMessage } from "compact-context/internal/recall/recall";
import type { Fate, LayerKey, MessageKind } from "./session-view.ts";
import { textIn } from "./untrusted.ts";

/** Most characters of a preview. */
const PREVIEW = 240;
/** Secrets are looked for in more than is shown: one that is cut in two would not be found. */
const SEARCHED = 2000;

/** What a message mostly is. */
export function kindOf(message: Message): MessageKind {
  if (message.meta?.summaryVersion !== undefined) return "summary";
  const types = new Set(message.parts.map((part) => part.type));
  for (const kind of ["toolCall", "toolResult", "media"] as const) if (types.has(kind)) return kind;
  return types.has("text") || !types.has("reasoning") ? "text" : "reasoning";
}

/** The tool that a message is about, and the file or folder that was named to it. */
export interface ToolFacts {
  readonly tool?: string;
  readonly path?: string;
}

const PATHS = ["file_path", "path", "filePath", "notebook_path", "file", "filename", "dir", "directory"];

/** Finds tool and path of each message of a session: a result has those of its call. */
export function createToolFacts(history: () => readonly Message[]): (message: Message) => ToolFacts {
  const calls = new Map<string, ToolFacts>();
  let read = 0;
  const factsOf = (call: ToolCallPart): ToolFacts => {
    const value = argumentsValue(call);
    const path = PATHS.map((field) => textIn(value, field)).find((text) => text !== undefined);
    return { tool: call.name, path: path?.slice(0, 240) };
  };
  return (message) => {
    const all = history();
    for (; read < all.length; read += 1)
      for (const part of all[read]?.parts ?? [])
        if (part.type === "toolCall") calls.set(part.id, factsOf(part));
    const part = message.parts.find(
      (one): one is ToolCallPart | ToolResultPart => one.type === "toolCall" || one.type === "toolResult",
    );
    if (part === undefined) return {};
    return part.type === "toolCall" ? factsOf(part) : (calls.get(part.id) ?? { tool: part.name });
  };
}

/** The beginning of a message on one line, secrets taken out. */
export function previewOf(message: Message, redactText: (text: string) => string): string {
  return shortPreview(redactText(readableMessage(message).slice(0, SEARCHED)));
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

const FATES: ReadonlyMap<string | undefined, Fate> = new Map<PlannedAction, Fate>([
  ["keep", "kept"],
  ["clear", "cleared"],
  ["elide", "cut"],
  ["summarize", "summarized"],
]);

/** What the plan's word for it is called on the page; `unknown` for a word that is none of a plan. */
export function fateOf({ action }: { readonly action: string | undefined }): Fate {
  return FATES.get(action) ?? "unknown";
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
export const EVENT_LAYERS: readonly LayerKey[] = [
  "tools",
  "system",
  "developer",
  "pinned",
  "summary",
  "remainder",
  "toolPairs",
  "recent",
  "messages",
];

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
  const tokens = EVENT_LAYERS.map((layer) => {
    const part = layer === "messages" ? rest : Math.min(rest, known[layer] ?? 0);
    rest -= part;
    return part;
  });
  return tokens;
}
