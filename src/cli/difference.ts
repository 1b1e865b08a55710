import { contentHash } from "../messages/content-hash.ts";
import { type Message, toolCalls, toolResults } from "../messages/message.ts";

export type ChangeKind = "kept" | "edited" | "gone" | "new";

export interface Change {
  readonly kind: ChangeKind;
  /** Index into the first list; absent for a new message. */
  readonly before?: number;
  /** Index into the second list; absent for one that is gone. */
  readonly after?: number;
}

/**
 * What became of each message, by content: equal content is kept, wherever it stands; the same id, call or
 * result with other content is edited. In the order of the first list, new messages where they stand.
 */
export function differenceOf(before: readonly Message[], after: readonly Message[]): Change[] {
  const partner = new Map<number, Change>();
  const taken = new Set<number>();
  pair(before, after, { keys: (message) => [contentHash(message)], kind: "kept", partner, taken });
  pair(before, after, { keys: identities, kind: "edited", partner, taken });
  const changes: Change[] = [];
  let next = 0;
  const addNewUpTo = (end: number): void => {
    for (; next < end; next += 1) if (!taken.has(next)) changes.push({ kind: "new", after: next });
  };
  before.forEach((_, index) => {
    const change = partner.get(index);
    if (change?.after !== undefined) addNewUpTo(change.after);
    changes.push(change ?? { kind: "gone", before: index });
  });
  addNewUpTo(after.length);
  return changes;
}

interface Pairing {
  readonly keys: (message: Message) => readonly string[];
  readonly kind: ChangeKind;
  readonly partner: Map<number, Change>;
  readonly taken: Set<number>;
}

/** Pairs what has no partner yet by the first key in common, each message once. */
function pair(
  before: readonly Message[],
  after: readonly Message[],
  { keys, kind, partner, taken }: Pairing,
): void {
  const places = new Map<string, number[]>();
  after.forEach((message, index) => {
    if (taken.has(index)) return;
    for (const key of keys(message)) places.set(key, [...(places.get(key) ?? []), index]);
  });
  before.forEach((message, index) => {
    if (partner.has(index)) return;
    const found = keys(message)
      .flatMap((key) => places.get(key) ?? [])
      .find((place) => !taken.has(place));
    if (found === undefined) return;
    taken.add(found);
    partner.set(index, { kind, before: index, after: found });
  });
}

function identities(message: Message): string[] {
  return [
    ...toolCalls(message).map((call) => `call ${call.id}`),
    ...toolResults(message).map((result) => `result ${result.id}`),
    `id ${message.id}`,
  ];
}
