import { objectOf } from "../../codecs/native.ts";
import { carriesCompaction } from "../../core/message.ts";
import {
  at,
  atEntry,
  badCells,
  type Cell,
  type Entry,
  type Finding,
  isBlankText,
  isSystem,
  type ReadList,
  type Rule,
  typeOf,
} from "../entries.ts";
import { batchesOf, firstInterloper, holdersOf, isSplit, pairCalls } from "../pairs.ts";
import { misplacedResults } from "./openai.ts";

const FORMATS = ["anthropic"] as const;
const TOOLS = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls";
const MESSAGES = 'Claude API reference: "Create a Message", messages';
const THINKING = 'Claude: "Extended thinking", preserving thinking blocks';
const COMPACTION = 'Claude: "Compaction"';

/** Breakpoints that one request may set. */
const MOST_CACHE_MARKS = 4;

/** Anthropic Messages. */
export const ANTHROPIC_RULES: readonly Rule[] = [
  {
    id: "anthropic/result-in-next-message",
    formats: FORMATS,
    severity: "error",
    explanation: "Every result of an assistant message belongs into the user message right behind it.",
    link: TOOLS,
    mend: "The result is moved into that message, which is made where it is missing.",
    check: misplacedResults,
  },
  {
    id: "anthropic/results-first",
    formats: FORMATS,
    severity: "error",
    explanation: "Results come first in their user message, before any text.",
    link: TOOLS,
    mend: "The results are moved to the front.",
    check: (list) =>
      batchesOf(list).flatMap((batch) => {
        const found = firstInterloper(batch);
        return found === undefined ? [] : [at(found.entry, found.path, "stands before tool results")];
      }),
  },
  {
    id: "anthropic/results-split",
    formats: FORMATS,
    severity: "warning",
    explanation: "The results of one assistant message are spread over several user messages.",
    link: TOOLS,
    mend: "They are merged into the first.",
    check: (list) =>
      batchesOf(list)
        .filter(isSplit)
        .flatMap((batch) => holdersOf(batch).slice(1))
        .map((entry) => atEntry(entry)),
  },
  {
    id: "anthropic/unique-call-ids",
    formats: FORMATS,
    severity: "error",
    explanation: "The id of a tool use occurs twice in the list.",
    link: TOOLS,
    mend: "The later call and its result get an id of their own.",
    check: (list) => reusedCalls(list).map(({ entry, cell }) => at(entry, cell.path)),
  },
  {
    id: "anthropic/first-user",
    formats: FORMATS,
    severity: "error",
    explanation: "The first message must be the user's.",
    link: MESSAGES,
    mend: "A synthetic user message opens the conversation.",
    check: (list) => startsWrong(list).map((entry) => atEntry(entry)),
  },
  {
    id: "anthropic/system-in-messages",
    formats: FORMATS,
    severity: "error",
    explanation: "System text belongs into the request's own `system` field, not among the messages.",
    link: MESSAGES,
    check: ({ entries }) => entries.filter(isSystem).map((entry) => atEntry(entry)),
  },
  {
    id: "anthropic/system-leads",
    formats: FORMATS,
    severity: "error",
    explanation:
      "System text stands behind other messages, where it cannot be lifted without changing the order.",
    link: MESSAGES,
    mend: "The entry is moved to the front, from where the host lifts it into `system`.",
    check: (list) => trailingSystem(list).map((entry) => atEntry(entry)),
  },
  {
    id: "anthropic/thinking-signature",
    formats: FORMATS,
    severity: "error",
    explanation: "A thinking block without its signature is refused.",
    link: THINKING,
    mend: "The block is dropped; its text is in `removed`.",
    check: (list) => badCells(list, isUnsigned),
  },
  {
    id: "anthropic/thinking-first",
    formats: FORMATS,
    severity: "error",
    explanation: "An assistant message that thinks must begin with the thinking.",
    link: THINKING,
    mend: "The misplaced thinking is dropped; its text is in `removed`.",
    check: (list) => badCells(list, isLateThinking),
  },
  {
    id: "anthropic/server-tool-pair",
    formats: FORMATS,
    severity: "error",
    explanation: "A server tool's use and its result belong together in one assistant message.",
    link: 'Claude: "Server tools"',
    mend: "The one without the other is dropped; its text is in `removed`.",
    check: (list) => badCells(list, (cell, entry) => lacksServerPartner(list, entry, cell)),
  },
  {
    id: "anthropic/cache-marks",
    formats: FORMATS,
    severity: "error",
    explanation: `A request has at most ${MOST_CACHE_MARKS} cache breakpoints, those of system and tools included.`,
    link: 'Claude: "Prompt caching"',
    mend: "The oldest marks are taken off.",
    check: (list) => surplusMarks(list).map(({ entry, cell }) => at(entry, cell.path)),
  },
  {
    id: "anthropic/compaction-first",
    formats: FORMATS,
    severity: "error",
    explanation: "A compaction block stands first in an assistant message.",
    link: COMPACTION,
    check: (list) =>
      badCells(
        list,
        (cell, entry, index) =>
          typeOf(cell.value) === "compaction" && (index > 0 || entry.message.role !== "assistant"),
      ),
  },
  {
    id: "anthropic/compaction-newest",
    formats: FORMATS,
    severity: "warning",
    explanation: "Only the newest compaction block counts; everything before it is ignored.",
    link: COMPACTION,
    check: (list) => badCells(list, (cell) => typeOf(cell.value) === "compaction").slice(0, -1),
  },
  {
    id: "anthropic/trailing-whitespace",
    formats: FORMATS,
    severity: "error",
    explanation: "The text of a last assistant message must not end in whitespace.",
    link: MESSAGES,
    mend: "The whitespace is taken off.",
    check: (list) => {
      const last = spacedEnd(list);
      return last === undefined ? [] : [at(last.entry, last.cell.path)];
    },
  },
  {
    id: "anthropic/empty-text",
    formats: FORMATS,
    severity: "error",
    explanation: "A text block must say something.",
    link: MESSAGES,
    mend: "The block is dropped.",
    check: (list) => badCells(list, ({ value }) => typeOf(value) === "text" && isBlankText(value)),
  },
  {
    id: "anthropic/empty-message",
    formats: FORMATS,
    severity: "error",
    explanation: "Only the last assistant message may be empty.",
    link: MESSAGES,
    mend: "The entry is dropped.",
    check: (list) =>
      list.entries.filter((entry) => isEmptyMessage(entry, list)).map((e): Finding => atEntry(e)),
  },
];

/** Calls whose id an answered call before them had. */
export function reusedCalls(list: ReadList): ReturnType<typeof pairCalls>["calls"][number][] {
  const taken = new Set<string>();
  return pairCalls(list).calls.filter(({ part }) => {
    const reused = taken.has(part.id);
    taken.add(part.id);
    return reused;
  });
}

/** The first entry that is not system text, when it is neither the user's nor the provider's own compaction; also for Gemini. */
export function startsWrong({ entries }: ReadList): Entry[] {
  const first = entries.find((entry) => !isSystem(entry));
  const opens = first === undefined || first.message.role === "user" || carriesCompaction(first.message);
  return opens ? [] : [first];
}

/** System entries behind others. */
export function trailingSystem({ entries }: ReadList): Entry[] {
  const start = entries.findIndex((entry) => !isSystem(entry));
  return start === -1 ? [] : entries.slice(start).filter(isSystem);
}

/** True for thinking without a signature. */
export function isUnsigned({ value }: Cell): boolean {
  const { signature, type } = objectOf(value);
  return type === "thinking" && (typeof signature !== "string" || signature === "");
}

/** True for thinking in an entry that begins with something said or called. */
export function isLateThinking({ value }: Cell, entry: Entry): boolean {
  if (!/^(redacted_)?thinking$/.test(typeOf(value))) return false;
  // A blank text is no beginning: it is refused for itself.
  const first = entry.cells.find((cell) => !isBlankText(cell.value));
  return /^(text|tool_use)$/.test(typeOf(first?.value));
}

/** A use may wait for its result in the last message only: the provider then goes on. */
export function lacksServerPartner(list: ReadList, entry: Entry, cell: Cell): boolean {
  const type = typeOf(cell.value);
  const [part] = cell.parts;
  if (part === undefined || !("id" in part) || /^tool_(use|result)$/.test(type)) return false;
  const partner = part.type === "toolCall" ? "toolResult" : "toolCall";
  const others = assistantRun(list, entry).flatMap((one) => one.message.parts);
  if (others.some((other) => other.type === partner && other.id === part.id)) return false;
  return part.type === "toolResult" || entry !== list.entries.at(-1);
}

/** The entry with the assistant entries next to it, which count as one message. */
function assistantRun({ entries }: ReadList, entry: Entry): Entry[] {
  const index = entries.indexOf(entry);
  let start = index;
  let end = index + 1;
  while (entries[start - 1]?.message.role === "assistant") start--;
  while (entries[end]?.message.role === "assistant") end++;
  return entries.slice(start, end);
}

/** The oldest of more cache marks than are allowed. */
export function surplusMarks(list: ReadList): { readonly entry: Entry; readonly cell: Cell }[] {
  const marked = list.entries.flatMap((entry) =>
    entry.cells.filter(({ value }) => objectOf(value).cache_control != null).map((cell) => ({ entry, cell })),
  );
  return marked.slice(0, Math.max(0, marked.length - MOST_CACHE_MARKS));
}

/** The last text of a last assistant message, when it ends in whitespace. */
export function spacedEnd({ entries }: ReadList): { readonly entry: Entry; readonly cell: Cell } | undefined {
  const entry = entries.at(-1);
  const cell = entry?.cells.at(-1);
  if (entry?.message.role !== "assistant" || cell === undefined) return undefined;
  const text = typeof cell.value === "string" ? cell.value : objectOf(cell.value).text;
  return typeof text === "string" && text !== text.trimEnd() ? { entry, cell } : undefined;
}

/** True for an entry that must not be empty and is. */
export function isEmptyMessage(entry: Entry, { entries }: ReadList): boolean {
  const { content } = entry.native;
  const isEmpty = Array.isArray(content) ? content.length === 0 : isBlankText(content);
  return isEmpty && !(entry === entries.at(-1) && entry.message.role === "assistant");
}
