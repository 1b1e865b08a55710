import { type Message, messageText, type Part, readSummary, toolCalls } from "../core/message.ts";
import { EXPAND_TOOL, MEMORY_TOOL, SEARCH_TOOL, SESSIONS_TOOL } from "../recall/arguments.ts";
import { asksNotToKeep, forgetRequests, rawSentencesOf } from "./learning/own-words.ts";
import { withoutToldSecrets } from "./learning/told-secrets.ts";
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

/**
 * Messages as they may be told again: without what was forgotten, wishes to forget, what was asked not to be kept, and
 * secrets told in words.
 */
export function tellable(
  messages: readonly Message[],
  isForgotten: (text: string) => boolean,
  keep: "nothing" | "wishes" = "nothing",
): readonly Message[] {
  return messages.flatMap((message) => {
    const parts = message.parts.flatMap((part): Part[] => {
      if (part.type !== "text") return [part];
      const text = tellableText(part.text, message.role === "user" && keep === "nothing", isForgotten);
      if (text === part.text) return [part];
      return text === "" ? [] : [{ ...part, text }];
    });
    if (parts.length === 0 && message.parts.length > 0) return [];
    return parts.every((part, index) => part === message.parts[index]) ? [message] : [{ ...message, parts }];
  });
}

function tellableText(text: string, isUser: boolean, isForgotten: (text: string) => boolean): string {
  if (isUser && asksNotToKeep(text)) return "";
  const wishes = new Set(isUser ? forgetRequests(text) : []);
  const sentences = rawSentencesOf(text);
  const kept = sentences.filter(
    (sentence) => !isForgotten(sentence) && !wishes.has(sentence.replace(/\s+/g, " ").trim()),
  );
  return withoutToldSecrets(kept.length === sentences.length ? text : kept.join(" "));
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
