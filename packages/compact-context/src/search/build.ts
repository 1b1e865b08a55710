import type { Message } from "../core/message.ts";
import type { ArchivedMessage } from "../core/transcript.ts";
import {
  eachPosting,
  type IndexedMessage,
  openSegment,
  type Segment,
  segmentName,
  type WrittenTerm,
  writePostings,
  writeSegment,
} from "./segment.ts";
import { archiveIdTerm, ownIdTerm, searchableText, wordsOf, wordTerm } from "./words.ts";

/** Texts of consecutive messages of a segment, stored separately: only displayed texts are read. */
export interface TextBlock {
  readonly name: string;
  readonly texts: readonly StoredText[];
}

export interface StoredText {
  /** The message's own id. */
  readonly id: string;
  readonly text: string;
}

/** A text block of a segment and its first document. */
export interface BlockPlace {
  readonly name: string;
  readonly first: number;
}

export interface BuiltSegment {
  readonly segment: Segment;
  readonly places: readonly BlockPlace[];
  readonly blocks: readonly TextBlock[];
}

/** Builds a segment from messages added one by one. */
export interface SegmentBuilder {
  add(archived: ArchivedMessage, step: number, alias: boolean): void;
  /** Added messages that contain the term. */
  find(term: string): readonly number[];
  archiveIdOf(document: number): string;
  readonly size: number;
  /** Characters added so far. */
  readonly characters: number;
  finish(): BuiltSegment;
}

/**
 * A search shows ten messages and reads as many blocks: small blocks are read quickly, but too small means
 * many files.
 */
const BLOCK_CHARACTERS = 48 * 1024;

export function createSegmentBuilder(): SegmentBuilder {
  const messages: IndexedMessage[] = [];
  /** By term: document and count, alternating. */
  const postings = new Map<string, number[]>();
  const blocks = createBlocks();
  let characters = 0;

  const note = (term: string, document: number, times: number): void => {
    const known = postings.get(term);
    if (known === undefined) postings.set(term, [document, times]);
    else known.push(document, times);
  };

  return {
    add({ archiveId, n, message, redacted }, step, alias) {
      const document = messages.length;
      const text = alias ? "" : searchableText(message);
      const times = countWords(text);
      let length = 0;
      for (const [word, count] of times) {
        length += count;
        note(wordTerm(word), document, count);
      }
      const summary = message.meta?.summaryVersion !== undefined;
      messages.push({ archiveId, step, n, role: message.role, redacted, summary, alias, length });
      note(archiveIdTerm(archiveId), document, 1);
      note(ownIdTerm(message.id), document, 1);
      blocks.add({ id: message.id, text });
      characters += text.length;
    },
    find: (term) => (postings.get(term) ?? []).filter((_, index) => index % 2 === 0),
    archiveIdOf: (document) => messages[document]?.archiveId ?? "",
    get size() {
      return messages.length;
    },
    get characters() {
      return characters;
    },
    finish() {
      const terms = [...postings.keys()].sort().map((term) => {
        const pairs = postings.get(term) ?? [];
        return { term, count: pairs.length / 2, postings: writePostings(pairs) };
      });
      const text = writeSegment(messages, terms);
      return { segment: opened(text), ...blocks.finish() };
    },
  };
}

function countWords(text: string): Map<string, number> {
  const times = new Map<string, number>();
  for (const word of wordsOf(text)) times.set(word, (times.get(word) ?? 0) + 1);
  return times;
}

/** Opens a newly written segment. */
function opened(text: string): Segment {
  const segment = openSegment(text, segmentName(text));
  if (segment === undefined) throw new Error("a segment does not hash to its own name");
  return segment;
}

function createBlocks(): { add(text: StoredText): void; finish(): Pick<BuiltSegment, "places" | "blocks"> } {
  const places: BlockPlace[] = [];
  const blocks: TextBlock[] = [];
  let open: StoredText[] = [];
  let size = 0;
  let first = 0;
  const close = (): void => {
    if (open.length === 0) return;
    const name = segmentName(JSON.stringify(open));
    blocks.push({ name, texts: open });
    places.push({ name, first });
    first += open.length;
    open = [];
    size = 0;
  };
  return {
    add(text) {
      open.push(text);
      size += text.text.length;
      if (size >= BLOCK_CHARACTERS) close();
    },
    finish() {
      close();
      return { places, blocks };
    },
  };
}

/** A segment and the location of its texts. */
export interface PlacedSegment {
  readonly segment: Segment;
  readonly places: readonly BlockPlace[];
}

/**
 * Merges the newest segments until each is at least twice as large as the next. A session's index stays a
 * handful of segments, and a message is merged only as often as its session doubles.
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

/** Documents of the second segment follow those of the first; the texts are not moved. */
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
  /** The next term; undefined at the end. */
  term(): string | undefined;
  /** Consumes and returns the next term if it equals `term`. */
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

interface Known {
  readonly segments: readonly PlacedSegment[];
  readonly builder: SegmentBuilder;
}

const POINTER = /archive id ([0-9a-z]{10})/g;

/**
 * Adds a message that no earlier step has. If it is already there under another id, or was cleared to a
 * pointer to itself, only its ids are added.
 */
export function addOnce(archived: ArchivedMessage, step: number, known: Known): void {
  const { archiveId, message } = archived;
  const here = archiveIdsFor(ownIdTerm(message.id), known);
  if (archiveIdsFor(archiveIdTerm(archiveId), known).size > 0) {
    if (!here.has(archiveId)) known.builder.add(archived, step, true);
    return;
  }
  known.builder.add(archived, step, here.size > 0 && pointsInto(message, here));
}

/** Only a pointer to an earlier version of the same message counts: any text can contain such words. */
function pointsInto(message: Message, before: ReadonlySet<string>): boolean {
  for (const [, id] of searchableText(message).matchAll(POINTER)) if (before.has(id ?? "")) return true;
  return false;
}

function archiveIdsFor(term: string, { segments, builder }: Known): ReadonlySet<string> {
  const ids = new Set(builder.find(term).map((document) => builder.archiveIdOf(document)));
  for (const { segment } of segments) {
    segment.each(term, (document) => ids.add(segment.message(document).archiveId));
  }
  return ids;
}
