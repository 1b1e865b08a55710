import type { Message } from "compact-context";
import { contentHash, toolCalls, toolResults } from "compact-context/internal/core/message";

export type ChangeKind = "kept" | "edited" | "gone" | "new";

export interface Change {
  readonly kind: ChangeKind;
  /** Index into the first list; absent for a new message. */
  readonly before?: number;
  /** Index into the second list; absent for one that is gone. */
  readonly after?: number;
}

/**
 * What became of each message: equal content is kept, wherever it stands; the same call, result or id with
 * other content is edited. In the order of the first list, new messages where they stand.
 */
export function differenceOf(before: readonly Message[], after: readonly Message[]): Change[] {
  const pairs: Pairs = { changes: new Map(), taken: new Set() };
  // Equal texts are told apart by their calls first; only where a writer gave new ids does content alone decide.
  pair(before, after, { keys: contentAndCalls, kind: "kept", pairs });
  pair(before, after, { keys: identities, kind: "edited", pairs });
  pair(before, after, { keys: (message) => [contentHash(message)], kind: "kept", pairs });
  const changes: Change[] = [];
  let next = 0;
  const addNewUpTo = (end: number): void => {
    for (; next < end; next += 1) if (!pairs.taken.has(next)) changes.push({ kind: "new", after: next });
  };
  before.forEach((_, index) => {
    const change = pairs.changes.get(index);
    if (change?.after !== undefined) addNewUpTo(change.after);
    changes.push(change ?? { kind: "gone", before: index });
  });
  addNewUpTo(after.length);
  return changes;
}

interface Pairs {
  /** By index into the first list. */
  readonly changes: Map<number, Change>;
  /** Indexes into the second list. */
  readonly taken: Set<number>;
}

interface Pairing {
  readonly keys: (message: Message) => readonly string[];
  readonly kind: ChangeKind;
  readonly pairs: Pairs;
}

/** Pairs what has no partner yet by a key in common, the newest first: what stays is mostly what is newest. */
function pair(
  before: readonly Message[],
  after: readonly Message[],
  { keys, kind, pairs: { changes, taken } }: Pairing,
): void {
  const places = new Map<string, number[]>();
  after.forEach((message, index) => {
    if (taken.has(index)) return;
    for (const key of keys(message)) {
      const known = places.get(key);
      if (known === undefined) places.set(key, [index]);
      else known.push(index);
    }
  });
  const newestFree = (key: string): number | undefined => {
    const stack = places.get(key) ?? [];
    while (stack.length > 0 && taken.has(stack.at(-1) ?? 0)) stack.pop();
    return stack.at(-1);
  };
  for (let index = before.length - 1; index >= 0; index -= 1) {
    const message = before[index];
    if (message === undefined || changes.has(index)) continue;
    const found = keys(message)
      .map(newestFree)
      .find((place) => place !== undefined);
    if (found === undefined) continue;
    taken.add(found);
    changes.set(index, { kind, before: index, after: found });
  }
}

function contentAndCalls(message: Message): string[] {
  return [[contentHash(message), ...callIds(message)].join(" ")];
}

function identities(message: Message): string[] {
  return [...callIds(message), `id ${message.id}`];
}

function callIds(message: Message): string[] {
  return [
    ...toolCalls(message).map((call) => `call ${call.id}`),
    ...toolResults(message).map((result) => `result ${result.id}`),
  ];
}
