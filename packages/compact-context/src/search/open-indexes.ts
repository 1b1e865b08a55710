import { hasOwner, keysOf, readTranscriptKey, unlessDamaged } from "../core/archive.ts";
import type { StorageDriver } from "../core/ports.ts";
import { createKeyedMutex } from "../errors.ts";
import type { BlockPlace, PlacedSegment, StoredText } from "./build.ts";
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

export interface OpenIndexesOptions {
  /** Called when an index cannot be stored, which the next process then rebuilds, and for damaged sessions. */
  warn(message: string): void;
  /** Maximum characters of indexes and of texts kept in memory; the index in use can exceed it. */
  readonly memory: { readonly indexes: number; readonly texts: number };
}

/** The indexes of an archive's sessions, each updated when opened. */
export interface OpenIndexes {
  /** By session folder. */
  open(folder: string): Promise<SessionIndex>;
  /** Of all sessions with a transcript and without a tenant or user, less damaged ones. */
  openAll(): Promise<readonly SessionIndex[]>;
  /**
   * The stored text of a message, read from its transcript if the index has lost it; undefined if that is
   * gone too, or damaged.
   */
  textOf(folder: string, from: PlacedSegment, document: number): Promise<StoredText | undefined>;
  /**
   * Passes the texts of many messages of a segment to `wanted.take`; skips blocks whose JSON `holds` rejects.
   */
  scan(folder: string, from: PlacedSegment, wanted: Scan): Promise<void>;
  /**
   * Drops a session's index while `remove` deletes the session from the archive; the index is not updated
   * meanwhile.
   */
  forget(folder: string, remove: () => Promise<void>): Promise<void>;
  /** Characters currently in memory. */
  held(): { readonly indexes: number; readonly texts: number };
}

export interface Scan {
  readonly documents: readonly number[];
  holds(json: string): boolean;
  take(document: number, text: string): void;
}

/** Blocks read at the same time. */
const BLOCKS_AT_ONCE = 8;
/** Attempts to store an index when another worker was faster, before it is used unsaved. */
const ATTEMPTS = 3;

export function createOpenIndexes(driver: StorageDriver, options: OpenIndexesOptions): OpenIndexes {
  const indexes = createLimited<SessionIndex>(options.memory.indexes, sizeOf);
  const texts = createLimited<readonly StoredText[]>(options.memory.texts, (block) =>
    block.reduce((sum, { id, text }) => sum + id.length + text.length, 0),
  );
  // Otherwise two concurrent searches would read the same transcripts twice.
  const inTurn = createKeyedMutex();
  let unwritable = false;

  async function refresh(folder: string, steps: readonly number[]): Promise<SessionIndex> {
    for (let attempt = 1; ; attempt++) {
      const known = indexes.get(folder) ?? (await loadIndex(driver, folder));
      const { index, changed } = await updateIndex(driver, known, {
        steps,
        keep: (block) => unlessFailing(() => saveTexts(driver, folder, block), undefined),
      });
      const saved = changed ? await unlessFailing(() => saveIndex(driver, index, known), index) : index;
      if (saved !== undefined || attempt >= ATTEMPTS) {
        indexes.set(folder, saved ?? index);
        return saved ?? index;
      }
      indexes.delete(folder);
    }
  }

  /** An archive that is not writable can still be searched. */
  async function unlessFailing<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!unwritable) options.warn(`the search index could not be stored: ${String(error)}`);
      unwritable = true;
      return otherwise;
    }
  }

  /** A block of texts; "refused" if `holds` rejects its JSON, undefined if it is gone. */
  async function blockOf(
    folder: string,
    { name }: BlockPlace,
    holds: Scan["holds"],
  ): Promise<readonly StoredText[] | "refused" | undefined> {
    const known = texts.get(`${folder}/${name}`);
    if (known !== undefined) return known;
    const json = await loadBlock(driver, folder, name);
    if (json === undefined) return undefined;
    return holds(json) ? (JSON.parse(json) as readonly StoredText[]) : "refused";
  }

  const textOf: OpenIndexes["textOf"] = (folder, from, document) =>
    unlessDamaged(driver, () => readText(folder, from, document), options.warn);

  async function readText(
    folder: string,
    from: PlacedSegment,
    document: number,
  ): Promise<StoredText | undefined> {
    const place = placeIn(from, document);
    if (place === undefined) return undefined;
    const key = `${folder}/${place.name}`;
    const block = await blockOf(folder, place, () => true);
    if (block !== undefined && block !== "refused") {
      texts.set(key, block);
      return block[document - place.first];
    }
    // Rebuilt when it is opened next.
    if (!unwritable) indexes.set(folder, emptyIndex(folder, indexes.get(folder)?.version ?? null));
    const wanted = from.segment.message(document);
    const archived = await readPlace(driver, { folder, step: wanted.step }, wanted);
    return archived && { id: archived.message.id, text: searchableText(archived.message) };
  }

  return {
    async open(folder) {
      const steps = (await stepsIn(keysOf(driver, `${folder}/`))).get(folder) ?? [];
      return inTurn(folder, () => refresh(folder, steps));
    },
    async openAll() {
      const open: SessionIndex[] = [];
      for (const [folder, steps] of await stepsIn(keysOf(driver, ""))) {
        if (hasOwner(folder)) continue;
        const read = () => inTurn(folder, () => refresh(folder, steps));
        const index = await unlessDamaged(driver, read, options.warn);
        if (index !== undefined) open.push(index);
      }
      return open;
    },
    textOf,
    scan: (folder, from, wanted) =>
      scanBlocks(from, wanted, {
        block: (place) => blockOf(folder, place, wanted.holds),
        text: (document) => textOf(folder, from, document),
      }),
    forget: (folder, remove) =>
      inTurn(folder, async () => {
        try {
          await remove();
        } finally {
          indexes.delete(folder);
          for (const name of texts.keys()) if (name.startsWith(`${folder}/`)) texts.delete(name);
        }
      }),
    held: () => ({ indexes: indexes.held(), texts: texts.held() }),
  };
}

interface Readers {
  block(place: BlockPlace): Promise<readonly StoredText[] | "refused" | undefined>;
  text(document: number): Promise<StoredText | undefined>;
}

async function scanBlocks(from: PlacedSegment, { documents, take }: Scan, read: Readers): Promise<void> {
  const byPlace = new Map<BlockPlace, number[]>();
  for (const document of documents) {
    const place = placeIn(from, document);
    if (place !== undefined) byPlace.set(place, [...(byPlace.get(place) ?? []), document]);
  }
  const look = async ([place, mine]: readonly [BlockPlace, readonly number[]]): Promise<void> => {
    const block = await read.block(place);
    if (block === "refused") return;
    for (const document of mine) {
      const stored = block === undefined ? await read.text(document) : block[document - place.first];
      if (stored !== undefined) take(document, stored.text);
    }
  };
  const all = [...byPlace];
  for (let start = 0; start < all.length; start += BLOCKS_AT_ONCE)
    await Promise.all(all.slice(start, start + BLOCKS_AT_ONCE).map(look));
}

function placeIn({ places }: PlacedSegment, document: number): BlockPlace | undefined {
  return places.findLast(({ first }) => first <= document);
}

function sizeOf({ segments }: SessionIndex): number {
  // In addition to the text: an offset per line and four numbers per message.
  return segments.reduce((sum, { segment }) => sum + segment.text.length * 1.25 + segment.size * 13, 0);
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
