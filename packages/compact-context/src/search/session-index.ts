import {
  type ArchivedMessage,
  type ArchiveProblem,
  createReading,
  isReference,
  linesOf,
  readArchiveLine,
  readLineHead,
} from "../archive/transcript.ts";
import type { StorageDriver } from "../core/ports.ts";
import { archiveFiles, crc32Hex } from "../core/records.ts";
import { hasCode } from "../errors.ts";
import { addOnce, mergeNewest, SegmentBuilder, type TextBlock } from "./build.ts";
import { type BlockPlace, type IndexedMessage, Segment, segmentName } from "./segment.ts";
import { WORDS_VERSION } from "./words.ts";

/** Index of one session's archived messages, as far as its transcripts have been read. */
export interface SessionIndex {
  readonly folder: string;
  readonly steps: readonly CoveredStep[];
  readonly segments: readonly Segment[];
  readonly problems: readonly StepProblem[];
  /** Version of the stored manifest; null if there is none. */
  readonly version: string | null;
  /** False for an index that was loaded and may be behind the archive. */
  readonly checked: boolean;
}

/** Maximum characters of text collected before a segment is built from them. */
const SEGMENT_CHARACTERS = 8 * 1024 * 1024;

/** The stored index; empty if it is missing, damaged or of another version. */
export async function loadIndex(driver: StorageDriver, folder: string): Promise<SessionIndex> {
  const first = await loadOnce(driver, folder);
  if (first.segments.length > 0 || first.version === null) return first;
  // Another worker may have merged the segments while they were read.
  return loadOnce(driver, folder);
}

async function loadOnce(driver: StorageDriver, folder: string): Promise<SessionIndex> {
  const stored = await driver.get(indexFiles.manifest(folder));
  const empty = emptyIndex(folder, stored?.version ?? null);
  const manifest = stored === undefined ? undefined : readManifest(stored.value);
  if (stored === undefined || manifest === undefined) return empty;
  const segments: Segment[] = [];
  for (const { name, blocks } of manifest.segments) {
    const text = (await driver.get(indexFiles.segment(folder, name)))?.value;
    if (text === undefined || segmentName(text) !== name) return empty;
    segments.push(new Segment(folder, text, blocks, name));
  }
  const { steps, problems } = manifest;
  return { folder, steps, segments, problems, version: stored.version, checked: false };
}

export function emptyIndex(folder: string, version: string | null): SessionIndex {
  return { folder, steps: [], segments: [], problems: [], version, checked: true };
}

export interface ToRead {
  /** The steps that have a transcript, ascending. */
  readonly steps: readonly number[];
  /** Receives each block of texts as soon as it is complete: together they are too large to hold. */
  keep(block: TextBlock): Promise<void>;
}

/** Adds the transcripts that the index lacks; `changed` is false if it was already up to date. */
export async function updateIndex(
  driver: StorageDriver,
  known: SessionIndex,
  { steps, keep }: ToRead,
): Promise<{ readonly index: SessionIndex; readonly changed: boolean }> {
  const listed = new Set(steps);
  const isNew = (step: number): boolean => !known.steps.some((one) => one.step === step);
  const newest = known.steps.at(-1);
  // Only the newest step can change: an interrupted compaction is archived again under the same step.
  const mayDiffer = newest !== undefined && (!known.checked || steps.some(isNew));
  const length =
    mayDiffer && listed.has(newest.step) ? await statedLength(driver, known.folder, newest.step) : undefined;
  const gone = known.steps.some(({ step }) => !listed.has(step));
  const replaced = length !== undefined && length < (newest?.messages ?? 0);
  const index = gone || replaced ? emptyIndex(known.folder, known.version) : known;
  const covered = new Map(index.steps.map(({ step, messages }) => [step, messages]));
  const todo = steps.filter((step) => {
    const messages = covered.get(step);
    return messages === undefined || (step === newest?.step && length !== undefined && length > messages);
  });
  if (todo.length === 0 && index === known) return { index: { ...index, checked: true }, changed: false };
  return { index: await readSteps(driver, index, { steps: todo, keep }), changed: true };
}

async function readSteps(
  driver: StorageDriver,
  index: SessionIndex,
  { steps: todo, keep }: ToRead,
): Promise<SessionIndex> {
  const covered = new Map(index.steps.map((one) => [one.step, one]));
  const redone = new Set(todo);
  const problems = index.problems.filter(({ step }) => !redone.has(step));
  let segments = index.segments;
  let builder = new SegmentBuilder();
  const close = async (): Promise<void> => {
    if (builder.size === 0) return;
    const { segment, blocks } = builder.finish(index.folder);
    for (const block of blocks) await keep(block);
    segments = mergeNewest([...segments, segment]);
    builder = new SegmentBuilder();
  };
  for (const step of todo) {
    const read = await readStep(driver, archiveFiles.transcript(index.folder, step), async (archived) => {
      addOnce(archived, step, { segments, builder });
      if (builder.characters >= SEGMENT_CHARACTERS) await close();
    });
    problems.push(...read.problems.map((problem) => ({ step, ...problem })));
    covered.set(step, { step, messages: read.messages });
  }
  await close();
  const steps = [...covered.values()].sort((one, other) => one.step - other.step);
  return { ...index, steps, segments, problems, checked: true };
}

export async function saveTexts(driver: StorageDriver, folder: string, block: TextBlock): Promise<void> {
  await driver.put(indexFiles.texts(folder, block.name), JSON.stringify(block.texts));
}

/** The stored JSON of a block of texts; undefined if it is missing or damaged. */
export async function loadBlock(
  driver: StorageDriver,
  folder: string,
  name: string,
): Promise<string | undefined> {
  let json = "";
  for await (const piece of driver.stream(indexFiles.texts(folder, name))) json += piece;
  return json !== "" && segmentName(json) === name ? json : undefined;
}

/** Stores the index. Undefined if another worker was faster: load its index instead. */
export async function saveIndex(
  driver: StorageDriver,
  index: SessionIndex,
  before: SessionIndex,
): Promise<SessionIndex | undefined> {
  const { folder, steps, problems } = index;
  const stored = new Set(before.segments.map(({ name }) => name));
  for (const { name, text } of index.segments)
    if (!stored.has(name)) await driver.put(indexFiles.segment(folder, name), text);
  const segments = index.segments.map(({ name, places }) => ({ name, blocks: places }));
  try {
    const text = writeManifest({ steps, segments, problems });
    const { version } = await driver.put(indexFiles.manifest(folder), text, { ifVersion: index.version });
    await dropUnused(driver, index, before);
    return { ...index, version };
  } catch (error) {
    if (hasCode(error, "Conflict")) return undefined;
    throw error;
  }
}

/**
 * Deletes segments that were merged away: a process that has one open holds it in memory. Only files that
 * this index replaced are removed, because another worker may be writing files that no manifest names yet.
 */
async function dropUnused(driver: StorageDriver, index: SessionIndex, before: SessionIndex): Promise<void> {
  const used = new Set(filesOf(index));
  for (const key of filesOf(before)) if (!used.has(key)) await driver.delete(key);
}

function filesOf({ folder, segments }: SessionIndex): string[] {
  return segments.flatMap(({ name, places }) => [
    indexFiles.segment(folder, name),
    ...places.map((place) => indexFiles.texts(folder, place.name)),
  ]);
}

/** What a session's index covers and which segments it consists of: its only file that is overwritten. */
interface Manifest {
  readonly steps: readonly CoveredStep[];
  readonly segments: readonly { readonly name: string; readonly blocks: readonly BlockPlace[] }[];
  readonly problems: readonly StepProblem[];
}

/** A transcript that was read, and the message count it states. */
export interface CoveredStep {
  readonly step: number;
  readonly messages: number;
}

/** An unreadable line of a step's transcript. */
export interface StepProblem extends ArchiveProblem {
  readonly step: number;
}

const FORMAT = 1;

/** The keys of a session's index, below the session's folder. */
const indexFiles = {
  manifest: (folder: string): string => `${folder}/search/index.json`,
  segment: (folder: string, name: string): string => `${folder}/search/${name}.terms`,
  texts: (folder: string, name: string): string => `${folder}/search/${name}.texts.json`,
};

function writeManifest(manifest: Manifest): string {
  const body = { format: FORMAT, words: WORDS_VERSION, ...manifest };
  return `${JSON.stringify({ index: body, c: crc32Hex(JSON.stringify(body)) })}\n`;
}

/** Undefined for text that is damaged or of another version: the index is then rebuilt. */
function readManifest(text: string): Manifest | undefined {
  try {
    const { index, c } = JSON.parse(text) as {
      index: Manifest & { format: unknown; words: unknown };
      c: unknown;
    };
    const { steps, segments, problems } = index;
    const current = index.format === FORMAT && index.words === WORDS_VERSION;
    const whole = c === crc32Hex(JSON.stringify(index));
    const named = segments.every(
      ({ name, blocks }) => isName(name) && blocks.every((one) => isName(one.name)),
    );
    return current && whole && named ? { steps, segments, problems } : undefined;
  } catch {
    return undefined;
  }
}

/** Names become keys: only hash characters are allowed. */
function isName(name: unknown): boolean {
  return typeof name === "string" && /^[0-9a-z]{6,20}$/.test(name);
}

/** Passes the messages of a transcript to `take` one by one; unreadable lines are reported as problems. */
async function readStep(
  driver: StorageDriver,
  key: string,
  take: (archived: ArchivedMessage) => Promise<void>,
): Promise<{ readonly messages: number; readonly problems: readonly ArchiveProblem[] }> {
  const problems: ArchiveProblem[] = [];
  const reading = createReading();
  for await (const { text, torn } of linesOf(driver.stream(key))) {
    for (const entry of reading.take(text, torn)) {
      if (isReference(entry)) continue;
      if ("problem" in entry) problems.push(entry);
      else await take(entry);
    }
  }
  problems.push(...reading.end());
  return { messages: reading.stated(), problems };
}

/** The message count stated by the first line of a transcript; 0 if the line is missing or unreadable. */
async function statedLength(driver: StorageDriver, folder: string, step: number): Promise<number> {
  for await (const { text } of linesOf(driver.stream(archiveFiles.transcript(folder, step)))) {
    const head = readLineHead(text);
    return typeof head === "string" ? 0 : head.of;
  }
  return 0;
}

/** An indexed message, read from its transcript; undefined if that has another message there. */
export async function readPlace(
  driver: StorageDriver,
  folder: string,
  { step, n, archiveId }: IndexedMessage,
): Promise<ArchivedMessage | undefined> {
  for await (const { line, text } of linesOf(driver.stream(archiveFiles.transcript(folder, step)))) {
    // There is one message per line, so earlier lines can be skipped.
    if (line < n) continue;
    const read = readArchiveLine(text);
    return typeof read !== "string" && read.archived?.archiveId === archiveId ? read.archived : undefined;
  }
  return undefined;
}
