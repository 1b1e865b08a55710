import { unlessDamaged } from "../archive/store.ts";
import type { StorageDriver } from "../core/ports.ts";
import { hasOwner, keysOf, readTranscriptKey } from "../core/records.ts";
import { batches, createKeyedMutex } from "../errors.ts";
import type { StoredText } from "./build.ts";
import type { BlockPlace, Segment } from "./segment.ts";
import {
  emptyIndex,
  loadBlock,
  loadIndex,
  readPlace,
  type SessionIndex,
  saveIndex,
  saveTexts,
  updateIndex,
} from "./session-index.ts";
import { searchableText } from "./words.ts";

/** What to look for among the texts of many messages of a segment. */
export interface Scan {
  readonly documents: readonly number[];
  /** Blocks whose JSON it rejects are skipped. */
  holds(json: string): boolean;
  take(document: number, text: string): void;
}

/** Characters kept in memory. */
export interface IndexMemory {
  readonly indexes: number;
  readonly texts: number;
}

const MEMORY: IndexMemory = { indexes: 64_000_000, texts: 16_000_000 };
/** Blocks read at the same time. */
const BLOCKS_AT_ONCE = 8;
/** Attempts to store an index when another worker was faster, before it is used unsaved. */
const ATTEMPTS = 3;

/** The indexes of an archive's sessions, each updated when opened. */
export class OpenIndexes {
  readonly #driver: StorageDriver;
  /** Called when an index cannot be stored, which the next process then rebuilds, and for damaged sessions. */
  readonly #warn: (message: string) => void;
  readonly #indexes: Limited<SessionIndex>;
  readonly #texts: Limited<readonly StoredText[]>;
  /** Otherwise two concurrent searches would read the same transcripts twice. */
  readonly #inTurn = createKeyedMutex();
  #unwritable = false;

  /** `memory` limits the characters of indexes and of texts that are kept; the index in use can exceed it. */
  constructor(driver: StorageDriver, warn: (message: string) => void, memory: IndexMemory = MEMORY) {
    this.#driver = driver;
    this.#warn = warn;
    this.#indexes = createLimited(memory.indexes, sizeOf);
    this.#texts = createLimited(memory.texts, (block) =>
      block.reduce((sum, { id, text }) => sum + id.length + text.length, 0),
    );
  }

  /** By session folder. */
  async open(folder: string): Promise<SessionIndex> {
    const steps = (await stepsIn(keysOf(this.#driver, `${folder}/`))).get(folder) ?? [];
    return this.#inTurn(folder, () => this.#refresh(folder, steps));
  }

  /** Of all sessions with a transcript and without a tenant or user, less damaged ones. */
  async openAll(): Promise<readonly SessionIndex[]> {
    const open: SessionIndex[] = [];
    for (const [folder, steps] of await stepsIn(keysOf(this.#driver, ""))) {
      if (hasOwner(folder)) continue;
      const read = () => this.#inTurn(folder, () => this.#refresh(folder, steps));
      const index = await unlessDamaged(this.#driver, read, this.#warn);
      if (index !== undefined) open.push(index);
    }
    return open;
  }

  async #refresh(folder: string, steps: readonly number[]): Promise<SessionIndex> {
    const driver = this.#driver;
    for (let attempt = 1; ; attempt++) {
      const known = this.#indexes.get(folder) ?? (await loadIndex(driver, folder));
      const { index, changed } = await updateIndex(driver, known, {
        steps,
        keep: (block) => this.#unlessFailing(() => saveTexts(driver, folder, block), undefined),
      });
      const saved = changed ? await this.#unlessFailing(() => saveIndex(driver, index, known), index) : index;
      if (saved !== undefined || attempt >= ATTEMPTS) {
        this.#indexes.set(folder, saved ?? index);
        return saved ?? index;
      }
      this.#indexes.delete(folder);
    }
  }

  /** An archive that is not writable can still be searched. */
  async #unlessFailing<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!this.#unwritable) this.#warn(`the search index could not be stored: ${String(error)}`);
      this.#unwritable = true;
      return otherwise;
    }
  }

  /** A message's text, from its transcript if the index has lost it; undefined if that is gone too, or damaged. */
  textOf(from: Segment, document: number): Promise<StoredText | undefined> {
    return unlessDamaged(this.#driver, () => this.#readText(from, document), this.#warn);
  }

  async #readText(from: Segment, document: number): Promise<StoredText | undefined> {
    const { folder } = from;
    const place = placeIn(from, document);
    if (place === undefined) return undefined;
    const block = await this.#blockOf(folder, place, () => true);
    if (block !== undefined && block !== "refused") {
      this.#texts.set(`${folder}/${place.name}`, block);
      return block[document - place.first];
    }
    // Rebuilt when it is opened next.
    if (!this.#unwritable) {
      this.#indexes.set(folder, emptyIndex(folder, this.#indexes.get(folder)?.version ?? null));
    }
    const archived = await readPlace(this.#driver, folder, from.message(document));
    return archived && { id: archived.message.id, text: searchableText(archived.message) };
  }

  /** A block of texts; "refused" if `holds` rejects its JSON, undefined if it is gone. */
  async #blockOf(
    folder: string,
    { name }: BlockPlace,
    holds: Scan["holds"],
  ): Promise<readonly StoredText[] | "refused" | undefined> {
    const known = this.#texts.get(`${folder}/${name}`);
    if (known !== undefined) return known;
    const json = await loadBlock(this.#driver, folder, name);
    if (json === undefined) return undefined;
    return holds(json) ? (JSON.parse(json) as readonly StoredText[]) : "refused";
  }

  /** Passes the texts of many messages of a segment to `take`, each block read once. */
  async scan(from: Segment, { documents, holds, take }: Scan): Promise<void> {
    const byPlace = new Map<BlockPlace, number[]>();
    for (const document of documents) {
      const place = placeIn(from, document);
      if (place === undefined) continue;
      const mine = byPlace.get(place);
      if (mine === undefined) byPlace.set(place, [document]);
      else mine.push(document);
    }
    const look = async ([place, mine]: readonly [BlockPlace, readonly number[]]): Promise<void> => {
      const block = await this.#blockOf(from.folder, place, holds);
      if (block === "refused") return;
      for (const document of mine) {
        const stored =
          block === undefined ? await this.textOf(from, document) : block[document - place.first];
        if (stored !== undefined) take(document, stored.text);
      }
    };
    for (const some of batches([...byPlace], BLOCKS_AT_ONCE)) await Promise.all(some.map(look));
  }

  /** Drops a session's index, which is not updated while `remove` deletes the session from the archive. */
  forget(folder: string, remove: () => Promise<void>): Promise<void> {
    return this.#inTurn(folder, async () => {
      try {
        await remove();
      } finally {
        this.#indexes.delete(folder);
        for (const name of this.#texts.keys()) if (name.startsWith(`${folder}/`)) this.#texts.delete(name);
      }
    });
  }

  /** Characters of indexes in memory. */
  held(): number {
    return this.#indexes.held();
  }
}

function placeIn({ places }: Segment, document: number): BlockPlace | undefined {
  return places.findLast(({ first }) => first <= document);
}

function sizeOf({ segments }: SessionIndex): number {
  // In addition to the text: an offset per line and four numbers per message.
  return segments.reduce((sum, { text, size }) => sum + text.length * 1.25 + size * 13, 0);
}

async function stepsIn(keys: AsyncIterable<string>): Promise<Map<string, number[]>> {
  const steps = new Map<string, number[]>();
  for await (const key of keys) {
    const place = readTranscriptKey(key);
    if (place === undefined) continue;
    const known = steps.get(place.session);
    if (known === undefined) steps.set(place.session, [place.step]);
    else known.push(place.step);
  }
  for (const list of steps.values()) list.sort((one, other) => one - other);
  return steps;
}

interface Limited<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  delete(key: string): void;
  keys(): readonly string[];
  held(): number;
}

/** An LRU cache limited by size; the newest value stays however large it is. */
function createLimited<T>(most: number, size: (value: T) => number): Limited<T> {
  const values = new Map<string, { readonly value: T; readonly size: number }>();
  let held = 0;
  const remove = (key: string): void => {
    held -= values.get(key)?.size ?? 0;
    values.delete(key);
  };
  return {
    get(key) {
      const found = values.get(key);
      if (found === undefined) return undefined;
      values.delete(key);
      values.set(key, found);
      return found.value;
    },
    set(key, value) {
      remove(key);
      const entry = { value, size: size(value) };
      values.set(key, entry);
      held += entry.size;
      for (const oldest of values.keys()) {
        if (held <= most || oldest === key) break;
        remove(oldest);
      }
    },
    delete: remove,
    keys: () => [...values.keys()],
    held: () => held,
  };
}
