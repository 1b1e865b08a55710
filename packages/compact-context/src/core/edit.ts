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
import type { TokenCounter } from "./ports.ts";
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

/** How originals are counted and named in what stands for them; a request and a view are contexts. */
export interface EditContext {
  readonly counter: Pick<TokenCounter, "countText">;
  /** The archive id of the original; omitted if nothing is archived. */
  readonly archiveId?: (message: Message) => string;
}

/** Counts texts, and names the archive id of the original where there is one. */
interface Marking extends Pick<EditContext, "counter"> {
  pointer(): string;
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

function applyOnce(message: Message, edit: Edit, { counter, archiveId }: EditContext): Message {
  if (!message.parts.some((part) => concerns(edit, part))) return message;
  const marking = { counter, pointer: pointerTo(message, edit.unarchived ? undefined : archiveId) };
  const isFixed = fixedParts(message, edit);
  const bound = edit.stripReasoning === true ? boundReasoning(message) : NOTHING;
  const stays = message.parts.filter((part) => !bound.has(part));
  const parts = stays.map((part) => (isFixed(part) ? part : editPart(part, edit, marking)));
  const same = parts.length === message.parts.length && parts.every((part, at) => part === message.parts[at]);
  return same ? message : { ...message, parts, edited: true };
}

/** What a mark says of the original; its id is hashed at the first mark. */
function pointerTo(message: Message, archiveId: EditContext["archiveId"]): () => string {
  if (archiveId === undefined) return () => "";
  let id: string | undefined;
  return () => {
    id ??= archiveId(message);
    return `; archive id ${id}`;
  };
}

function editPart(part: Part, edit: Edit, marking: Marking): Part {
  const { clear, clearInputs, elideTo, resultsTo, dropMedia } = edit;
  let edited = part;
  if (clear === true && edited.type === "toolResult") edited = clearResult(edited, marking);
  if (clearInputs === true && edited.type === "toolCall")
    edited = editArguments(edited, (text) => inputStub(text, marking));
  if (elideTo !== undefined) edited = elidePart(edited, elideTo, edit.sparesOwnWords === true, marking);
  if (resultsTo !== undefined && edited.type === "toolResult")
    edited = truncateResult(edited, resultsTo, marking);
  return dropMedia === true ? withoutMedia(edited, marking) : edited;
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

function clearResult(part: ToolResultPart, { counter, pointer }: Marking): ToolResultPart {
  const tokens = counter.countText(resultText(part));
  const hasMedia = mediaIn(part).length > 0;
  if (tokens <= WORTH_CLEARING && !hasMedia) return part;
  const what = hasMedia ? `${tokens} tokens and media` : `${tokens} tokens`;
  return { ...part, content: `[tool output cleared: ${what}${pointer()}]` };
}

function inputStub(text: string, { counter, pointer }: Marking): string {
  if (text.length <= WORTH_CLEARING) return text;
  const tokens = counter.countText(text);
  return tokens <= WORTH_CLEARING ? text : `[tool input cleared: ${tokens} tokens${pointer()}]`;
}

function mediaIn({ content }: ToolResultPart): MediaPart[] {
  return typeof content === "string" ? [] : content.filter((piece) => piece.type === "media");
}

/** Cost of an image of unknown size; a smaller cap leaves no room for one. */
const MEDIA_TOKENS = 1500;

function elidePart(part: Part, cap: number, sparesOwnWords: boolean, marking: Marking): Part {
  const cut = (text: string): string => elideText(text, cap, marking);
  if (part.type === "text") {
    const pieces = sparesOwnWords ? splitOwnWords(part.text) : [{ text: part.text, own: false }];
    const text = pieces.map((piece) => (piece.own ? piece.text : cut(piece.text))).join("");
    return text === part.text ? part : { ...part, text };
  }
  if (part.type === "media" && cap < MEDIA_TOKENS)
    return { type: "text", text: `[${part.mediaType} elided${marking.pointer()}]` };
  if (part.type === "toolCall") return editArguments(part, cut);
  if (part.type !== "toolResult") return part;
  const before = resultText(part);
  const content = cut(before);
  if (mediaIn(part).length > 0) return { ...part, content: content || `[media elided${marking.pointer()}]` };
  return content === before ? part : { ...part, content };
}

/** Tokens reserved for the marker between head and tail. */
const MARKER_TOKENS = 40;

/** Truncates a result's text so that head, tail and marker fit the cap; media are kept. */
function truncateResult(part: ToolResultPart, cap: number, marking: Marking): ToolResultPart {
  const { counter } = marking;
  const before = resultText(part);
  if (before.length <= cap || counter.countText(before) <= cap) return part;
  let aim = Math.max(cap - MARKER_TOKENS, 8);
  let text = elideText(before, aim, marking);
  while (counter.countText(text) > cap && aim > 8) {
    aim = Math.max(8, Math.floor(aim * 0.8));
    text = elideText(before, aim, marking);
  }
  const media = mediaIn(part);
  return { ...part, content: media.length === 0 ? text : [{ type: "text", text }, ...media] };
}

/** Replaces media with a line that states type, size and archive id. */
function withoutMedia(part: Part, { pointer }: Marking): Part {
  const leftOut = ({ mediaType, bytes }: MediaPart): TextPart => {
    return { type: "text", text: `[${mediaType} left out: ${Math.ceil(bytes / 1000)} KB${pointer()}]` };
  };
  if (part.type === "media") return leftOut(part);
  if (part.type !== "toolResult" || typeof part.content === "string" || mediaIn(part).length === 0)
    return part;
  const content = part.content.map((piece) => (piece.type === "media" ? leftOut(piece) : piece));
  return { ...part, content };
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
function elideText(text: string, cap: number, { counter, pointer }: Marking): string {
  if (text.length <= cap) return text;
  const tokens = counter.countText(text);
  if (tokens <= cap) return text;
  const characters = Math.floor((text.length * cap) / tokens);
  const headEnd = characterStart(text, Math.ceil(characters * 0.6));
  const tailStart = characterStart(text, text.length - Math.floor(characters * 0.4));
  return `${text.slice(0, headEnd)}\n[… about ${tokens - cap} tokens elided${pointer()} …]\n${text.slice(tailStart)}`;
}
