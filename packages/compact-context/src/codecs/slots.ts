import { sameJson } from "../core/lists.ts";
import {
  jsonText,
  type MediaPart,
  type Part,
  type ReasoningPart,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from "../core/message.ts";
import { defined, isObject } from "../errors.ts";
import { arrayAt, copyWith, filled, isBlockList, type NativeObject, objectAt } from "./native.ts";

// Reading an entry block by block, and writing blocks back.

/** A native block and its parts; blocks that are only carried along have none. */
export interface Slot {
  readonly block: unknown;
  readonly parts: readonly Part[];
  /** Path, such as `messages[3].content[0]`. */
  readonly path: string;
}

export function slot(block: unknown, part: Part, path: string): Slot {
  return { block, parts: [part], path };
}

/** Parts of a block: none if it is only carried along, undefined if its type is unknown. */
type BlockReader = (block: NativeObject, path: string) => Part | readonly Part[] | undefined;

/**
 * The slots of a content: a text or a list of blocks. An unknown block becomes its JSON as text, so that it
 * is counted and visible. `holdsTexts`: the list may contain plain strings.
 */
export function contentSlots(content: unknown, place: string, read: BlockReader, holdsTexts = false): Slot[] {
  if (content === "") return [{ block: content, parts: [], path: place }];
  if (typeof content === "string") return [slot(content, textPart(content), place)];
  return arrayAt(content, place).map((value, index) => {
    const path = `${place}[${index}]`;
    if (holdsTexts && typeof value === "string") return slot(value, textPart(value), path);
    const block = objectAt(value, path);
    const found = read(block, path) ?? textPart(jsonText(block));
    return { block, parts: "type" in found ? [found] : found, path };
  });
}

/** The content of a result: texts and media of its blocks. */
export function resultContent(
  content: unknown,
  read: (content: unknown) => readonly Slot[],
): ToolResultPart["content"] {
  return isBlockList(content) ? piecesIn(read(content)) : jsonText(content);
}

export function piecesIn(slots: readonly Slot[]): (TextPart | MediaPart)[] {
  return partsOf(slots).filter((part) => part.type === "text" || part.type === "media");
}

export function textPart(text: string): TextPart {
  return { type: "text", text };
}

/** A call; its id is "" if the wire has none. */
export function callPart(id: unknown, name: string, args: unknown, served = false): ToolCallPart {
  const call = { type: "toolCall", id: filled(id) ?? "", name, arguments: args } as const;
  if (!served && args !== undefined) return call;
  return defined({ ...call, providerExecuted: served || undefined });
}

/** A result; its id is "" if the wire has none. */
export function resultPart(
  id: unknown,
  content: ToolResultPart["content"],
  failed: boolean,
  name?: unknown,
): ToolResultPart {
  const result = { type: "toolResult", id: filled(id) ?? "", content } as const;
  const named = filled(name);
  if (named === undefined) return failed ? { ...result, isError: true } : result;
  return failed ? { ...result, name: named, isError: true } : { ...result, name: named };
}

/** Reasoning; signed if it has a signature. */
export function thought(text: string, seal?: unknown): ReasoningPart {
  const sealed = filled(seal);
  return sealed === undefined
    ? { type: "reasoning", text }
    : { type: "reasoning", text, opaqueLength: sealed.length, signed: true };
}

/** Every part of the slots, in order. Messages keep the list: as it grew, it has room for 17 parts. */
export function partsOf(slots: readonly Slot[]): Part[] {
  const parts: Part[] = [];
  for (const one of slots) parts.push(...one.parts);
  return parts.slice();
}

export function holdsOnlyResults(slots: readonly Slot[]): boolean {
  return slots.length > 0 && slots.every((one) => one.parts[0]?.type === "toolResult");
}

/** Writes a part as a block: a changed copy of `block`, or a new block. */
export type BlockWriter = (part: Part, block?: NativeObject) => unknown;

/** A writer with a function for each kind of part. Default: a text block, of other parts with their JSON. */
export function blockWriter(
  kinds: {
    readonly [Kind in Part["type"]]?: (part: Extract<Part, { type: Kind }>, block?: NativeObject) => unknown;
  },
): BlockWriter {
  return (part, block) => {
    const write = kinds[part.type] as BlockWriter | undefined;
    if (write !== undefined) return write(part, block);
    return textPart(part.type === "text" ? part.text : jsonText(part));
  };
}

/** A copy of the entry with the blocks for `parts` in a field. */
export function rewriteField(
  native: NativeObject,
  field: "content" | "parts",
  slots: readonly Slot[],
  parts: readonly Part[],
  write: BlockWriter,
): unknown {
  return copyWith(native, { [field]: joinedContent(native[field], rewriteBlocks(slots, parts, write)) });
}

/** Blocks as content: a single text stays a string. */
export function joinedContent(before: unknown, blocks: readonly unknown[], textType = "text"): unknown {
  const only = blocks.length === 1 ? blocks[0] : undefined;
  const text = isObject(only) && only.type === textType ? only.text : only;
  if (!Array.isArray(before) && typeof text === "string") return text;
  return blocks.map((block) => (typeof block === "string" ? { type: textType, text: block } : block));
}

/**
 * The blocks for `parts`: unchanged parts keep their block, changed ones patch it, missing ones drop it, new
 * ones are built in place. Parts are matched by value, so copies count as unchanged.
 */
export function rewriteBlocks(slots: readonly Slot[], parts: readonly Part[], write: BlockWriter): unknown[] {
  const originals = partsOf(slots);
  const partOf = matchParts(originals, parts);
  const taken = new Set(partOf.values());
  const blocks: unknown[] = [];
  let next = 0;
  let position = 0;
  const buildUntil = (end: number): void => {
    for (; position < end; position++) {
      const part = parts[position];
      if (part !== undefined && !taken.has(position)) blocks.push(write(part));
    }
  };
  for (const one of slots) {
    const indexes = one.parts.map(() => next++);
    const kept = indexes.flatMap((index) => partOf.get(index) ?? []);
    if (one.parts.length > 0 && kept.length === 0) continue;
    if (kept.length > 0) buildUntil(Math.min(...kept));
    let { block } = one;
    for (const index of indexes)
      block = patched(block, originals[index], parts[partOf.get(index) ?? -1], write);
    blocks.push(block);
  }
  buildUntil(parts.length);
  return blocks;
}

function patched(
  block: unknown,
  original: Part | undefined,
  part: Part | undefined,
  write: BlockWriter,
): unknown {
  if (original === undefined || part === undefined || samePart(original, part)) return block;
  if (!isObject(block)) return write(part);
  const isText = part.type === "text" && original.type === "text" && block.text === original.text;
  return isText ? { ...block, text: part.text } : write(part, block);
}

/** By the index of an original: the index of the part that replaces it. */
function matchParts(originals: readonly Part[], parts: readonly Part[]): ReadonlyMap<number, number> {
  const partOf = new Map<number, number>();
  const taken = new Set<number>();
  // Parts are mostly in the order of their originals: leading claimed originals are skipped.
  let free = 0;
  const firstFree = (accepts: (original: Part) => boolean): number => {
    while (partOf.has(free)) free++;
    for (let at = free; at < originals.length; at++) {
      const original = originals[at];
      if (original !== undefined && !partOf.has(at) && accepts(original)) return at;
    }
    return -1;
  };
  const claim = (accepts: (original: Part, part: Part) => boolean): void => {
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index];
      if (part === undefined || taken.has(index)) continue;
      const found = firstFree((original) => accepts(original, part));
      if (found === -1) continue;
      partOf.set(found, index);
      taken.add(index);
    }
  };
  claim(samePart);
  claim((original, part) => original.type === part.type && sameTool(original, part));
  claim((original, part) => original.type === part.type && !differentTool(original, part));
  return partOf;
}

function sameTool(original: Part, part: Part): boolean {
  return "id" in original && "id" in part && original.id === part.id;
}

function differentTool(original: Part, part: Part): boolean {
  return "id" in original && "id" in part && original.id !== "" && original.id !== part.id;
}

/** Equal by value; an original id of "" (none on the wire) equals any id. */
function samePart(original: Part, part: Part): boolean {
  if (original === part) return true;
  if (original.type !== part.type) return false;
  return "id" in original && original.id === ""
    ? sameJson({ ...original, id: undefined }, { ...part, id: undefined })
    : sameJson(original, part);
}
