import { copyWith, type ImageSize, imageSize, objectOf } from "../codecs/native.ts";
import { carriesCompaction, jsonText } from "../core/message.ts";
import { MOST_IMAGES, MOST_IMAGES_OF_SMALL, mostImages, SMALL_WINDOW } from "../core/policy.ts";
import { isObject } from "../errors.ts";
import { type Cell, type Entry, isBlankText, isSystem, type ReadList, typeOf } from "./entries.ts";
import { openAt } from "./generic.ts";
import { reusedIds } from "./identities.ts";
import type { Spot } from "./pairs.ts";
import { interlopers, misplacedResults, splitResults, unorderedResults } from "./placing.ts";
import {
  at,
  atEntry,
  atSpot,
  badCells,
  badEntries,
  type Done,
  drop,
  dropEntry,
  type Editor,
  type Finding,
  type Rule,
  rewrite,
  rulesOf,
  spotsIn,
} from "./rule.ts";

const TOOLS = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls";
const MESSAGES = 'Claude API reference: "Create a Message", messages';
const THINKING = 'Claude: "Extended thinking", preserving thinking blocks';
const COMPACTION = 'Claude: "Compaction"';
const SYSTEM = "https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages";
const VISION = 'Claude: "Vision", image limits';

/** Cache breakpoints per request. */
const MOST_CACHE_MARKS = 4;

const IMAGES_AT_ONCE = 20;
/** Maximum pixels of the longer side. */
const MOST_PIXELS = 8_000;
/** The limit for lists with more than `MANY_IMAGES` images. */
const MOST_PIXELS_OF_MANY = 2_000;
const MANY_IMAGES = 20;

export const ANTHROPIC_RULES: readonly Rule[] = rulesOf(
  ["anthropic"],
  [
    {
      id: "anthropic/result-in-next-message",
      explanation: "Every result of an assistant message belongs into the user message right behind it.",
      link: TOOLS,
      mend: "The result is moved into that message, which is made where it is missing.",
      check: misplacedResults,
    },
    {
      id: "anthropic/results-first",
      explanation: "Results come first in their user message, before any text.",
      link: TOOLS,
      mend: "The results are moved to the front.",
      check: (list) => interlopers(list, "tool results"),
    },
    {
      id: "anthropic/results-split",
      severity: "warning",
      explanation: "The results of one assistant message are spread over several user messages.",
      link: TOOLS,
      mend: "They are merged into the first.",
      check: (list) => splitResults(list),
    },
    {
      id: "anthropic/unique-call-ids",
      explanation: "The id of a tool use occurs twice in the list.",
      link: TOOLS,
      mend: "The later call and its result get an id of their own.",
      check: reusedIds,
    },
    {
      id: "anthropic/first-user",
      explanation: "The first message must be the user's.",
      link: MESSAGES,
      mend: "A synthetic user message opens the conversation.",
      check: startsWrong,
    },
    {
      id: "anthropic/system-in-messages",
      severity: "warning",
      explanation:
        "System text leads the list: the host has to lift it into the request's own `system` field, because it is refused among the messages.",
      link: MESSAGES,
      check: (list) => systemIn(list).leading.map((entry) => atEntry(entry)),
    },
    {
      id: "anthropic/system-leads",
      explanation:
        "System text follows an assistant message: it can neither be lifted in order nor be sent there.",
      link: SYSTEM,
      mend: "The entry is moved to the front, from where the host lifts it into `system`.",
      check: (list) => leading(list, systemIn(list).stranded),
    },
    {
      id: "anthropic/system-after-user",
      severity: "warning",
      explanation: "System text follows a user message: models before Claude Opus 4.8 refuse it.",
      link: SYSTEM,
      check: (list) => {
        const { trailing, stranded } = systemIn(list);
        return trailing.filter((entry) => !stranded.includes(entry)).map((entry) => atEntry(entry));
      },
    },
    {
      id: "anthropic/thinking-signature",
      explanation: "A thinking block without its signature is refused.",
      link: THINKING,
      mend: "The block is dropped; its text is in `removed`.",
      check: (list) => badCells(list, isUnsigned, drop),
    },
    {
      id: "anthropic/thinking-first",
      explanation: "An assistant message that thinks must begin with the thinking.",
      link: THINKING,
      mend: "The misplaced thinking is dropped; its text is in `removed`.",
      check: (list) => badCells(list, isLateThinking, drop),
    },
    {
      id: "anthropic/server-tool-pair",
      explanation: "A server tool's use and its result belong together in one assistant message.",
      link: 'Claude: "Server tools"',
      mend: "The one without the other is dropped; its text is in `removed`.",
      check: (list) => badCells(list, (cell, entry) => lacksServerPartner(list, entry, cell), drop),
    },
    {
      id: "anthropic/cache-marks",
      explanation: `A request has at most ${MOST_CACHE_MARKS} cache breakpoints, those of system and tools included.`,
      link: 'Claude: "Prompt caching"',
      mend: "The oldest marks are taken off.",
      check: (list) => {
        const marked = marksIn(list);
        const unmark = rewrite((value) => copyWith(value, { cache_control: undefined }));
        const surplus = marked.slice(0, Math.max(0, marked.length - MOST_CACHE_MARKS));
        return surplus.map((spot) => atSpot(spot, undefined, unmark(spot)));
      },
    },
    {
      id: "anthropic/compaction-first",
      explanation: "A compaction block stands first in an assistant message.",
      link: COMPACTION,
      mend: "It is moved to the front; out of another role's message it is dropped, its text is in `removed`.",
      check: (list) =>
        badCells(
          list,
          ({ value }, entry, index) => isCompaction(value) && isLate(entry, index),
          (spot) => (spot.entry.message.role === "assistant" ? compactionFirst(spot) : drop(spot)),
        ),
    },
    {
      id: "anthropic/compaction-newest",
      severity: "warning",
      explanation: "Only the newest compaction block counts; everything before it is ignored.",
      link: COMPACTION,
      check: (list) => badCells(list, (cell) => isCompaction(cell.value)).slice(0, -1),
    },
    {
      id: "anthropic/trailing-whitespace",
      explanation: "The text of a last assistant message must not end in whitespace.",
      link: MESSAGES,
      mend: "The whitespace is taken off.",
      check: (list) => badCells(list, isSpacedEnd, rewrite(withoutTrailingSpace)),
    },
    {
      id: "anthropic/image-size",
      explanation: `An image has at most ${MOST_PIXELS} pixels a side, and ${MOST_PIXELS_OF_MANY} where there are more than ${MANY_IMAGES} images.`,
      link: VISION,
      mend: "Text that names its size stands in its place; the image is in `removed`.",
      check: (list) => {
        const images = imagesIn(list);
        const most = images.length > MANY_IMAGES ? MOST_PIXELS_OF_MANY : MOST_PIXELS;
        return images.flatMap((image) => {
          const { width, height } = image.size ?? { width: 0, height: 0 };
          const problem = `${width} x ${height} pixels, ${most} are accepted`;
          return Math.max(width, height) > most ? [leftOut(image, problem)] : [];
        });
      },
    },
    {
      id: "anthropic/image-count",
      explanation: `A request has at most ${MOST_IMAGES_OF_SMALL} images, ${MOST_IMAGES} with a window over ${SMALL_WINDOW} tokens.`,
      link: VISION,
      mend: `Text stands in the place of the oldest, ${IMAGES_AT_ONCE} at once, so that the prompt cache does not break at each new one; they are in \`removed\`.`,
      check: (list) => {
        const { imagesStay, maxContextTokens = 0 } = list.options;
        if (imagesStay) return [];
        const images = imagesIn(list);
        const over = Math.max(0, images.length - mostImages(list.format, maxContextTokens));
        const surplus = Math.ceil(over / IMAGES_AT_ONCE) * IMAGES_AT_ONCE;
        return images.slice(0, surplus).map((image) => leftOut(image));
      },
    },
    {
      id: "anthropic/empty-text",
      explanation: "A text block must say something, also inside of a result.",
      link: MESSAGES,
      mend: "The block is dropped.",
      check: (list) =>
        badCells(
          list,
          ({ value }) => (typeOf(value) === "text" && isBlankText(value)) || holdsEmptyText(value),
          rewrite((value) =>
            holdsEmptyText(value)
              ? copyWith(value, { content: blocksOf(value).filter((one) => !isEmptyText(one)) })
              : undefined,
          ),
        ),
    },
    {
      id: "anthropic/empty-message",
      explanation: "Only the last assistant message may be empty.",
      link: MESSAGES,
      mend: "The entry is dropped.",
      check: (list) => badEntries(list, isEmptyMessage, dropEntry),
    },
  ],
);

/**
 * The first entry after system text, if it is neither a user message nor the provider's own compaction; also
 * for Gemini.
 */
function startsWrong({ format, entries }: ReadList): Finding[] {
  const first = entries.find((entry) => !isSystem(entry));
  const opens = first === undefined || first.message.role === "user" || carriesCompaction(first.message);
  return opens ? [] : [atEntry(first, undefined, openAt(format, first.position))];
}

/** System entries before all others, after others, and of these after the assistant's. */
function systemIn({ entries }: ReadList): Record<"leading" | "trailing" | "stranded", Entry[]> {
  const found: ReturnType<typeof systemIn> = { leading: [], trailing: [], stranded: [] };
  let speaker: Entry | undefined;
  for (const entry of entries) {
    if (!isSystem(entry)) speaker = entry;
    else if (speaker === undefined) found.leading.push(entry);
    else found.trailing.push(entry);
    if (isSystem(entry) && speaker?.message.role === "assistant") found.stranded.push(entry);
  }
  return found;
}

/** Findings at system entries that are moved to the front, from where the host lifts them. */
function leading(list: ReadList, astray: readonly Entry[]): Finding[] {
  const before = systemIn(list).leading.at(-1)?.position ?? -1;
  return astray.map((entry) =>
    atEntry(entry, undefined, (editor) => {
      editor.replace(entry, undefined);
      editor.insertAfter(before, entry.native, entry);
      return { action: "moved" };
    }),
  );
}

function isUnsigned({ value }: Cell): boolean {
  const { signature, type } = objectOf(value);
  return type === "thinking" && (typeof signature !== "string" || signature === "");
}

/** True for thinking in an entry that begins with text or a call. */
function isLateThinking({ value }: Cell, entry: Entry): boolean {
  if (!/^(redacted_)?thinking$/.test(typeOf(value))) return false;
  // Blank text is skipped: another rule reports it.
  const first = entry.cells.find((cell) => !isBlankText(cell.value));
  return /^(text|tool_use)$/.test(typeOf(first?.value));
}

/** Only the last message may contain a use without its result: the provider then continues. */
function lacksServerPartner(list: ReadList, entry: Entry, cell: Cell): boolean {
  const type = typeOf(cell.value);
  const [part] = cell.parts;
  if (part === undefined || !("id" in part) || /^tool_(use|result)$/.test(type)) return false;
  const partner = part.type === "toolCall" ? "toolResult" : "toolCall";
  const others = assistantRun(list, entry).flatMap((one) => one.message.parts);
  if (others.some((other) => other.type === partner && other.id === part.id)) return false;
  return part.type === "toolResult" || entry !== list.entries.at(-1);
}

/** The entry and its adjacent assistant entries, which count as one message. */
function assistantRun({ entries }: ReadList, entry: Entry): Entry[] {
  const index = entries.indexOf(entry);
  let start = index;
  let end = index + 1;
  while (entries[start - 1]?.message.role === "assistant") start--;
  while (entries[end]?.message.role === "assistant") end++;
  return entries.slice(start, end);
}

/** True for the last text of a final assistant message if it ends in whitespace. */
function isSpacedEnd(cell: Cell, entry: Entry, _index: number, next: Entry | undefined): boolean {
  if (next !== undefined || entry.message.role !== "assistant" || cell !== entry.cells.at(-1)) return false;
  const text = typeof cell.value === "string" ? cell.value : objectOf(cell.value).text;
  return typeof text === "string" && text !== text.trimEnd();
}

function blocksOf(value: unknown): readonly unknown[] {
  const { content } = objectOf(value);
  return typeOf(value) === "tool_result" && Array.isArray(content) ? content : [];
}

function isEmptyText(block: unknown): boolean {
  return typeOf(block) === "text" && objectOf(block).text === "";
}

/** True for a result with an empty text: many tools print nothing. */
function holdsEmptyText(value: unknown): boolean {
  return blocksOf(value).some(isEmptyText);
}

function withoutTrailingSpace(value: unknown): unknown {
  if (typeof value === "string") return value.trimEnd();
  return { ...objectOf(value), text: String(objectOf(value).text).trimEnd() };
}

function isCompaction(value: unknown): boolean {
  return typeOf(value) === "compaction";
}

/** True for a block in a user message, or after other content. */
function isLate({ cells, message }: Entry, index: number): boolean {
  return message.role !== "assistant" || cells.slice(0, index).some(({ value }) => !isCompaction(value));
}

/** The compaction moved to the front of its message. */
function compactionFirst({ entry }: Spot) {
  const isFirst = ({ value }: Cell): number => Number(isCompaction(value));
  return (editor: Editor): Done => {
    editor.keep(
      entry,
      entry.cells.toSorted((a, b) => isFirst(b) - isFirst(a)),
    );
    return { action: "rewritten" };
  };
}

interface FoundImage extends Spot {
  readonly path: string;
  /** Index of the image inside a result. */
  readonly inner?: number;
  /** Size in pixels; undefined if the data is not inline or not a known image type. */
  readonly size: ImageSize | undefined;
}

export function marksIn(list: ReadList): Spot[] {
  return spotsIn(list, ({ value }) => objectOf(value).cache_control != null);
}

/** All images in order, including those in results. */
export function imagesIn(list: ReadList): FoundImage[] {
  return spotsIn(list, () => true).flatMap((spot): FoundImage[] => {
    const { value, path } = spot.cell;
    const { type, content } = objectOf(value);
    if (type === "image") return [{ ...spot, path, size: sizeOf(value) }];
    if (type !== "tool_result" || !Array.isArray(content)) return [];
    return content.flatMap((block: unknown, inner) =>
      typeOf(block) === "image"
        ? [{ ...spot, path: `${path}.content[${inner}]`, inner, size: sizeOf(block) }]
        : [],
    );
  });
}

function sizeOf(block: unknown): ImageSize | undefined {
  const source = objectOf(objectOf(block).source);
  return source.type === "base64" && typeof source.data === "string" ? imageSize(source.data) : undefined;
}

/** A finding at an image that a text replaces; the mend tells the image. */
function leftOut({ entry, cell, path, inner }: FoundImage, problem?: string): Finding {
  const note = { type: "text", text: `[an image was left out: ${problem ?? "there were too many"}]` };
  const image = inner === undefined ? cell.value : blocksOf(cell.value)[inner];
  const replace = rewrite((value) =>
    inner === undefined ? note : copyWith(value, { content: blocksOf(value).with(inner, note) }),
  )({ entry, cell });
  return at(entry, path, problem, (editor) => ({ ...replace(editor), removed: jsonText(image) }));
}

/** True for an empty entry that is not the assistant's last. */
function isEmptyMessage({ native, message }: Entry, next: Entry | undefined): boolean {
  const { content } = native;
  const isEmpty = Array.isArray(content) ? content.length === 0 : isBlankText(content);
  return isEmpty && !(next === undefined && message.role === "assistant");
}

// ---- Gemini

const FUNCTION_CALLING = 'Gemini API: "Function calling with the Gemini API"';
const CONTENTS = 'Gemini API reference: "GenerateContent", contents';

export const GEMINI_RULES: readonly Rule[] = rulesOf(
  ["gemini"],
  [
    {
      id: "gemini/responses-match",
      explanation:
        "The turn behind function calls holds as many responses as there were calls, in their order.",
      link: FUNCTION_CALLING,
      mend: "The responses are moved into that turn and put in order.",
      check: (list) => [
        ...misplacedResults(list),
        ...interlopers(list, "function responses"),
        ...splitResults(list, "the responses are spread over several contents"),
        ...unorderedResults(list),
      ],
    },
    {
      id: "gemini/starts-with-user",
      explanation: "The first content must be the user's, and no function response.",
      link: CONTENTS,
      mend: "A synthetic user content opens the conversation.",
      check: startsWrong,
    },
    {
      id: "gemini/system-in-contents",
      severity: "warning",
      explanation:
        "System text leads the list: the host has to lift it into the request's own `systemInstruction`, because it is refused among the contents.",
      link: CONTENTS,
      check: (list) => systemIn(list).leading.map((entry) => atEntry(entry)),
    },
    {
      id: "gemini/system-leads",
      explanation:
        "System text stands behind other contents, where it cannot be lifted without changing the order.",
      link: CONTENTS,
      mend: "The content is moved to the front, from where the host lifts it into `systemInstruction`.",
      check: (list) => leading(list, systemIn(list).trailing),
    },
    {
      id: "gemini/thought-signature",
      severity: "warning",
      explanation: "A function call of the current turn has lost the thought signature that others have.",
      link: 'Gemini API: "Thought signatures"',
      check: unsignedCalls,
    },
    {
      id: "gemini/empty-parts",
      explanation: "A content must have parts.",
      link: CONTENTS,
      mend: "The content is dropped.",
      check: (list) => badEntries(list, (entry) => entry.cells.length === 0, dropEntry),
    },
  ],
);

/** Only the first call of a step has a signature; models without signatures are not checked. */
function unsignedCalls({ entries }: ReadList): Finding[] {
  const start = entries.findLastIndex((entry) => entry.message.role === "user");
  const called = entries.flatMap(({ cells }) => cells.filter(({ value }) => isCall(value)));
  if (!called.some(({ value }) => isSigned(value))) return [];
  return entries.slice(start + 1).flatMap((entry) => {
    const first = entry.cells.find(({ value }) => isCall(value));
    return first === undefined || isSigned(first.value) ? [] : [at(entry, first.path)];
  });
}

function isCall(value: unknown): boolean {
  return isObject(value) && (isObject(value.functionCall) || isObject(value.function_call));
}

function isSigned(value: unknown): boolean {
  const { thoughtSignature, thought_signature: other } = objectOf(value);
  return typeof (thoughtSignature ?? other) === "string";
}
