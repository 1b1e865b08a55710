import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CHANNEL_FILES } from "../files/ensure.ts";
import { readMemoryFile, writeMemoryFile } from "../files/write-file.ts";
import { shareIn, topicTerms } from "../learning/meaning.ts";
import { rawSentencesOf } from "../learning/own-words.ts";
import { CHANGED_FILES, findItem, type Texts } from "./apply.ts";
import { editLog, LOG_FILE } from "./change-log.ts";
import type { ChannelPlace } from "./channel-files.ts";
import { readMark } from "./document.ts";
import { UNDO_FOLDER } from "./journal.ts";
import type { DoneOperation, ForgottenIn } from "./operation.ts";

/** Tells texts that speak of what is to be forgotten. */
export type IsForgotten = (text: string) => boolean;

/** Share of a forgotten statement's words by which another text tells it again. */
const TOLD_AGAIN = 0.6;

/** `statements` word for word, `topics` as people name them: a text that holds all of a topic's words is about it. */
export function forgottenBy(statements: readonly string[], topics: readonly string[]): IsForgotten {
  const told = statements.map(topicTerms).filter(({ size }) => size > 0);
  const named = topics.map(topicTerms).filter(({ size }) => size > 0);
  return (text) => {
    const terms = topicTerms(text);
    return (
      named.some((topic) => shareIn(topic, terms) === 1) ||
      told.some((statement) => shareIn(statement, terms) >= (statement.size < 3 ? 1 : TOLD_AGAIN))
    );
  };
}

/** What operations have forgotten, with the items' own texts, but not what is noted with it; undefined where none forgets. */
export function forgottenIn(before: Texts, done: readonly DoneOperation[]): IsForgotten | undefined {
  const forgets = done.flatMap(({ operation, id }) => (operation.op === "forget" ? [{ operation, id }] : []));
  if (forgets.length === 0) return undefined;
  const items = forgets.flatMap(({ id }) => findItem(before, id)?.item.text ?? []);
  const said = forgets.flatMap(({ operation }) => operation.said ?? []);
  const isForgotten = forgottenBy(
    [...items, ...said],
    forgets.flatMap(({ operation }) => operation.topic ?? []),
  );
  const noted = done.flatMap(({ operation }) => ("text" in operation ? [operation.text.toLowerCase()] : []));
  return (text) => isForgotten(text) && !noted.some((one) => text.toLowerCase().includes(one));
}

/** The Markdown files without the lines that speak of it; what it took out is noted in `removed`. */
export function scrubTexts(texts: Texts, isForgotten: IsForgotten, removed: ForgottenIn[]): Texts {
  return Object.fromEntries(
    CHANGED_FILES.flatMap((file) => {
      const text = texts[file];
      return text === undefined ? [] : [[file, scrubLines(text, isForgotten, file, removed)]];
    }),
  );
}

const HEADING = /^(#{1,6}\s+(?:\d{4}-\d\d-\d\dT[\d:]+Z)?)/;

function scrubLines(text: string, isForgotten: IsForgotten, file: string, removed: ForgottenIn[]): string {
  let pieces = 0;
  let inItem = false;
  const kept = text.split("\n").flatMap((line) => {
    if (inItem && /^\s+\S/.test(line)) return [];
    inItem = false;
    if (/^\s*<!--.*-->\s*$/.test(line) || line.trim() === "") return [line];
    const words = readMark(line) === undefined ? line : line.replace(/<!--[^>]*-->\s*$/, "");
    if (!isForgotten(words.replace(/<!--.*?-->/g, ""))) return [line];
    pieces += 1;
    const heading = HEADING.exec(line)?.[1];
    if (heading !== undefined) return [`${heading}(forgotten)`.replace("Z(", "Z (")];
    inItem = true;
    return [];
  });
  if (pieces > 0) removed.push({ file, pieces });
  return pieces === 0 ? text : kept.join("\n");
}

/**
 * Takes it out of all else in the channel's folder: the log of changes, what can be undone, messages that wait, and the two logs of
 * conversations. It is done before the Markdown files change: who is killed in between can ask again.
 */
export async function scrubFolder(
  place: ChannelPlace,
  isForgotten: IsForgotten,
  removed: ForgottenIn[],
): Promise<void> {
  await scrubLog(place, isForgotten, removed);
  for (const folder of [UNDO_FOLDER, "pending"]) {
    for (const file of await filesUnder(join(place.work, folder))) {
      const text = (await readMemoryFile(file))?.text ?? "";
      const edited =
        folder === UNDO_FOLDER ? undoWithout(text, isForgotten) : withoutSentences(text, isForgotten);
      if (edited.pieces === 0) continue;
      await writeMemoryFile(file, edited.text);
      removed.push({ file: `.memory/${folder}`, pieces: edited.pieces });
    }
  }
  for (const name of [CHANNEL_FILES.log, CHANNEL_FILES.context]) {
    const pieces = await blotOut(join(place.channelDir, name), isForgotten);
    if (pieces > 0) removed.push({ file: name, pieces });
  }
}

async function scrubLog(
  place: ChannelPlace,
  isForgotten: IsForgotten,
  removed: ForgottenIn[],
): Promise<void> {
  const path = join(place.channelDir, LOG_FILE);
  const log = (await readMemoryFile(path))?.text ?? "";
  let pieces = 0;
  const edited = editLog(log, (text) => {
    // The id of a section is made of its heading.
    if (!isForgotten(text) && !isForgotten(text.replaceAll("-", " "))) return text;
    pieces += 1;
    return "[forgotten]";
  });
  if (pieces === 0) return;
  await writeMemoryFile(path, edited);
  removed.push({ file: LOG_FILE, pieces });
}

async function filesUnder(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** A record for undo, its Markdown without the lines and its operations without the words. */
function undoWithout(
  json: string,
  isForgotten: IsForgotten,
): { readonly text: string; readonly pieces: number } {
  const removed: ForgottenIn[] = [];
  const text = JSON.stringify(JSON.parse(json), (_, value: unknown) => {
    if (typeof value !== "string") return value;
    if (value.includes("\n")) return scrubLines(value, isForgotten, UNDO_FOLDER, removed);
    if (!isForgotten(value) && !isForgotten(value.replaceAll("-", " "))) return value;
    removed.push({ file: UNDO_FOLDER, pieces: 1 });
    return "[forgotten]";
  });
  return { text, pieces: removed.length };
}

/** JSON text without the sentences, in whatever string of it they stand. */
function withoutSentences(
  json: string,
  isForgotten: IsForgotten,
): { readonly text: string; readonly pieces: number } {
  let pieces = 0;
  try {
    const text = JSON.stringify(JSON.parse(json), (_, value: unknown) => {
      if (typeof value !== "string") return value;
      const kept = rawSentencesOf(value).filter((sentence) => !isForgotten(sentence));
      if (kept.length === rawSentencesOf(value).length) return value;
      pieces += 1;
      return kept.join(" ");
    });
    return { text, pieces };
  } catch {
    return { text: json, pieces: 0 };
  }
}

/** Writes over the sentences where they stand: somebody may be adding to the file meanwhile. */
async function blotOut(path: string, isForgotten: IsForgotten): Promise<number> {
  const bytes = await readFile(path).catch(() => undefined);
  if (bytes === undefined || bytes.length === 0) return 0;
  const spots = spotsIn(bytes, isForgotten);
  if (spots.length === 0) return 0;
  const handle = await open(path, "r+");
  try {
    for (const { at, length } of spots) await handle.write("-".repeat(length), at, "utf8");
    await handle.sync();
  } finally {
    await handle.close();
  }
  return spots.length;
}

function spotsIn(
  bytes: Buffer,
  isForgotten: IsForgotten,
): { readonly at: number; readonly length: number }[] {
  const spots: { at: number; length: number }[] = [];
  for (let start = 0; start < bytes.length; ) {
    const next = bytes.indexOf(10, start);
    const end = next < 0 ? bytes.length : next;
    const line = bytes.subarray(start, end);
    for (const sentence of forgottenSentences(line.toString("utf8"), isForgotten)) {
      const written = Buffer.from(JSON.stringify(sentence).slice(1, -1), "utf8");
      for (let at = line.indexOf(written); at >= 0; at = line.indexOf(written, at + written.length))
        spots.push({ at: start + at, length: written.length });
    }
    start = end + 1;
  }
  return spots;
}

function forgottenSentences(line: string, isForgotten: IsForgotten): readonly string[] {
  const found: string[] = [];
  try {
    JSON.parse(line, (_, value: unknown) => {
      if (typeof value === "string") found.push(...rawSentencesOf(value).filter(isForgotten));
      return value;
    });
  } catch {
    return [];
  }
  return [...new Set(found)];
}
