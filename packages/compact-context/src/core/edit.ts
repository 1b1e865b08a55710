import { characterStart, isObject } from "../errors.ts";
import {
  argumentsValue,
  carriesCompaction,
  type MediaPart,
  type Message,
  type Part,
  resultText,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
  toolCalls,
} from "./message.ts";
import { splitOwnWords } from "./units.ts";

/** A change to a kept message; stored with the session and re-applied byte for byte. */
export interface Edit {
  /** Replaces tool results with a stub. */
  readonly clear?: true;
  /** Replaces long texts in the arguments of tool calls with a stub. */
  readonly clearInputs?: true;
  /** Ids of calls that this edit leaves unchanged, along with their results. */
  readonly spares?: readonly string[];
  /** Truncates texts longer than this many tokens to head and tail. */
  readonly elideTo?: number;
  /** `elideTo` does not truncate the user's own words, only text injected or pasted into them. */
  readonly sparesOwnWords?: true;
  /** Truncates tool results longer than this many tokens to head and tail. */
  readonly resultsTo?: number;
  /** Removes images and other media: the request has too many bytes. */
  readonly dropMedia?: true;
  /** Removes signed reasoning: the prefix it was bound to has changed. */
  readonly stripReasoning?: true;
  /** The archive could not be written, so stubs contain no archive id. */
  readonly unarchived?: true;
  /** The edit of a later compaction, applied to the result of this one. */
  readonly next?: Edit;
}

/** True if an edit removes text that a summary should cover. */
export function losesText(edit: Edit | undefined): boolean {
  return edit !== undefined && (edit.clear === true || edit.elideTo !== undefined);
}

/** The edit, without effect on these calls and their results. */
export function sparing(edit: Edit, ids: readonly string[]): Edit {
  return ids.length === 0 ? edit : { ...edit, spares: ids };
}

export interface EditContext {
  countText(text: string): number;
  /** The archive id of the original; omitted if nothing is archived. */
  readonly archiveId?: (message: Message) => string;
}

/** The message with the edit applied; the same object if nothing changes. */
export function applyEdit(message: Message, edit: Edit | undefined, context: EditContext): Message {
  if (edit === undefined) return message;
  const edited = applyOnce(message, edit, context);
  return edit.next === undefined ? edited : applyEdit(edited, edit.next, context);
}

/** True for a part that the edit may change. */
function concerns(
  { clear, clearInputs, elideTo, resultsTo, dropMedia, stripReasoning }: Edit,
  { type }: Part,
): boolean {
  if (elideTo !== undefined || resultsTo !== undefined || dropMedia || stripReasoning) return true;
  return type === "toolResult" ? clear === true : type === "toolCall" && clearInputs === true;
}

function applyOnce(message: Message, edit: Edit, context: EditContext): Message {
  if (!message.parts.some((part) => concerns(edit, part))) return message;
  const { archiveId } = context;
  const isHeld = archiveId !== undefined && edit.unarchived !== true;
  const pointer = isHeld ? `; archive id ${archiveId(message)}` : "";
  const isFixed = fixedParts(message, edit);
  const bound = edit.stripReasoning === true ? boundReasoning(message) : NOTHING;
  const stays = message.parts.filter((part) => !bound.has(part));
  let changed = stays.length < message.parts.length;
  const parts = stays.map((part) => {
    const edited = isFixed(part) ? part : editPart(part, edit, { pointer, context });
    changed ||= edited !== part;
    return edited;
  });
  return changed ? { ...message, parts, edited: true } : message;
}

function editPart(part: Part, edit: Edit, about: Omit<Elision, "cap">): Part {
  const { pointer, context } = about;
  const emptied =
    edit.clear === true && part.type === "toolResult" ? clearResult(part, pointer, context) : part;
  const cleared =
    edit.clearInputs === true && emptied.type === "toolCall"
      ? editArguments(emptied, (text) => inputStub(text, about))
      : emptied;
  const cut = edit.elideTo === undefined ? cleared : elideBy(edit, cleared, { ...about, cap: edit.elideTo });
  const short = edit.resultsTo === undefined ? cut : truncateResult(cut, { ...about, cap: edit.resultsTo });
  return edit.dropMedia === true ? withoutMedia(short, pointer) : short;
}

const NOTHING: ReadonlySet<Part> = new Set();

/** Reasoning that its provider accepts only after the same messages, except the provider's own compaction. */
function boundReasoning(message: Message): ReadonlySet<Part> {
  const free = carriesCompaction(message) ? 1 : 0;
  return new Set(
    message.parts.slice(free).filter((part) => part.type === "reasoning" && part.signed === true),
  );
}

/** True for a message with reasoning that is bound to the messages before it. */
export function hasBoundReasoning(message: Message): boolean {
  return boundReasoning(message).size > 0;
}

/** Items whose output is no text: tools that were found, screenshots, and what each command of a shell gave. */
const SHAPED = /^(?:tool_search_output|shell_call_output|computer_call_(?:output|result))$/;

/**
 * Parts that providers accept only unchanged: provider-executed calls with their results, and items that are
 * neither messages nor calls. Calls spared by the edit are included.
 */
function fixedParts(message: Message, { spares = [] }: Edit): (part: Part) => boolean {
  const byProvider = toolCalls(message).filter((call) => call.providerExecuted === true);
  const fixed = new Set([...spares, ...byProvider.map((call) => call.id)]);
  const item = itemType(message);
  return (part) => {
    if (part.type === "toolCall" || part.type === "toolResult")
      return fixed.has(part.id) || SHAPED.test(item ?? "");
    return item !== undefined;
  };
}

/** The type of an item of the Responses API or the Agents SDK; undefined for a message. */
function itemType({ native, format }: Message): string | undefined {
  if (format !== "openai-responses" && format !== "openai-agents") return undefined;
  const type = isObject(native) ? native.type : undefined;
  return typeof type === "string" && type !== "message" ? type : undefined;
}

/** A stub has 20 to 40 tokens: results that are only slightly longer are not cleared. */
const WORTH_CLEARING = 64;

function clearResult(part: ToolResultPart, pointer: string, context: EditContext): ToolResultPart {
  const text = resultText(part);
  const hasMedia = typeof part.content !== "string" && part.content.some((piece) => piece.type === "media");
  const tokens = context.countText(text);
  if (tokens <= WORTH_CLEARING && !hasMedia) return part;
  const what = hasMedia ? `${tokens} tokens and media` : `${tokens} tokens`;
  return { ...part, content: `[tool output cleared: ${what}${pointer}]` };
}

function inputStub(text: string, { pointer, context }: Omit<Elision, "cap">): string {
  if (text.length <= WORTH_CLEARING) return text;
  const tokens = context.countText(text);
  return tokens <= WORTH_CLEARING ? text : `[tool input cleared: ${tokens} tokens${pointer}]`;
}

/** Cost of an image of unknown size; a smaller cap leaves no room for one. */
const MEDIA_TOKENS = 1500;

interface Elision {
  readonly cap: number;
  readonly pointer: string;
  readonly context: EditContext;
}

function elideBy(edit: Edit, part: Part, elision: Elision): Part {
  if (edit.sparesOwnWords !== true || part.type !== "text") return elidePart(part, elision);
  const pieces = splitOwnWords(part.text).map(({ text, own }) => (own ? text : elideText(text, elision)));
  const text = pieces.join("");
  return text === part.text ? part : { ...part, text };
}

function elidePart(part: Part, elision: Elision): Part {
  if (part.type === "text") {
    const text = elideText(part.text, elision);
    return text === part.text ? part : { ...part, text };
  }
  if (part.type === "media" && elision.cap < MEDIA_TOKENS) {
    return { type: "text", text: `[${part.mediaType} elided${elision.pointer}]` };
  }
  if (part.type === "toolResult") return elideResult(part, elision);
  if (part.type === "toolCall") return editArguments(part, (text) => elideText(text, elision));
  return part;
}

function elideResult(part: ToolResultPart, elision: Elision): ToolResultPart {
  if (typeof part.content !== "string" && part.content.some((piece) => piece.type === "media")) {
    const text = elideText(resultText(part), elision);
    return { ...part, content: text === "" ? `[media elided${elision.pointer}]` : text };
  }
  const before = resultText(part);
  const text = elideText(before, elision);
  return text === before ? part : { ...part, content: text };
}

/** Tokens reserved for the marker between head and tail. */
const MARKER_TOKENS = 40;

/** Truncates a result's text so that head, tail and marker fit the cap; media are kept. */
function truncateResult(part: Part, elision: Elision): Part {
  if (part.type !== "toolResult") return part;
  const { cap, context } = elision;
  const before = resultText(part);
  if (before.length <= cap || context.countText(before) <= cap) return part;
  let aim = Math.max(cap - MARKER_TOKENS, 8);
  let text = elideText(before, { ...elision, cap: aim });
  while (context.countText(text) > cap && aim > 8) {
    aim = Math.max(8, Math.floor(aim * 0.8));
    text = elideText(before, { ...elision, cap: aim });
  }
  if (typeof part.content === "string") return { ...part, content: text };
  const media = part.content.filter((piece) => piece.type === "media");
  return { ...part, content: media.length === 0 ? text : [{ type: "text", text }, ...media] };
}

/** Replaces media with a line that states type, size and archive id. */
function withoutMedia(part: Part, pointer: string): Part {
  if (part.type === "media") return leftOut(part, pointer);
  if (part.type !== "toolResult" || typeof part.content === "string") return part;
  if (!part.content.some((piece) => piece.type === "media")) return part;
  return {
    ...part,
    content: part.content.map((piece) => (piece.type === "media" ? leftOut(piece, pointer) : piece)),
  };
}

function leftOut(part: MediaPart, pointer: string): TextPart {
  return { type: "text", text: `[${part.mediaType} left out: ${Math.ceil(part.bytes / 1000)} KB${pointer}]` };
}

/** Edits the strings inside the arguments, so that they stay JSON of the same shape. */
function editArguments(part: ToolCallPart, edit: (text: string) => string): ToolCallPart {
  const value = argumentsValue(part);
  if (typeof value === "string") {
    const text = edit(value);
    return text === value ? part : { ...part, arguments: text };
  }
  const cut = editStrings(value, edit, 0);
  if (cut === value) return part;
  return { ...part, arguments: typeof part.arguments === "string" ? JSON.stringify(cut) : cut };
}

function editStrings(value: unknown, edit: (text: string) => string, depth: number): unknown {
  if (typeof value === "string") return edit(value);
  if (typeof value !== "object" || value === null || depth > 16) return value;
  let changed = false;
  const each = (item: unknown): unknown => {
    const cut = editStrings(item, edit, depth + 1);
    changed ||= cut !== item;
    return cut;
  };
  const copy = Array.isArray(value)
    ? value.map(each)
    : Object.fromEntries(Object.entries(value).map(([key, item]) => [key, each(item)]));
  return changed ? copy : value;
}

/**
 * Head (three fifths) and tail of a text with a marker in between; the text itself if it is within `cap`
 * tokens.
 */
function elideText(text: string, { cap, pointer, context }: Elision): string {
  if (text.length <= cap) return text;
  const tokens = context.countText(text);
  if (tokens <= cap) return text;
  const characters = Math.floor((text.length * cap) / tokens);
  const headEnd = characterStart(text, Math.ceil(characters * 0.6));
  const tailStart = characterStart(text, text.length - Math.floor(characters * 0.4));
  return `${text.slice(0, headEnd)}\n[… about ${tokens - cap} tokens elided${pointer} …]\n${text.slice(tailStart)}`;
}
