import type { ArchivedMessage } from "../core/archive.ts";
import { writePostings } from "./postings.ts";
import { searchableText } from "./searchable.ts";
import { type IndexedMessage, openSegment, type Segment, segmentName, writeSegment } from "./segment.ts";
import { archiveIdTerm, ownIdTerm, wordTerm } from "./terms.ts";
import { wordsOf } from "./words.ts";

/** Texts of messages that follow one another in a segment, kept apart from it: only what is shown is read. */
export interface TextBlock {
  readonly name: string;
  readonly texts: readonly StoredText[];
}

export interface StoredText {
  /** The id that the message had itself. */
  readonly id: string;
  readonly text: string;
}

/** A text block of a segment and the first of its documents. */
export interface BlockPlace {
  readonly name: string;
  readonly first: number;
}

export interface BuiltSegment {
  readonly segment: Segment;
  readonly places: readonly BlockPlace[];
  readonly blocks: readonly TextBlock[];
}

/** Takes in messages one by one and makes a segment of them. */
export interface SegmentBuilder {
  add(archived: ArchivedMessage, step: number, alias: boolean): void;
  /** Messages that a term stands for, among those taken in. */
  find(term: string): readonly number[];
  archiveIdOf(document: number): string;
  readonly size: number;
  /** Characters taken in since the start. */
  readonly characters: number;
  finish(): BuiltSegment;
}

/** A search shows ten messages and reads as many blocks: small ones are read quickly, too small ones are many files. */
const BLOCK_CHARACTERS = 48 * 1024;

export function createSegmentBuilder(): SegmentBuilder {
  const messages: IndexedMessage[] = [];
  /** By term, documents and how often in turn. */
  const postings = new Map<string, number[]>();
  const ids = new Map<string, number[]>();
  const blocks = createBlocks();
  let characters = 0;

  const note = (term: string, document: number, times: number): void => {
    const known = postings.get(term);
    if (known === undefined) postings.set(term, [document, times]);
    else known.push(document, times);
  };
  const noteId = (term: string, document: number): void => {
    note(term, document, 1);
    const known = ids.get(term);
    if (known === undefined) ids.set(term, [document]);
    else known.push(document);
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
      noteId(archiveIdTerm(archiveId), document);
      noteId(ownIdTerm(message.id), document);
      blocks.add({ id: message.id, text });
      characters += text.length;
    },
    find: (term) => ids.get(term) ?? [],
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

/** A segment that was written just now. */
export function opened(text: string): Segment {
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
