import { fieldsOf } from "./sdk.ts";

/**
 * True for what the SDK hands over under `conversationId` or `previousResponseId` in the midst of a run: results
 * whose calls only the provider has. The list is then no history, and nothing of it can be compacted here.
 */
export function isDelta(items: readonly unknown[]): boolean {
  const calls = new Set<unknown>();
  let results = 0;
  for (const item of items) {
    const { type, callId } = fieldsOf(item);
    if (typeof type !== "string" || callId === undefined) continue;
    if (!type.endsWith("_result") && !type.endsWith("_output")) calls.add(callId);
    else if (calls.has(callId)) return false;
    else results += 1;
  }
  return results > 0;
}

export const DELTA_WARNING: string =
  "the provider keeps this conversation (conversationId or previousResponseId), so that only its newest items are here: " +
  "nothing is compacted. Set modelSettings.contextManagement for compaction on the provider's side, or leave the ids out.";

/** The items with the provider's own, encrypted compactions marked as protected: nobody else can read or replace them. */
export interface Shielded<Item> {
  readonly items: readonly Item[];
  restore(items: readonly Item[]): Item[];
}

/** Marks copies, which `restore` exchanges for the originals. One item always gets the same copy. */
export function createShield<Item>(): (items: readonly Item[]) => Shielded<Item> {
  const copies = new WeakMap<object, Item>();
  const originals = new WeakMap<object, Item>();
  const shield = (item: Item): Item => {
    if (typeof item !== "object" || item === null || fieldsOf(item).type !== "compaction") return item;
    const known = copies.get(item);
    if (known !== undefined) return known;
    const copy = { ...item, meta: { protected: true } };
    copies.set(item, copy);
    originals.set(copy, item);
    return copy;
  };
  const restored = (item: Item): Item =>
    typeof item === "object" && item !== null ? (originals.get(item) ?? item) : item;
  return (items) => ({
    items: items.some((item) => fieldsOf(item).type === "compaction") ? items.map(shield) : items,
    restore: (kept) => kept.map(restored),
  });
}
