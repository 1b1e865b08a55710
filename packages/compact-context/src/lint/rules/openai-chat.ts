import type { Entry, ReadList } from "../entries.ts";
import { batchesOf, isInPlace } from "../placement.ts";
import { at, atEntry, type Finding, isSystem, type Rule } from "../rule.ts";

const FUNCTION_CALLING = 'OpenAI: "Function calling"';
const TEMPLATES = 'Hugging Face: "Chat templates"; Mistral and other templates refuse other orders';

/** Chat Completions and its clones. */
export const OPENAI_CHAT_RULES: readonly Rule[] = [
  {
    id: "openai-chat/results-follow-call",
    formats: ["openai-chat"],
    severity: "error",
    explanation:
      "An assistant message with tool calls must be followed by their tool messages before any other.",
    link: FUNCTION_CALLING,
    mend: "The result is moved behind its call.",
    check: misplacedResults,
  },
  {
    id: "openai-chat/null-content",
    formats: ["openai-chat"],
    severity: "error",
    explanation: "A message without content is only accepted when it calls tools.",
    link: 'OpenAI API reference: "Create chat completion", messages',
    mend: "The entry is dropped.",
    check: ({ entries }) => entries.filter(saysNothing).map((entry) => atEntry(entry)),
  },
  {
    id: "openai-chat/strict-system-first",
    formats: ["openai-chat"],
    severity: "error",
    explanation: "A strict template takes one system message, and only as the first (with `strict`).",
    link: TEMPLATES,
    mend: "System messages are merged into one at the beginning.",
    check: ({ entries }, { strict }) =>
      strict === true
        ? entries.filter((entry) => isSystem(entry) && entry !== entries[0]).map((e) => atEntry(e))
        : [],
  },
  {
    id: "openai-chat/strict-alternation",
    formats: ["openai-chat"],
    severity: "error",
    explanation:
      "A strict template wants user and assistant in turn, beginning with the user (with `strict`).",
    link: TEMPLATES,
    mend: "Messages of one role in a row are merged; where calls lie between, a synthetic message parts them.",
    check: ({ entries }, { strict }) =>
      strict === true ? unalternating(entries).map((e) => atEntry(e)) : [],
  },
  {
    id: "openai-chat/strict-needs-user",
    formats: ["openai-chat"],
    severity: "error",
    explanation: "A strict template wants at least one user message (with `strict`).",
    link: TEMPLATES,
    mend: "A synthetic user message opens the conversation.",
    check: ({ entries, length }, { strict }) =>
      strict === true && length > 0 && !entries.some((entry) => entry.message.role === "user")
        ? [{ position: 0, path: "messages" }]
        : [],
  },
  {
    id: "openai-chat/reasoning-consistent",
    formats: ["openai-chat"],
    severity: "warning",
    explanation: "In the open tool loop some calls carry their reasoning and others do not (with `strict`).",
    link: 'DeepSeek: "Thinking Mode"; xAI: "Prompt Caching"',
    check: ({ entries }, { strict }) => (strict === true ? unreasoned(entries) : []),
  },
];

/** Results that stand elsewhere than where their format wants them. */
export function misplacedResults(list: ReadList): Finding[] {
  return batchesOf(list).flatMap((batch) =>
    batch.calls.flatMap((call) => {
      const { result, early, part } = call;
      if (result === undefined || early || isInPlace(batch, call)) return [];
      return [at(result.entry, result.cell.path, `the result of call "${part.id}" does not follow its call`)];
    }),
  );
}

/** True for a message without any content, call or refusal. */
export function saysNothing({ native, message }: Entry): boolean {
  if (message.role === "tool" || message.parts.some((part) => part.type !== "reasoning")) return false;
  const { content } = native;
  return content === null || content === undefined || (Array.isArray(content) && content.length === 0);
}

/** True for a user, and for an assistant that does not call. */
export function isSpeaker({ message }: Entry): boolean {
  if (message.role === "user") return true;
  return message.role === "assistant" && !message.parts.some((part) => part.type === "toolCall");
}

/** Calls and results do not count: what is left must alternate. */
export function unalternating(entries: readonly Entry[]): Entry[] {
  const speakers = entries.filter(isSpeaker);
  return speakers.filter((entry, index) => {
    const before = index === 0 ? "assistant" : speakers[index - 1]?.message.role;
    return entry.message.role === before;
  });
}

function unreasoned(entries: readonly Entry[]): Finding[] {
  const start = entries.findLastIndex((entry) => entry.message.role === "user");
  const callers = entries
    .slice(start + 1)
    .filter((entry) => entry.message.parts.some((part) => part.type === "toolCall"));
  const silent = callers.filter((entry) => !entry.message.parts.some((part) => part.type === "reasoning"));
  return silent.length === callers.length ? [] : silent.map((entry) => atEntry(entry));
}
