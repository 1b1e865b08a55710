import { type BlockPlace, opened } from "./build.ts";
import { eachPosting, writePostings } from "./postings.ts";
import { type IndexedMessage, type Segment, type WrittenTerm, writeSegment } from "./segment.ts";

/** A segment and where its texts are. */
export interface PlacedSegment {
  readonly segment: Segment;
  readonly places: readonly BlockPlace[];
}

/**
 * Merges newer segments into those before them while one is not at least twice as large as what follows it: a
 * session's index is then a handful of segments, and a message is merged as often as its session doubles.
 */
export function mergeNewest(segments: readonly PlacedSegment[]): readonly PlacedSegment[] {
  const merged = [...segments];
  for (;;) {
    const last = merged.at(-1);
    const before = merged.at(-2);
    if (last === undefined || before === undefined) return merged;
    if (before.segment.text.length >= 2 * last.segment.text.length) return merged;
    merged.splice(-2, 2, mergeTwo(before, last));
  }
}

/** The documents of the second follow those of the first; the texts stay where they are. */
function mergeTwo(one: PlacedSegment, two: PlacedSegment): PlacedSegment {
  const offset = one.segment.size;
  const messages: IndexedMessage[] = [one, two].flatMap(({ segment }) =>
    Array.from({ length: segment.size }, (_, document) => segment.message(document)),
  );
  const text = writeSegment(messages, mergedTerms(one.segment.terms(), two.segment.terms(), offset));
  const moved = two.places.map(({ name, first }) => ({ name, first: first + offset }));
  return { segment: opened(text), places: [...one.places, ...moved] };
}

function* mergedTerms(
  one: Iterable<WrittenTerm>,
  two: Iterable<WrittenTerm>,
  offset: number,
): Generator<WrittenTerm> {
  const left = takerOf(one);
  const right = takerOf(two);
  for (;;) {
    const term = lesser(left.term(), right.term());
    if (term === undefined) return;
    yield joined(left.take(term), right.take(term), offset);
  }
}

interface TermTaker {
  /** The term that comes next; undefined at the end. */
  term(): string | undefined;
  /** That term, where it is this one. */
  take(term: string): WrittenTerm | undefined;
}

function takerOf(terms: Iterable<WrittenTerm>): TermTaker {
  const iterator = terms[Symbol.iterator]();
  const next = (): WrittenTerm | undefined => {
    const step = iterator.next();
    return step.done === true ? undefined : step.value;
  };
  let waiting = next();
  return {
    term: () => waiting?.term,
    take(term) {
      if (waiting?.term !== term) return undefined;
      const taken = waiting;
      waiting = next();
      return taken;
    },
  };
}

function lesser(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one < other ? one : other;
}

function joined(one: WrittenTerm | undefined, two: WrittenTerm | undefined, offset: number): WrittenTerm {
  if (one !== undefined && two === undefined) return one;
  const pairs: number[] = [];
  const take = (from: WrittenTerm | undefined, by: number): void => {
    if (from === undefined) return;
    const span = { start: 0, end: from.postings.length };
    eachPosting(from.postings, span, (document, times) => pairs.push(document + by, times));
  };
  take(one, 0);
  take(two, offset);
  return { term: one?.term ?? two?.term ?? "", count: pairs.length / 2, postings: writePostings(pairs) };
}
