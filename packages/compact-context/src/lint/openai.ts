import { copyWith, type NativeObject, objectOf } from "../codecs/native.ts";
import { isCompactionType } from "../core/message.ts";
import { type Entry, isSealed, isSystem, type ReadList, typeOf } from "./entries.ts";
import { openAt, openingEntry } from "./generic.ts";
import { pairCalls } from "./pairs.ts";
import { misplacedResults } from "./placing.ts";
import {
  at,
  atEntry,
  badEntries,
  changeFields,
  type Done,
  dropEntry,
  type Editor,
  type Finding,
  type Rule,
  rewrite,
  rulesOf,
} from "./rule.ts";

const FUNCTION_CALLING = 'OpenAI: "Function calling"';
const TEMPLATES = 'Hugging Face: "Chat templates"; Mistral and other templates refuse other orders';

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
      check: (list) => badEntries(list, saysNothing, dropEntry),
    },
    {
      id: "openai-chat/strict-system-first",
      explanation: "A strict template takes one system message, and only as the first (with `strict`).",
      link: TEMPLATES,
      mend: "System messages are merged into one at the beginning.",
      check: (list) => (list.options.strict === true ? lateSystem(list) : []),
    },
    {
      id: "openai-chat/strict-alternation",
      explanation:
        "A strict template wants user and assistant in turn, beginning with the user (with `strict`).",
      link: TEMPLATES,
      mend: "Messages of one role in a row are merged; where calls lie between, a synthetic message parts them.",
      check: ({ entries, options }) => (options.strict === true ? unalternating(entries) : []),
    },
    {
      id: "openai-chat/strict-needs-user",
      explanation: "A strict template wants at least one user message (with `strict`).",
      link: TEMPLATES,
      mend: "A synthetic user message opens the conversation.",
      check: (list) => (list.options.strict === true ? missingUser(list) : []),
    },
    {
      id: "openai-chat/reasoning-consistent",
      explanation:
        "In the open tool loop some calls carry their reasoning and others do not: DeepSeek refuses them (with `strict`).",
      link: 'DeepSeek: "Thinking Mode", the `reasoning_content` in the API must be passed back; xAI: "Prompt Caching"',
      mend: "Calls without it get an empty `reasoning_content`.",
      check: ({ entries, options }) => (options.strict === true ? unreasoned(entries) : []),
    },
  ],
);

/** True for a message without any content, call or refusal. */
function saysNothing({ native, message }: Entry): boolean {
  if (message.role === "tool" || message.parts.some((part) => part.type !== "reasoning")) return false;
  const { content } = native;
  return content === null || content === undefined || (Array.isArray(content) && content.length === 0);
}

/** True for a user message, and for an assistant message without calls. */
function isSpeaker({ message }: Entry): boolean {
  if (message.role === "user") return true;
  return message.role === "assistant" && !message.parts.some((part) => part.type === "toolCall");
}

/** Messages that repeat the role of the one before, calls and results aside. */
function unalternating(entries: readonly Entry[]): Finding[] {
  let before = "assistant";
  /** A speaker, and the repetitions that directly follow. */
  let run: Entry[] = [];
  return entries.flatMap((entry, index) => {
    if (!isSpeaker(entry)) return [];
    const { role } = entry.message;
    const repeats = role === before;
    before = role;
    if (repeats && run.length > 0 && run.at(-1) === entries[index - 1]) run.push(entry);
    else run = [entry];
    // It still grows; mends run once every entry has been looked at.
    const own = run;
    return repeats ? [atEntry(entry, undefined, (editor) => alternate(editor, own, entry))] : [];
  });
}

/** Merges a message with the first of its run; where calls lie before it, a synthetic message parts them. */
function alternate(editor: Editor, run: readonly Entry[], entry: Entry): Done {
  const [first] = run;
  if (first !== undefined && entry !== first) {
    editor.replace(first, merged(run));
    editor.replace(entry, undefined);
    return { action: "merged" };
  }
  const reply = { role: "assistant", content: "[no reply was recorded]" };
  const added = entry.message.role === "user" ? reply : openingEntry("openai-chat");
  editor.insertAfter(entry.position - 1, added, entry);
  return { action: "added", added };
}

/** System messages that do not lead: all are merged into one that does. */
function lateSystem({ entries }: ReadList): Finding[] {
  const systems = entries.filter(isSystem);
  const [first] = systems;
  const late = systems.filter((entry) => entry !== entries[0]);
  const lead = (editor: Editor): Done => {
    editor.once(systems, () => {
      for (const entry of systems) editor.replace(entry, undefined);
      if (first !== undefined)
        editor.insertAfter(-1, systems.length > 1 ? merged(systems) : first.native, first);
    });
    return { action: systems.length > 1 ? "merged" : "moved" };
  };
  return late.map((entry) => atEntry(entry, undefined, lead));
}

/** The first entry with the contents of all entries. */
function merged(entries: readonly Entry[]): unknown {
  const [first] = entries;
  const contents = entries.map((entry) => entry.native.content ?? "");
  const content = contents.every((one) => typeof one === "string")
    ? contents.join("\n\n")
    : contents.flatMap((one) => (typeof one === "string" ? [{ type: "text", text: one }] : one));
  return copyWith(first?.native ?? {}, { content });
}

function missingUser({ format, entries, length }: ReadList): Finding[] {
  if (length === 0 || entries.some((entry) => entry.message.role === "user")) return [];
  const position = entries.find((entry) => !isSystem(entry))?.position ?? length;
  return [{ position: 0, path: "messages", fix: openAt(format, position) }];
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
  return silent.length === callers.length
    ? []
    : silent.map((entry) => atEntry(entry, undefined, changeFields(entry, { reasoning_content: "" })));
}

export const STATE = "https://platform.openai.com/docs/guides/conversation-state";
const REASONING = "https://cookbook.openai.com/examples/responses_api/reasoning_items";
const COMPACTION = 'OpenAI: "Compaction", /responses/compact';

/** Items of the Responses API and of the Agents SDK. */
export const ITEM_RULES: readonly Rule[] = rulesOf(
  ["openai-responses", "openai-agents"],
  [
    {
      id: "items/reasoning-followed",
      explanation: "A reasoning item must be followed by the message or call that it led to.",
      link: STATE,
      mend: "The reasoning item is dropped.",
      check: (list) => badEntries(list, isDangling, dropEntry),
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
          return [at(result.entry, `${result.cell.path}.type`, problem, retyped(typeOf(cell.value))(result))];
        }),
    },
    {
      id: "items/compaction-newest",
      severity: "warning",
      explanation: "Only the newest compaction item counts; older ones are paid for and say nothing.",
      link: COMPACTION,
      check: (list) => badEntries(list, isCompaction).slice(0, -1),
    },
    {
      id: "items/compaction-sealed",
      explanation: "A compaction item without its encrypted content holds nothing.",
      link: COMPACTION,
      mend: "The item is dropped.",
      check: (list) => badEntries(list, (entry) => isCompaction(entry) && !isSealed(entry.native), dropEntry),
    },
    {
      id: "items/sealed-for-other-model",
      severity: "warning",
      explanation: "Encrypted content can only be read by the model that made it (with `model`).",
      link: REASONING,
      check: ({ entries, options: { model } }) =>
        model === undefined
          ? []
          : entries
              .filter(
                ({ native }) =>
                  isSealed(native) && modelOf(native) !== undefined && modelOf(native) !== model,
              )
              .map((entry) => atEntry(entry, `sealed by ${modelOf(entry.native)}, to be sent to ${model}`)),
    },
  ],
);

/** True for reasoning items that no assistant item follows. */
function isDangling({ native }: Entry, next: Entry | undefined): boolean {
  return typeOf(native) === "reasoning" && (next?.message.role !== "assistant" || isCompaction(next));
}

/** The fix of an output of another type than its call: only text can become any output. */
const retyped = (call: string): ReturnType<typeof rewrite> =>
  rewrite((value) =>
    typeof value.output === "string" && /^(function|custom_tool)_call$/.test(call) && "call_id" in value
      ? copyWith(value, { type: `${call}_output` })
      : undefined,
  );

/** Some hosts answer a local shell call like a function call. */
function isMatching(call: string, output: string): boolean {
  const answered = output.replace(/_(output|result)$/, "");
  if (call === output || !call.endsWith("_call")) return true;
  if (call === "local_shell_call" && answered === "function_call") return true;
  return answered === call || `${answered}_call` === call;
}

function isCompaction({ native }: Entry): boolean {
  return isCompactionType(typeOf(native));
}

function modelOf({ model, providerData }: NativeObject): string | undefined {
  return [model, objectOf(providerData).model].find((one) => typeof one === "string");
}
