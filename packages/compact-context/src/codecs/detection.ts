import { isObject } from "../errors.ts";
import type { NativeObject } from "./native.ts";

/**
 * What one entry says about a format: -1 it cannot be of it, 0 nothing, up to 1 it can be of no other.
 */
export type Vote = number;

const LOOKED_AT = 256;

/** The strongest vote among a bounded number of entries, 0 as soon as one of them speaks against the format. */
export function weighVotes(list: readonly unknown[], vote: (entry: NativeObject) => Vote): number {
  let strongest = 0;
  for (const entry of sample(list)) {
    const said = isObject(entry) ? voteOn(entry, vote) : -1;
    if (said < 0) return 0;
    strongest = Math.max(strongest, said);
  }
  return strongest;
}

/** An entry that cannot be read, such as one whose getters throw, is of no format. */
function voteOn(entry: NativeObject, vote: (entry: NativeObject) => Vote): Vote {
  try {
    return vote(entry);
  } catch {
    return -1;
  }
}

/** The whole of a short list; of a long one the beginning, the end, and entries spread evenly between. */
function sample(list: readonly unknown[]): readonly unknown[] {
  if (list.length <= LOOKED_AT) return list;
  const edge = LOOKED_AT / 4;
  const middle = LOOKED_AT / 2;
  const step = (list.length - 2 * edge) / middle;
  const spread = Array.from({ length: middle }, (_, index) => list[edge + Math.floor(index * step)]);
  return [...list.slice(0, edge), ...spread, ...list.slice(-edge)];
}

/** The vote of a message by its content blocks: the strongest, or -1 when one of them is foreign. */
export function voteOnBlocks(content: unknown, vote: (block: NativeObject, type: string) => Vote): Vote {
  if (!Array.isArray(content)) return 0;
  let strongest = 0;
  for (const block of (content as unknown[]).slice(0, 32)) {
    if (!isObject(block)) continue;
    const said = vote(block, typeof block.type === "string" ? block.type : "");
    if (said < 0) return -1;
    strongest = Math.max(strongest, said);
  }
  return strongest;
}

/** True when `value` is a list whose first entry is an object with these keys. */
export function firstHas(value: unknown, ...keys: readonly string[]): boolean {
  const first: unknown = Array.isArray(value) ? value[0] : undefined;
  return isObject(first) && keys.every((key) => key in first);
}
