import { clipToTokens, termsOf, WORD_WEIGHT } from "./text.ts";

/** A piece of the story that is told as a whole or not at all. */
export interface Item {
  /** Which episode it belongs to; those of the summary so far come first. */
  readonly episode: number;
  /** Place within the episode. */
  readonly order: number;
  /** The message that it comes from: pieces of one message may be told together. */
  readonly source: number;
  readonly kind: ItemKind;
  readonly text: string;
  /** What its terms are worth, beside others. */
  readonly weight: number;
}

export type ItemKind =
  | "request"
  | "user"
  | "assistant"
  | "changed"
  | "code"
  | "ran"
  | "found"
  | "looked"
  | "foreign";

/** What has been said so far, and how often. */
export interface Said {
  /** Notes that a text stands in the summary, or beside it. */
  add(text: string): void;
  /** What a text says, ready to be weighed again and again. */
  termsIn(text: string): WeighedTerms;
  /** Worth of what a text says that was not said. */
  novelty(terms: WeighedTerms): number;
}

interface KnownTerm {
  readonly rarity: number;
  times: number;
}

interface WeighedTerms {
  readonly terms: readonly KnownTerm[];
  readonly weights: readonly number[];
}

/** A term that was said once is worth this part when it is said again in another sentence. */
const AGAIN = [1, 0.25, 0.08];
/** What a term is worth that was said more often. */
const OFTEN = 0.01;

export function createSaid(rarity: (term: string) => number): Said {
  const known = new Map<string, KnownTerm>();
  const termOf = (term: string): KnownTerm => {
    let found = known.get(term);
    if (found === undefined) {
      found = { rarity: rarity(term), times: 0 };
      known.set(term, found);
    }
    return found;
  };
  return {
    add(text) {
      for (const term of termsOf(text).keys()) termOf(term).times += 1;
    },
    termsIn(text) {
      const terms = termsOf(text);
      return { terms: Array.from(terms.keys(), termOf), weights: [...terms.values()] };
    },
    novelty({ terms, weights }) {
      let sum = 0;
      for (let at = 0; at < terms.length; at++) {
        const { rarity: worth, times } = terms[at] as KnownTerm;
        sum += (weights[at] as number) * worth * (AGAIN[times] ?? OFTEN);
      }
      return sum;
    },
  };
}

const MIN_RARITY = 0.1;

/**
 * What a term counts beside others: less the more items have it, and a name more the later it was last used, since what
 * was worked with lately is what the work goes on with.
 */
export function rarityIn(items: readonly Item[]): (term: string) => number {
  const seen = new Map<string, { count: number; last: number; name: boolean }>();
  items.forEach((item, index) => {
    for (const [term, weight] of termsOf(item.text)) {
      const known = seen.get(term);
      if (known === undefined) seen.set(term, { count: 1, last: index, name: weight > WORD_WEIGHT });
      else {
        known.count += 1;
        known.last = index;
      }
    }
  });
  const whole = Math.max(1, Math.log(1 + items.length));
  return (term) => {
    const found = seen.get(term);
    if (found === undefined) return 1;
    const rarity = Math.max(MIN_RARITY, 1 - Math.log(found.count) / whole);
    return found.name ? rarity * (0.5 + found.last / items.length) : rarity;
  };
}

/** What one more line costs beside its own tokens: a group's label, an episode's heading. */
const LABEL_TOKENS = 3;
const HEADING_TOKENS = 8;
/** Short items say more per token than their tokens tell, so that long ones are not shut out. */
const BASE_TOKENS = 6;
/** Most of the room that kinds of little worth may take together with others of their kind. */
const SHARES: Partial<Record<ItemKind, number>> = { code: 0.07, found: 0.08, looked: 0.05 };
/** Items in a row that may not fit before the rest is given up. */
const MAX_MISFITS = 60;

/** What a person typed is told where there is room, though it says nothing new. */
const TYPED_AGAIN = 0.01;

function isTyped({ kind }: Item): boolean {
  return kind === "request" || kind === "user";
}

interface Candidate {
  readonly item: Item;
  readonly terms: WeighedTerms;
  readonly tokens: number;
}

/** Items chosen so far. */
export interface Selection {
  /** In the order in which they were taken: what is worth least comes last. */
  readonly taken: Item[];
  /** Takes the items that tell most for their tokens until `room` is used; false where nothing more fits. */
  fill(room: number): boolean;
}

/**
 * Chooses among items, greedily, with what was said already taken off. An episode is never told without its headline,
 * the beginning of its request; an episode without one in `headlines` needs none.
 */
export function createSelection(
  items: readonly Item[],
  headlines: ReadonlyMap<number, Item>,
  said: Said,
  countText: (text: string) => number,
): Selection {
  const candidates = items.map((item): Candidate => {
    return { item, terms: said.termsIn(item.text), tokens: countText(item.text) };
  });
  const rate = ({ item, terms, tokens }: Candidate): number =>
    (item.weight * Math.max(said.novelty(terms), isTyped(item) ? TYPED_AGAIN : 0)) / (tokens + BASE_TOKENS);
  const open = new Set(candidates.keys());
  const episodes = new Set<number>();
  const taken: Item[] = [];
  const headlineFor = (item: Item): Item | undefined => {
    const headline = episodes.has(item.episode) ? undefined : headlines.get(item.episode);
    return headline === undefined || isBeginning(item) ? undefined : headline;
  };
  const costOf = ({ item, tokens }: Candidate): number => {
    const headline = headlineFor(item);
    const opening = episodes.has(item.episode) ? 0 : HEADING_TOKENS;
    return tokens + LABEL_TOKENS + opening + (headline === undefined ? 0 : countText(headline.text));
  };
  const take = (index: number, item: Item): void => {
    const headline = headlineFor(item);
    for (const one of headline === undefined ? [item] : [headline, item]) {
      said.add(one.text);
      taken.push(one);
    }
    if (headline !== undefined || isBeginning(item) || !headlines.has(item.episode))
      episodes.add(item.episode);
    open.delete(index);
  };
  /** Takes what fits; gives the indexes of what did not, what is worth most first. */
  const takeFitting = (room: number): number[] => {
    const caps = new Map(Object.entries(SHARES).map(([kind, share]) => [kind, share * room]));
    const misfits: number[] = [];
    let left = room;
    for (const index of byRate(open, (one) => rate(candidates[one] as Candidate))) {
      const { item } = candidates[index] as Candidate;
      const cost = costOf(candidates[index] as Candidate);
      const cap = caps.get(item.kind) ?? Number.POSITIVE_INFINITY;
      if (cost > left && misfits.push(index) > MAX_MISFITS) break;
      if (cost > left || cost > cap) continue;
      left -= cost;
      caps.set(item.kind, cap - cost);
      take(index, item);
    }
    return misfits;
  };
  const fill = (room: number): boolean => {
    const before = taken.length;
    const [first] = takeFitting(room);
    if (taken.length === 0 && first !== undefined) {
      // Where nothing fits, a beginning says more than nothing.
      const candidate = candidates[first] as Candidate;
      const text = clipToTokens(candidate.item.text, candidate.tokens + room - costOf(candidate), countText);
      if (text !== "") take(first, { ...candidate.item, text });
    }
    return taken.length > before;
  };
  return { taken, fill };
}

/** What is worth most now comes first: rates may sink while others are taken, and are looked at again. */
function* byRate(indexes: ReadonlySet<number>, rate: (index: number) => number): Generator<number> {
  const heap = createMaxHeap();
  for (const index of indexes) heap.push(index, rate(index));
  for (let entry = heap.pop(); entry !== undefined; entry = heap.pop()) {
    const value = rate(entry.item);
    if (value > 0 && value < heap.top()) heap.push(entry.item, value);
    else if (value > 0) yield entry.item;
  }
}

function isBeginning({ kind, order }: Item): boolean {
  return kind === "request" && order === 0;
}

interface MaxHeap {
  push(item: number, value: number): void;
  /** The greatest entry, taken out; equal values come out by lowest item. */
  pop(): { readonly item: number; readonly value: number } | undefined;
  /** The greatest value without taking it out; -Infinity where there is none. */
  top(): number;
}

function createMaxHeap(): MaxHeap {
  const entries: { readonly item: number; readonly value: number }[] = [];
  const isBefore = (left: number, right: number): boolean => {
    const [one, other] = [entries[left], entries[right]];
    if (one === undefined || other === undefined) return one !== undefined;
    return one.value > other.value || (one.value === other.value && one.item < other.item);
  };
  const swap = (left: number, right: number): void => {
    const [one, other] = [entries[left], entries[right]];
    if (one === undefined || other === undefined) return;
    entries[left] = other;
    entries[right] = one;
  };
  const sink = (): void => {
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const best = isBefore(left + 1, left) ? left + 1 : left;
      if (!isBefore(best, at)) return;
      swap(at, best);
      at = best;
    }
  };
  return {
    push(item, value) {
      let at = entries.push({ item, value }) - 1;
      while (at > 0 && isBefore(at, (at - 1) >> 1)) {
        swap(at, (at - 1) >> 1);
        at = (at - 1) >> 1;
      }
    },
    pop() {
      const first = entries[0];
      const last = entries.pop();
      if (first === undefined || last === undefined || entries.length === 0) return first;
      entries[0] = last;
      sink();
      return first;
    },
    top: () => entries[0]?.value ?? Number.NEGATIVE_INFINITY,
  };
}
