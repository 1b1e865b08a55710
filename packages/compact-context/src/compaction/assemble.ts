import type { Format, Message, Role } from "../messages/message.ts";
import { messageText } from "../messages/message.ts";
import { endsWithCompaction } from "../messages/native-compaction.ts";
import { readSummary, wrapSummary } from "../summarizers/summary-tag.ts";

/** The summary that a list carries. */
export interface LiveSummary {
  readonly version: number;
  /** The text between the tags. */
  readonly text: string;
  /** How many kept messages stood before it when it was made: there it stays, whatever is pinned or compacted later. */
  readonly after?: number;
}

/** Providers that refuse, or may pass on to one that refuses, a conversation that begins with the assistant. */
const USER_FIRST: ReadonlySet<Format> = new Set<Format>(["anthropic", "gemini", "ai-sdk", "langchain", "pi"]);

export interface SummaryShape {
  readonly role: "assistant" | "user" | "system";
  readonly format: Format | undefined;
}

/**
 * Pinned messages that come first, then the summary, then the rest, each in its own order; what stands before the
 * provider's own compaction is not read, so the summary stands behind the first that is kept. `kept` is in the order of the list.
 */
export function assemble(
  kept: readonly { readonly message: Message; readonly pinned: boolean }[],
  summary: LiveSummary | undefined,
  shape: SummaryShape,
): Message[] {
  const messages = kept.map((entry) => entry.message);
  if (summary === undefined) return messages;
  const split = placeOf(summary, kept);
  const before = messages.slice(0, split);
  return [...before, summaryMessage(summary, roleFor(before, shape)), ...messages.slice(split)];
}

/** How many of the kept messages stand before the summary. */
export function placeOf(
  summary: LiveSummary,
  kept: readonly { readonly message: Message; readonly pinned: boolean }[],
): number {
  const firstRecent = kept.findIndex((entry) => !entry.pinned);
  const pinned = firstRecent === -1 ? kept.length : firstRecent;
  const compaction = kept.findIndex((entry) => endsWithCompaction(entry.message));
  const before = summary.after ?? 0;
  const last = kept[before - 1];
  const stands = before <= pinned || (last !== undefined && endsWithCompaction(last.message));
  return summary.after !== undefined && stands ? before : Math.max(pinned, compaction + 1);
}

function roleFor(before: readonly Message[], shape: SummaryShape): Role {
  const needsUser = shape.format !== undefined && USER_FIRST.has(shape.format);
  const userSpoke = before.some((message) => message.role === "user");
  return shape.role === "assistant" && needsUser && !userSpoke ? "user" : shape.role;
}

/** True where the provider wants the user first and the kept messages begin with somebody else. */
export function lacksOpening(kept: readonly { readonly message: Message }[], shape: SummaryShape): boolean {
  const first = kept.find(({ message }) => message.role !== "system" && message.role !== "developer");
  const needsUser = shape.format !== undefined && USER_FIRST.has(shape.format);
  return needsUser && first !== undefined && first.message.role !== "user";
}

/** A summary as a message of its own. */
export function summaryMessage(summary: LiveSummary, role: Role): Message {
  return {
    id: `compact-summary-v${summary.version}`,
    role,
    parts: [{ type: "text", text: wrapSummary(summary.text, summary.version) }],
    meta: { synthetic: true, summaryVersion: summary.version },
  };
}

/** The very list where it carries no summary of ours; else a copy that marks them. Only whole-text messages count. */
export function markSummaries<List extends readonly Message[]>(messages: List): List | Message[] {
  const unmarked = (message: Message): boolean =>
    message.meta?.summaryVersion === undefined && summaryOf(message) !== undefined;
  if (!messages.some(unmarked)) return messages;
  return messages.map((message) => {
    if (message.meta?.summaryVersion !== undefined) return message;
    const summary = summaryOf(message);
    return summary === undefined
      ? message
      : { ...message, meta: { ...message.meta, summaryVersion: summary.version } };
  });
}

/** The summary that a message carries, if it is one of ours: text only, from anybody but a tool. */
export function summaryOf(message: Message): LiveSummary | undefined {
  if (message.role === "tool" || message.parts.some((part) => part.type !== "text")) return undefined;
  const [first] = message.parts;
  const only = message.parts.length === 1 && first?.type === "text";
  return readSummary(only ? first.text : messageText(message));
}
