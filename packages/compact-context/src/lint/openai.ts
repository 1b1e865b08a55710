import { copyWith } from "../codecs/native.ts";
import { type Format, isCompactionType } from "../core/message.ts";
import { isObject } from "../errors.ts";
import { type Entry, isSystem, type ReadList, typeOf } from "./entries.ts";
import { batchesOf, isInPlace, pairCalls } from "./pairs.ts";
import { at, atEntry, drop, type Finding, type Rule, rulesOf } from "./rule.ts";

const FUNCTION_CALLING = 'OpenAI: "Function calling"';
const TEMPLATES = 'Hugging Face: "Chat templates"; Mistral and other templates refuse other orders';

/** Chat Completions and compatible formats. */
export const OPENAI_CHAT_RULES: readonly Rule[] = rulesOf(
  ["openai-chat"],
  [
    {
      id: "openai-chat/results-follow-call",
      explanation:
        "An assistant message with tool calls must be followed by their tool messages before any other.",
      link: FUNCTION_CALLING,
      mend: "The result is moved behind its call.",
      check: misplacedResults,
    },
    {
      id: "openai-chat/null-content",
      explanation: "A message without content is only accepted when it calls tools.",
      link: 'OpenAI API reference: "Create chat completion", messages',
      mend: "The entry is dropped.",
      check: ({ entries }) => entries.filter(saysNothing).map((entry) => atEntry(entry)),
      fix: drop,
    },
    {
      id: "openai-chat/strict-system-first",
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
      explanation:
        "A strict template wants user and assistant in turn, beginning with the user (with `strict`).",
      link: TEMPLATES,
      mend: "Messages of one role in a row are merged; where calls lie between, a synthetic message parts them.",
      check: ({ entries }, { strict }) =>
        strict === true ? unalternating(entries).map((e) => atEntry(e)) : [],
    },
    {
      id: "openai-chat/strict-needs-user",
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
      explanation:
        "In the open tool loop some calls carry their reasoning and others do not: DeepSeek refuses them (with `strict`).",
      link: 'DeepSeek: "Thinking Mode", the `reasoning_content` in the API must be passed back; xAI: "Prompt Caching"',
      mend: "Calls without it get an empty `reasoning_content`.",
      check: ({ entries }, { strict }) => (strict === true ? unreasoned(entries) : []),
      fix: (value) => copyWith(value, { reasoning_content: "" }),
    },
  ],
);

/** Results outside the place that their format requires. */
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
function saysNothing({ native, message }: Entry): boolean {
  if (message.role === "tool" || message.parts.some((part) => part.type !== "reasoning")) return false;
  const { content } = native;
  return content === null || content === undefined || (Array.isArray(content) && content.length === 0);
}

/** True for a user message, and for an assistant message without calls. */
export function isSpeaker({ message }: Entry): boolean {
  if (message.role === "user") return true;
  return message.role === "assistant" && !message.parts.some((part) => part.type === "toolCall");
}

/** Calls and results are skipped: the remaining messages must alternate. */
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
  const silent = callers.filter(
    ({ native, message }) =>
      typeof native.reasoning_content !== "string" &&
      !message.parts.some((part) => part.type === "reasoning"),
  );
  return silent.length === callers.length ? [] : silent.map((entry) => atEntry(entry));
}

const FORMATS: readonly Format[] = ["openai-responses", "openai-agents"];
export const STATE = "https://platform.openai.com/docs/guides/conversation-state";
const REASONING = "https://cookbook.openai.com/examples/responses_api/reasoning_items";
const COMPACTION = 'OpenAI: "Compaction", /responses/compact';

/** Items of the Responses API and of the Agents SDK. */
export const ITEM_RULES: readonly Rule[] = rulesOf(FORMATS, [
  {
    id: "items/reasoning-followed",
    explanation: "A reasoning item must be followed by the message or call that it led to.",
    link: STATE,
    mend: "The reasoning item is dropped.",
    check: (list) => danglingReasoning(list).map((entry) => atEntry(entry)),
    fix: drop,
  },
  {
    id: "items/output-type",
    explanation: "The output is of another type than its call.",
    link: 'OpenAI API reference: "Create a model response", input items',
    mend: "An output of text gets the type of its call; any other is dropped, its text is in `removed`.",
    check: (list) =>
      pairCalls(list).calls.flatMap(({ cell, result }) => {
        if (result === undefined || isMatching(typeOf(cell.value), typeOf(result.cell.value))) return [];
        const problem = `"${typeOf(result.cell.value)}" does not answer a "${typeOf(cell.value)}"`;
        return [{ ...at(result.entry, `${result.cell.path}.type`, problem), wanted: typeOf(cell.value) }];
      }),
    fix: (value, { wanted }) =>
      typeof value.output === "string" &&
      /^(function|custom_tool)_call$/.test(wanted ?? "") &&
      "call_id" in value
        ? copyWith(value, { type: `${wanted}_output` })
        : undefined,
  },
  {
    id: "items/compaction-newest",
    severity: "warning",
    explanation: "Only the newest compaction item counts; older ones are paid for and say nothing.",
    link: COMPACTION,
    check: ({ entries }) => {
      const compactions = entries.filter((entry) => isCompaction(entry.native));
      return compactions.slice(0, -1).map((entry) => atEntry(entry));
    },
  },
  {
    id: "items/compaction-sealed",
    explanation: "A compaction item without its encrypted content holds nothing.",
    link: COMPACTION,
    mend: "The item is dropped.",
    check: ({ entries }) =>
      entries.filter((entry) => isEmptyCompaction(entry.native)).map((entry) => atEntry(entry)),
    fix: drop,
  },
  {
    id: "items/sealed-for-other-model",
    severity: "warning",
    explanation: "Encrypted content can only be read by the model that made it (with `model`).",
    link: REASONING,
    check: ({ entries }, { model }) =>
      model === undefined
        ? []
        : entries
            .filter(
              ({ native }) => isSealed(native) && modelOf(native) !== undefined && modelOf(native) !== model,
            )
            .map((entry) => atEntry(entry, `sealed by ${modelOf(entry.native)}, to be sent to ${model}`)),
  },
]);

/** Reasoning items that no assistant item follows. */
function danglingReasoning({ entries }: ReadList): Entry[] {
  return entries.filter(({ native }, index) => {
    if (typeOf(native) !== "reasoning") return false;
    const next = entries[index + 1];
    return next === undefined || next.message.role !== "assistant" || isCompaction(next.native);
  });
}

/** Some hosts answer a local shell call like a function call. */
function isMatching(call: string, output: string): boolean {
  const answered = output.replace(/_(output|result)$/, "");
  if (call === output || !call.endsWith("_call")) return true;
  return answered === call || (call === "local_shell_call" && answered === "function_call");
}

function isCompaction(native: unknown): boolean {
  return isCompactionType(typeOf(native));
}

/** True for a compaction item without its content. */
function isEmptyCompaction(native: unknown): boolean {
  return isCompaction(native) && !isSealed(native);
}

/** True for an item that carries its content for the provider. */
export function isSealed(native: unknown): boolean {
  if (!isObject(native)) return false;
  const data = isObject(native.providerData) ? native.providerData : {};
  return [native, data].some((bag) =>
    [bag.encrypted_content, bag.encryptedContent].some((seal) => typeof seal === "string" && seal !== ""),
  );
}

function modelOf(native: unknown): string | undefined {
  if (!isObject(native)) return undefined;
  const data = isObject(native.providerData) ? native.providerData : {};
  return [native.model, data.model].find((model) => typeof model === "string");
}
