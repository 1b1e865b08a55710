import { flatMapInSteps, type Steps } from "../../errors.ts";
import { clipToTokens, depthOf, eachTerm, termsOf, WORD_WEIGHT } from "./text.ts";

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

/** What items are about, and how often it has been said. */
export interface Said {
  /** What each item is about, by its place in the list. */
  readonly terms: readonly WeighedTerms[];
  /** What a term counts beside others. */
  rarity(term: string): number;
  /** Notes that a text stands in the summary, or beside it. */
  add(text: string): void;
  /** Worth of what an item says that was not said; it only ever sinks. */
  novelty(terms: WeighedTerms): number;
}

interface KnownTerm {
  /** Items that have it. */
  count: number;
  /** The last of them. */
  last: number;
  readonly isName: boolean;
  rarity: number;
  /** How often it was said. */
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
const MIN_RARITY = 0.1;

/**
 * Reads what the items are about. A term counts less the more items have it, and a name more the later it was last
 * used, since what was worked with lately is what the work goes on with; one that no item has counts 1.
 */
export function* createSaid(items: readonly Item[]): Steps<Said> {
  const known = new Map<string, KnownTerm>();
  const termOf = (term: string, weight: number): KnownTerm => {
    let found = known.get(term);
    if (found === undefined) {
      found = { count: 0, last: -1, isName: weight > WORD_WEIGHT, rarity: 1, times: 0 };
      known.set(term, found);
    }
    return found;
  };
  const terms = yield* flatMapInSteps(items, ({ text }, index): WeighedTerms[] => {
    const own: KnownTerm[] = [];
    const weights: number[] = [];
    eachTerm(text, (term, weight) => {
      const found = termOf(term, weight);
      if (found.last === index) return;
      found.count += 1;
      found.last = index;
      own.push(found);
      weights.push(weight);
    });
    return [{ terms: own, weights }];
  });
  const whole = Math.max(1, Math.log(1 + items.length));
  for (const term of known.values()) {
    const rarity = Math.max(MIN_RARITY, 1 - Math.log(term.count) / whole);
    term.rarity = term.isName ? rarity * (0.5 + term.last / items.length) : rarity;
  }
  return {
    terms,
    rarity: (term) => known.get(term)?.rarity ?? 1,
    add(text) {
      for (const [term, weight] of termsOf(text)) termOf(term, weight).times += 1;
    },
    novelty({ terms: own, weights }) {
      let sum = 0;
      for (let at = 0; at < own.length; at++) {
        const { rarity, times } = own[at] as KnownTerm;
        sum += (weights[at] as number) * rarity * (AGAIN[times] ?? OFTEN);
      }
      return sum;
    },
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
const TYPED_AGAIN = 0.3;

function isTyped({ kind }: Item): boolean {
  return kind === "request" || kind === "user";
}

/** Items that are rated anew in one step. */
const RATED_IN_A_STEP = 16;

/** No token of usual text has more characters: tokens are counted only for what may be taken. */
const MOST_CHARACTERS = 8;

/** Items chosen so far. */
export interface Selection {
  /** In the order in which they were taken: what is worth least comes last. */
  readonly taken: Item[];
  /** Takes the items that tell most for their tokens until `room` is used; false where nothing more fits. */
  fill(room: number): Steps<boolean>;
}

/** What each item stands below, by its place: the words that lead into its list, or the item that its own list belongs to. */
function leadsOf(items: readonly Item[]): (number | undefined)[] {
  const above: number[] = [];
  return items.map(({ kind, text, source, episode }, index) => {
    const depth = kind === "assistant" ? depthOf(text) : -1;
    const leads = ({ text: lead, ...of }: Item): boolean =>
      of.source === source && of.episode === episode && depthOf(lead) < depth;
    while (above.length > 0 && !leads(items[above.at(-1) ?? 0] as Item)) above.pop();
    const lead = above.at(-1);
    if (depth >= 0 || (kind === "assistant" && text.endsWith(":"))) above.push(index);
    return lead;
  });
}

/**
 * Chooses among items, greedily, with what was said already taken off. An episode is never told without its headline,
 * the beginning of its request; an episode without one in `headlines` needs none. An item of a list brings what it
 * stands below. `said` was made of the same items.
 */
export function* createSelection(
  items: readonly Item[],
  headlines: ReadonlyMap<number, Item>,
  said: Said,
  countText: (text: string) => number,
): Steps<Selection> {
  const counted = new Map<Item, number>();
  const tokens = (item: Item): number => {
    const count = counted.get(item) ?? countText(item.text);
    counted.set(item, count);
    return count;
  };
  const itemAt = (index: number): Item => items[index] as Item;
  const worth = (index: number): number => {
    const novelty = said.novelty(said.terms[index] as WeighedTerms);
    return itemAt(index).weight * Math.max(novelty, isTyped(itemAt(index)) ? TYPED_AGAIN : 0);
  };
  const rate = (index: number): number => worth(index) / (tokens(itemAt(index)) + BASE_TOKENS);
  const open = yield* createQueue(
    yield* flatMapInSteps(items, ({ text }, index): Entry[] => {
      const most = worth(index) / (text.length / MOST_CHARACTERS + BASE_TOKENS);
      return most > 0 ? [[index, most]] : [];
    }),
  );
  const episodes = new Set<number>();
  const taken: Item[] = [];
  const leads = leadsOf(items);
  const told = new Set<number>();
  /** What an item cannot be told without and is not told yet. */
  const before = (index: number): Item[] => {
    const needed: Item[] = [];
    for (let at = leads[index]; at !== undefined && !told.has(at); at = leads[at]) needed.unshift(itemAt(at));
    const item = itemAt(index);
    const headline = episodes.has(item.episode) ? undefined : headlines.get(item.episode);
    return headline === undefined || (item.kind === "request" && item.order === 0)
      ? needed
      : [headline, ...needed];
  };
  const costOf = (index: number): number => {
    const opening = episodes.has(itemAt(index).episode) ? 0 : HEADING_TOKENS;
    const needed = before(index).reduce((sum, item) => sum + tokens(item), 0);
    return tokens(itemAt(index)) + LABEL_TOKENS + opening + needed;
  };
  const take = (index: number, text = itemAt(index).text): void => {
    for (const one of [...before(index), { ...itemAt(index), text }]) {
      said.add(one.text);
      taken.push(one);
    }
    for (let at: number | undefined = index; at !== undefined; at = leads[at]) told.add(at);
    episodes.add(itemAt(index).episode);
  };
  /** What is worth most now, taken out; rates have sunk while others were taken. */
  function* next(): Steps<number | undefined> {
    let rated = 0;
    for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
      const [index] = entry;
      const value = told.has(index) ? 0 : rate(index);
      if (value > 0 && value < open.top()) open.push([index, value]);
      else if (value > 0) return index;
      rated += 1;
      if (rated % RATED_IN_A_STEP === 0) yield;
    }
    return undefined;
  }
  /** Takes what fits, and gives what did not: what is worth most first. */
  function* takeFitting(room: number): Steps<number[]> {
    const caps = new Map(Object.entries(SHARES).map(([kind, share]) => [kind, share * room]));
    const passed: number[] = [];
    const misfits: number[] = [];
    let left = room;
    for (let index = yield* next(); index !== undefined; index = yield* next()) {
      yield;
      const item = itemAt(index);
      const cost = costOf(index);
      const cap = caps.get(item.kind) ?? Number.POSITIVE_INFINITY;
      if (cost > left) misfits.push(index);
      if (cost > left || cost > cap) passed.push(index);
      else {
        left -= cost;
        caps.set(item.kind, cap - cost);
        take(index);
      }
      if (misfits.length > MAX_MISFITS) break;
    }
    for (const index of passed) open.push([index, rate(index)]);
    return misfits;
  }
  function* fill(room: number): Steps<boolean> {
    const known = taken.length;
    const [first] = yield* takeFitting(room);
    if (taken.length === 0 && first !== undefined) {
      // Where nothing fits, a beginning says more than nothing.
      const item = itemAt(first);
      const text = clipToTokens(item.text, tokens(item) + room - costOf(first), countText);
      if (text !== "") take(first, text);
    }
    return taken.length > known;
  }
  return { taken, fill };
}

/** An item and what it is worth. */
type Entry = readonly [index: number, value: number];

interface Queue {
  push(entry: Entry): void;
  /** The entry of the greatest value, taken out; of equal ones the first item. */
  pop(): Entry | undefined;
  /** The greatest value; -Infinity where there is none. */
  top(): number;
}

/** Entries that find their place in one step. */
const PLACED_IN_A_STEP = 512;

/** A binary heap: each entry goes before the two below it. */
function* createQueue(heap: Entry[]): Steps<Queue> {
  const before = ([index, value]: Entry, [other, worth]: Entry): boolean =>
    value > worth || (value === worth && index < other);
  /** Puts an entry at a place, or below it behind those that go before it. */
  const sink = (entry: Entry, place: number): void => {
    let at = place;
    for (let below = 2 * at + 1; below < heap.length; below = 2 * at + 1) {
      const right = heap[below + 1];
      if (right !== undefined && before(right, heap[below] as Entry)) below += 1;
      if (!before(heap[below] as Entry, entry)) break;
      heap[at] = heap[below] as Entry;
      at = below;
    }
    heap[at] = entry;
  };
  for (let at = (heap.length >> 1) - 1; at >= 0; at--) {
    sink(heap[at] as Entry, at);
    if (at % PLACED_IN_A_STEP === 0) yield;
  }
  return {
    push(entry) {
      let at = heap.push(entry) - 1;
      for (let above = (at - 1) >> 1; at > 0 && before(entry, heap[above] as Entry); above = (at - 1) >> 1) {
        heap[at] = heap[above] as Entry;
        at = above;
      }
      heap[at] = entry;
    },
    pop() {
      const [first] = heap;
      const last = heap.pop();
      if (last !== undefined && heap.length > 0) sink(last, 0);
      return first;
    },
    top: () => heap[0]?.[1] ?? Number.NEGATIVE_INFINITY,
  };
}
