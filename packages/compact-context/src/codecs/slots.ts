import { jsonText, type MessageMeta, type Part, type Role, type TextPart } from "../core/message.ts";
import { isObject } from "../errors.ts";

/** A native block and the parts read from it; none for a block that only travels along. */
export interface Slot {
  readonly block: unknown;
  readonly parts: readonly Part[];
}

/** What a codec reads from one native entry. Calls and results without a native id have the id "". */
export interface Reading {
  readonly role: Role;
  readonly slots: readonly Slot[];
  readonly id?: string;
  readonly meta?: MessageMeta;
}

/** How a codec writes single blocks. */
export interface BlockWriter {
  /** A copy of `block` that says `part` where it said `original`. */
  readonly patch: (block: unknown, part: Part, original: Part) => unknown;
  readonly build: (part: Part) => unknown;
}

/** A slot whose block no reader knows: its JSON as text, so that it is counted and seen. */
export function opaqueSlot(block: unknown): Slot {
  const part: TextPart = { type: "text", text: jsonText(block) };
  return { block, parts: [part] };
}

/** A slot of one part. */
export function slot(block: unknown, part: Part): Slot {
  return { block, parts: [part] };
}

/** Every part of the slots, in order. */
export function partsOf(slots: readonly Slot[]): Part[] {
  const parts: Part[] = [];
  for (const one of slots) parts.push(...one.parts);
  return parts;
}

/**
 * The blocks for `parts`: unchanged parts keep their block, changed ones patch it, missing ones leave it out,
 * new ones are built where they stand. Parts are matched by value, so copies of parts count as unchanged.
 */
export function rewriteBlocks(
  slots: readonly Slot[],
  parts: readonly Part[],
  writer: BlockWriter,
): unknown[] {
  const originals = partsOf(slots);
  const matches = matchParts(originals, parts);
  const blocks: unknown[] = [];
  let next = 0;
  let position = 0;
  const buildUntil = (end: number): void => {
    for (; position < end; position++) {
      const part = parts[position];
      if (part !== undefined && !matches.taken.has(position)) blocks.push(writer.build(part));
    }
  };
  for (const one of slots) {
    const indexes = one.parts.map(() => next++);
    const kept = indexes.flatMap((index) => matches.partOf.get(index) ?? []);
    if (one.parts.length > 0 && kept.length === 0) continue;
    if (kept.length > 0) buildUntil(Math.min(...kept));
    blocks.push(
      indexes.reduce<unknown>(
        (block, index) => patched(block, originals[index], parts[matches.partOf.get(index) ?? -1], writer),
        one.block,
      ),
    );
  }
  buildUntil(parts.length);
  return blocks;
}

function patched(
  block: unknown,
  original: Part | undefined,
  part: Part | undefined,
  writer: BlockWriter,
): unknown {
  if (original === undefined || part === undefined || samePart(original, part)) return block;
  return writer.patch(block, part, original);
}

interface Matches {
  /** Index of an original to the index of the part that stands for it now. */
  readonly partOf: ReadonlyMap<number, number>;
  readonly taken: ReadonlySet<number>;
}

function matchParts(originals: readonly Part[], parts: readonly Part[]): Matches {
  const partOf = new Map<number, number>();
  const taken = new Set<number>();
  // Parts mostly stand in the order of their originals: what is claimed from the first on is not looked at again.
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
  claim(sameTool);
  claim((original, part) => original.type === part.type && !differentTool(original, part));
  return { partOf, taken };
}

function sameTool(original: Part, part: Part): boolean {
  return original.type === part.type && "id" in original && "id" in part && original.id === part.id;
}

function differentTool(original: Part, part: Part): boolean {
  return "id" in original && "id" in part && original.id !== "" && original.id !== part.id;
}

/** Equal by value; an original id of "" (none on the wire) equals any id. */
function samePart(original: Part, part: Part): boolean {
  if (original === part) return true;
  if (original.type !== part.type) return false;
  return "id" in original && original.id === ""
    ? sameValue({ ...original, id: undefined }, { ...part, id: undefined })
    : sameValue(original, part);
}

/** Deep equality of plain values. */
function sameValue(original: unknown, other: unknown): boolean {
  if (Object.is(original, other)) return true;
  if (Array.isArray(original) && Array.isArray(other)) {
    return original.length === other.length && original.every((item, index) => sameValue(item, other[index]));
  }
  if (!isObject(original) || !isObject(other)) return false;
  const keys = Object.keys(original);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => sameValue(original[key], other[key]));
}
