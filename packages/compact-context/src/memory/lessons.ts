import { type Message, messageText, type Part, readSummary, toolCalls } from "../core/message.ts";
import { EXPAND_TOOL, MEMORY_TOOL, SEARCH_TOOL, SESSIONS_TOOL } from "../recall/arguments.ts";
import { stripRuntimeContext } from "./runtime-context.ts";

/**
 * The messages as far as a memory may learn from them: without summaries, which tell again what was learned, without
 * what was recalled into a user's message, and without what a recall tool brought back.
 */
export function lessonsOf(messages: readonly Message[]): readonly Message[] {
  const recalls = new Set<string>();
  return messages.flatMap((message) => {
    if (isSummary(message)) return [];
    for (const { id, name } of toolCalls(message)) if (bringsBack(name)) recalls.add(id);
    const parts = message.parts.flatMap((part) => lessonOf(part, message, recalls));
    if (parts.length === 0) return [];
    return parts.every((part, index) => part === message.parts[index]) &&
      parts.length === message.parts.length
      ? [message]
      : [{ ...message, parts }];
  });
}

const RECALL_TOOLS = [EXPAND_TOOL, SEARCH_TOOL, SESSIONS_TOOL, MEMORY_TOOL];

/** Clients of MCP write the server's name before a tool's. */
function bringsBack(tool: string): boolean {
  return RECALL_TOOLS.some((name) => tool.endsWith(name));
}

/** Ours is marked where it was made; after a round through a host's own format only its tag is left. */
function isSummary(message: Message): boolean {
  return message.meta?.summaryVersion !== undefined || readSummary(messageText(message)) !== undefined;
}

function lessonOf(part: Part, { role }: Message, recalls: ReadonlySet<string>): Part[] {
  if (part.type === "toolCall" || part.type === "toolResult") return recalls.has(part.id) ? [] : [part];
  if (part.type !== "text" || role !== "user") return [part];
  const text = stripRuntimeContext(part.text);
  return text === part.text ? [part] : [{ ...part, text }];
}
