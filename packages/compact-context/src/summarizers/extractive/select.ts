import { flatMapInSteps, type Steps } from "../../errors.ts";
import { clipToTokens, depthOf, eachTerm, type Fact, factsOfRun, WORD_WEIGHT } from "./text.ts";

/** A piece of the story, included whole or not at all. */
export interface Item {
  /** Its episode; those of the summary so far come first. */
  readonly episode: number;
  /** Position within the episode. */
  readonly order: number;
  /** The source message: pieces of one message may be shown together. */
  readonly source: number;
  readonly kind: ItemKind;
  readonly text: string;
  /** Weight of its terms relative to other items. */
  readonly weight: number;
  /** It states a decision, or answers a question. */
  readonly decides?: boolean;
  /** It comes from the latest messages. */
  readonly newest?: boolean;
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

/** The terms of all items, and how often each has been said. */
export interface Said {
  rarity(term: string): number;
  /** Records that a text is in the summary, or next to it. */
  add(text: string): void;
  /** Value of the unsaid content of an item, by its position in the list; it only decreases. */
  novelty(index: number): number;
}

interface KnownTerm {
  /** The items that contain it. */
  count: number;
  /** The last of them. */
  last: number;
  readonly isName: boolean;
  rarity: number;
  /** In how many texts it was said, and the last of them. */
  times: number;
  text: number;
}

interface WeighedTerms {
  readonly terms: readonly KnownTerm[];
  readonly weights: readonly number[];
}

/** Remaining share of a term's value once it was said, if another sentence says it again. */
const AGAIN = [1, 0.25, 0.08];
/** Remaining value of a term said more often. */
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
      found = { count: 0, last: -1, isName: weight > WORD_WEIGHT, rarity: 1, times: 0, text: 0 };
      known.set(term, found);
    }
    return found;
  };
  // Names stand in several items, and those that are taken are read again.
  const facts = new Map<string, readonly Fact[]>();
  const factsOf = (run: string): readonly Fact[] => {
    const found = facts.get(run) ?? factsOfRun(run);
    facts.set(run, found);
    return found;
  };
  const own = yield* flatMapInSteps(items, ({ text }, index): WeighedTerms[] => {
    const terms: KnownTerm[] = [];
    const weights: number[] = [];
    const read = (term: string, weight: number): void => {
      const found = termOf(term, weight);
      if (found.last === index) return;
      found.count += 1;
      found.last = index;
      terms.push(found);
      weights.push(weight);
    };
    eachTerm(text, read, factsOf);
    return [{ terms, weights }];
  });
  const whole = Math.max(1, Math.log(1 + items.length));
  let texts = 0;
  for (const term of known.values()) {
    const rarity = Math.max(MIN_RARITY, 1 - Math.log(term.count) / whole);
    term.rarity = term.isName ? rarity * (0.5 + term.last / items.length) : rarity;
  }
  return {
    rarity: (term) => known.get(term)?.rarity ?? 1,
    add(text) {
      texts += 1;
      const read = (term: string, weight: number): void => {
        const found = termOf(term, weight);
        if (found.text !== texts) found.times += 1;
        found.text = texts;
      };
      eachTerm(text, read, factsOf);
    },
    novelty(index) {
      const { terms, weights } = own[index] as WeighedTerms;
      let sum = 0;
      for (let at = 0; at < terms.length; at++) {
        const { rarity, times } = terms[at] as KnownTerm;
        sum += (weights[at] as number) * rarity * (AGAIN[times] ?? OFTEN);
      }
      return sum;
    },
  };
}

/** Overhead of one more line: a group's label, an episode's heading. */
const LABEL_TOKENS = 3;
const HEADING_TOKENS = 8;
/** Short items are favored per token; this offset keeps long ones competitive. */
const BASE_TOKENS = 6;
/** Maximum share of the room for each of these low-value kinds. */
const SHARES: Partial<Record<ItemKind, number>> = { code: 0.12, found: 0.08, looked: 0.05 };
/** Consecutive items that may fail to fit before the rest is skipped. */
const MAX_MISFITS = 60;

/** What a user typed, a long text its beginning, and decisions come first until they fill their share of the room. */
const LASTING_SHARE = 0.6;
/** What their content is worth at least before and after that, as if it said something new. */
const LASTING = 15;
const BEYOND_SHARE = 0.3;

function isLasting({ kind, order, decides }: Item): boolean {
  return (kind === "request" && order === 0) || kind === "user" || decides === true;
}

/** Share of the room that the words of one message may take before its further pieces count less. */
const MESSAGE_SHARE = 0.2;

/** In room beyond this many tokens, what the latest messages say counts more until it fills its share of that room. */
const SCARCE = 800;
const NEWEST_SHARE = 0.4;
const NEWEST = 3;

const RATED_IN_A_STEP = 16;

/**
 * No token of ordinary text has more characters: exact counts are needed only for candidates that may fit.
 */
const MOST_CHARACTERS = 8;

/**
 * The parent of each item, by position: the words that introduce its list, or the item that its nested list
 * belongs to.
 */
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
 * Selects items greedily, discounting what was already said. An episode is never shown without its headline,
 * the beginning of its request, which may belong to the episode that it goes on with; an episode missing from
 * `headlines` needs none. A list item brings its parent. `said` must be built from the same items.
 */
export function* createSelection(
  items: readonly Item[],
  headlines: ReadonlyMap<number, Item>,
  said: Said,
  countText: (text: string) => number,
): Steps<Selection> {
  const selection = new Selection(items, headlines, said, countText);
  yield* selection.start();
  return selection;
}

/** Items chosen so far. */
export class Selection {
  /** In selection order: the least valuable comes last. */
  readonly taken: Item[] = [];
  readonly #items: readonly Item[];
  readonly #headlines: ReadonlyMap<number, Item>;
  readonly #said: Said;
  readonly #countText: (text: string) => number;
  readonly #counted = new Map<Item, number>();
  readonly #leads: readonly (number | undefined)[];
  /** Selected items, by position, with their parents. */
  readonly #told = new Set<number>();
  /** Texts that came first because they last. */
  readonly #texts = new Set<string>();
  /** Tokens taken from each message of an episode; an episode is there with its first. */
  readonly #spent = new Map<number, Map<number, number>>();
  /** Tokens that one message may take, what lasts, and what the latest messages say. */
  #ofMessage = 0;
  #lasting = Number.POSITIVE_INFINITY;
  #newest = Number.POSITIVE_INFINITY;
  #open: Queue = new Queue([]);

  constructor(
    items: readonly Item[],
    headlines: ReadonlyMap<number, Item>,
    said: Said,
    countText: (text: string) => number,
  ) {
    this.#items = items;
    this.#headlines = headlines;
    this.#said = said;
    this.#countText = countText;
    this.#leads = leadsOf(items);
  }

  /** Rates all items, long ones at most as high as they may turn out. */
  *start(): Steps<void> {
    const entries = yield* flatMapInSteps(this.#items, ({ text }, index): Entry[] => {
      const most = this.#worth(index) / (text.length / MOST_CHARACTERS + BASE_TOKENS);
      return most > 0 ? [[index, most]] : [];
    });
    this.#open = new Queue(entries);
    yield* this.#open.start();
  }

  /** Takes the items with the most value per token until `room` is used; false if nothing more fits. */
  *fill(room: number): Steps<boolean> {
    const known = this.taken.length;
    this.#lasting = Math.min(this.#lasting, LASTING_SHARE * room);
    this.#ofMessage = Math.max(this.#ofMessage, MESSAGE_SHARE * room);
    this.#newest = Math.min(this.#newest, NEWEST_SHARE * (room - SCARCE));
    const first = yield* this.#takeFitting(room);
    if (this.taken.length === 0 && first !== undefined) {
      // If nothing fits, a beginning is better than nothing.
      const item = this.#at(first);
      const text = clipToTokens(item.text, this.#tokens(item) + room - this.#costOf(first), this.#countText);
      if (text !== "") this.#take(first, text);
    }
    return this.taken.length > known;
  }

  #at(index: number): Item {
    return this.#items[index] as Item;
  }

  #tokens(item: Item): number {
    const count = this.#counted.get(item) ?? this.#countText(item.text);
    this.#counted.set(item, count);
    return count;
  }

  #worth(index: number): number {
    const item = this.#at(index);
    const newest = item.newest === true && this.#newest > 0 ? NEWEST : 1;
    const worth = Math.max(this.#said.novelty(index), this.#leastWorth(item));
    return newest * item.weight * worth * this.#shareLeft(item);
  }

  /** What the content of an item is worth at least. A text that was typed twice comes first once. */
  #leastWorth(item: Item): number {
    if (!isLasting(item)) return 0;
    return this.#lasting > 0 && !this.#texts.has(item.text) ? LASTING : BEYOND_SHARE;
  }

  /** How much of their value further pieces of a message have left, once it took its share. */
  #shareLeft({ kind, episode, source }: Item): number {
    const taken = kind === "assistant" ? (this.#spent.get(episode)?.get(source) ?? 0) : 0;
    return taken > this.#ofMessage ? this.#ofMessage / taken : 1;
  }

  #rate(index: number): number {
    return this.#worth(index) / (this.#tokens(this.#at(index)) + BASE_TOKENS);
  }

  /** The prerequisites of an item that are not yet selected. */
  #before(index: number): Item[] {
    const needed: Item[] = [];
    for (let at = this.#leads[index]; at !== undefined && !this.#told.has(at); at = this.#leads[at])
      needed.unshift(this.#at(at));
    const item = this.#at(index);
    const headline = this.#headlines.get(item.episode);
    const opens = item.kind === "request" && item.order === 0;
    const isOpen = [item, headline].some((one) => one !== undefined && this.#spent.has(one.episode));
    return headline === undefined || opens || isOpen ? needed : [headline, ...needed];
  }

  #costOf(index: number): number {
    const item = this.#at(index);
    const opening = this.#spent.has(item.episode) ? 0 : HEADING_TOKENS;
    const needed = this.#before(index).reduce((sum, one) => sum + this.#tokens(one), 0);
    return this.#tokens(item) + LABEL_TOKENS + opening + needed;
  }

  #take(index: number, text = this.#at(index).text): void {
    for (const one of [...this.#before(index), { ...this.#at(index), text }]) {
      const cost = this.#tokens(one);
      const spent = this.#spent.get(one.episode) ?? new Map<number, number>();
      this.#spent.set(one.episode, spent.set(one.source, (spent.get(one.source) ?? 0) + cost));
      this.#said.add(one.text);
      this.taken.push(one);
      if (one.newest === true) this.#newest -= cost + LABEL_TOKENS;
      if (!isLasting(one)) continue;
      this.#texts.add(one.text);
      this.#lasting -= cost + HEADING_TOKENS;
    }
    for (let at: number | undefined = index; at !== undefined; at = this.#leads[at]) this.#told.add(at);
  }

  /** Takes what fits; returns the first that did not. */
  *#takeFitting(room: number): Steps<number | undefined> {
    const caps = new Map(Object.entries(SHARES).map(([kind, share]) => [kind, share * room]));
    const passed: number[] = [];
    const misfits: number[] = [];
    let left = room;
    for (let index = yield* this.#next(); index !== undefined; index = yield* this.#next()) {
      yield;
      const { kind } = this.#at(index);
      const cost = this.#costOf(index);
      const cap = caps.get(kind) ?? Number.POSITIVE_INFINITY;
      if (cost > left) misfits.push(index);
      if (cost > left || cost > cap) passed.push(index);
      else {
        left -= cost;
        caps.set(kind, cap - cost);
        this.#take(index);
      }
      if (misfits.length > MAX_MISFITS) break;
    }
    for (const index of passed) this.#open.push([index, this.#rate(index)]);
    return misfits[0];
  }

  /** Removes and returns the most valuable item; rates have dropped while others were taken. */
  *#next(): Steps<number | undefined> {
    let rated = 0;
    for (let entry = this.#open.pop(); entry !== undefined; entry = this.#open.pop()) {
      const [index] = entry;
      const value = this.#told.has(index) ? 0 : this.#rate(index);
      if (value > 0 && value < this.#open.top) this.#open.push([index, value]);
      else if (value > 0) return index;
      rated += 1;
      if (rated % RATED_IN_A_STEP === 0) yield;
    }
    return undefined;
  }
}

/** An item and its value when it was last rated. */
type Entry = readonly [index: number, value: number];

/** Entries that find their place in one step: sorting all at once would block the event loop. */
const PLACED_IN_A_STEP = 512;

/** A binary heap: each entry goes before the two below it. */
class Queue {
  readonly #heap: Entry[];

  /** Takes the entries over; `start` puts them in order. */
  constructor(heap: Entry[]) {
    this.#heap = heap;
  }

  *start(): Steps<void> {
    for (let at = (this.#heap.length >> 1) - 1; at >= 0; at--) {
      this.#sink(this.#heap[at] as Entry, at);
      if (at % PLACED_IN_A_STEP === 0) yield;
    }
  }

  /** The greatest value; -Infinity if empty. */
  get top(): number {
    return this.#heap[0]?.[1] ?? Number.NEGATIVE_INFINITY;
  }

  push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    for (let above = (at - 1) >> 1; at > 0 && isBefore(entry, heap[above] as Entry); above = (at - 1) >> 1) {
      heap[at] = heap[above] as Entry;
      at = above;
    }
    heap[at] = entry;
  }

  /** Removes and returns the entry with the greatest value; ties go to the first item. */
  pop(): Entry | undefined {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) this.#sink(last, 0);
    return first;
  }

  /** Puts an entry at a place, or below it behind those that go before it. */
  #sink(entry: Entry, place: number): void {
    const heap = this.#heap;
    let at = place;
    for (let below = 2 * at + 1; below < heap.length; below = 2 * at + 1) {
      const right = heap[below + 1];
      if (right !== undefined && isBefore(right, heap[below] as Entry)) below += 1;
      if (!isBefore(heap[below] as Entry, entry)) break;
      heap[at] = heap[below] as Entry;
      at = below;
    }
    heap[at] = entry;
  }
}

function isBefore([index, value]: Entry, [other, worth]: Entry): boolean {
  return value > worth || (value === worth && index < other);
}
