import type { ArchivedMessage } from "../archive/transcript.ts";
import type { Message } from "../core/message.ts";
import {
  type BlockPlace,
  eachPosting,
  type IndexedMessage,
  Segment,
  segmentName,
  type WrittenTerm,
  writePostings,
  writeSegment,
} from "./segment.ts";
import { archiveIdTerm, escaped, ownIdTerm, searchableText, wordsOf } from "./words.ts";

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

/** A search reads as many blocks as it shows messages: small ones are quick to read, too small ones too many. */
const BLOCK_CHARACTERS = 48 * 1024;

/** Builds a segment from messages added one by one. */
export class SegmentBuilder {
  /** Characters added so far. */
  characters = 0;
  readonly #messages: IndexedMessage[] = [];
  /** By term: document and count, alternating. */
  readonly #postings = new Map<string, number[]>();
  readonly #places: BlockPlace[] = [];
  readonly #blocks: TextBlock[] = [];
  /** The texts of the next block. */
  #open: StoredText[] = [];
  #openCharacters = 0;

  get size(): number {
    return this.#messages.length;
  }

  add({ archiveId, n, message, redacted }: ArchivedMessage, step: number, alias: boolean): void {
    const { id, role } = message;
    const text = alias ? "" : searchableText(message);
    const times = new Map<string, number>();
    for (const word of wordsOf(text)) times.set(word, (times.get(word) ?? 0) + 1);
    let length = 0;
    for (const [word, count] of times) {
      length += count;
      this.#note(escaped(word), count);
    }
    this.#note(archiveIdTerm(archiveId), 1);
    this.#note(ownIdTerm(id), 1);
    const summary = message.meta?.summaryVersion !== undefined;
    this.#messages.push({ archiveId, step, n, role, redacted, summary, alias, length });
    this.#open.push({ id, text });
    this.characters += text.length;
    this.#openCharacters += text.length;
    if (this.#openCharacters >= BLOCK_CHARACTERS) this.#closeBlock();
  }

  /** Records a term of the message that is being added. */
  #note(term: string, times: number): void {
    const known = this.#postings.get(term);
    if (known === undefined) this.#postings.set(term, [this.size, times]);
    else known.push(this.size, times);
  }

  #closeBlock(): void {
    if (this.#open.length === 0) return;
    const name = segmentName(JSON.stringify(this.#open));
    this.#blocks.push({ name, texts: this.#open });
    this.#places.push({ name, first: this.size - this.#open.length });
    this.#open = [];
    this.#openCharacters = 0;
  }

  /** Archive ids of the added messages that contain the term. */
  archiveIdsFor(term: string): string[] {
    const documents = (this.#postings.get(term) ?? []).filter((_, index) => index % 2 === 0);
    return documents.map((document) => this.#messages[document]?.archiveId ?? "");
  }

  finish(folder: string): { readonly segment: Segment; readonly blocks: readonly TextBlock[] } {
    this.#closeBlock();
    const terms = [...this.#postings.keys()].sort().map((term) => {
      const pairs = this.#postings.get(term) ?? [];
      return { term, count: pairs.length / 2, postings: writePostings(pairs) };
    });
    const segment = new Segment(folder, writeSegment(this.#messages, terms), this.#places);
    return { segment, blocks: this.#blocks };
  }
}

/**
 * Merges the newest segments until each is at least twice as large as the next. A session's index stays a
 * handful of segments, and a message is merged only as often as its session doubles.
 */
export function mergeNewest(segments: readonly Segment[]): readonly Segment[] {
  const merged = [...segments];
  for (;;) {
    const last = merged.at(-1);
    const before = merged.at(-2);
    if (last === undefined || before === undefined) return merged;
    if (before.text.length >= 2 * last.text.length) return merged;
    merged.splice(-2, 2, mergeTwo(before, last));
  }
}

/** Documents of the second segment follow those of the first; the texts are not moved. */
function mergeTwo(one: Segment, two: Segment): Segment {
  const messages = [one, two].flatMap((segment) =>
    Array.from({ length: segment.size }, (_, document) => segment.message(document)),
  );
  const text = writeSegment(messages, mergedTerms(one.terms(), two.terms(), one.size));
  const moved = two.places.map(({ name, first }) => ({ name, first: first + one.size }));
  return new Segment(one.folder, text, [...one.places, ...moved]);
}

/** The terms of both in order; documents of the second follow those of the first. */
function* mergedTerms(
  one: Iterable<WrittenTerm>,
  two: Iterable<WrittenTerm>,
  offset: number,
): Generator<WrittenTerm> {
  const others = two[Symbol.iterator]();
  let other = others.next();
  for (const term of one) {
    for (; other.done !== true && other.value.term < term.term; other = others.next())
      yield joined(undefined, other.value, offset);
    if (other.done === true || other.value.term !== term.term) yield term;
    else {
      yield joined(term, other.value, offset);
      other = others.next();
    }
  }
  for (; other.done !== true; other = others.next()) yield joined(undefined, other.value, offset);
}

function joined(one: WrittenTerm | undefined, two: WrittenTerm, offset: number): WrittenTerm {
  const pairs: number[] = [];
  const take = (postings: string, by: number): void => {
    const all = { start: 0, end: postings.length };
    eachPosting(postings, all, (document, times) => pairs.push(document + by, times));
  };
  take(one?.postings ?? "", 0);
  take(two.postings, offset);
  return { term: two.term, count: pairs.length / 2, postings: writePostings(pairs) };
}

interface Known {
  readonly segments: readonly Segment[];
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
  const ids = new Set(builder.archiveIdsFor(term));
  for (const segment of segments) segment.each(term, (at) => ids.add(segment.message(at).archiveId));
  return ids;
}
