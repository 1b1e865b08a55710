import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { syncFile } from "../../storage/fs/sync.ts";
import { CHANNEL_FILES } from "../files/folders.ts";
import { readMemoryFile, refuseShared, writeMemoryFile } from "../files/write-file.ts";
import { rawSentencesOf } from "../learning/own-words.ts";
import { shareIn, topicTerms } from "../learning/terms.ts";
import { type DoneOperation, readMark } from "./document.ts";
import { CHANGED_FILES, findItem, type Texts } from "./plan.ts";
import { type ChannelPlace, type FileEdit, LOG_FILE, type LogEntry, readLog, rewriteLog } from "./store.ts";

/** Tells texts that speak of what is to be forgotten. */
export type IsForgotten = (text: string) => boolean;

/** Told how many pieces were taken out of a file. */
type NoteRemoved = (file: string, pieces: number) => void;

/** Share of a forgotten statement's words by which another text tells it again. */
const TOLD_AGAIN = 0.6;

/** `statements` word for word, `topics` as people name them: a text that holds all of a topic's words is about it. */
export function forgottenBy(statements: readonly string[], topics: readonly string[]): IsForgotten {
  // Ids of sections hold the words of their headings without marks: `tilda-fernhill-example`.
  const told = statements
    .flatMap((text) => [topicTerms(text), topicTerms(text.replace(/[^\p{L}\p{N}]+/gu, " "))])
    .filter(({ size }) => size > 0);
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
  const isForgotten = forgottenBy(
    forgets.flatMap(({ operation, id }) =>
      [findItem(before, id)?.item.text ?? [], operation.said ?? []].flat(),
    ),
    forgets.flatMap(({ operation }) => operation.topic ?? []),
  );
  const noted = done.flatMap(({ operation }) => ("text" in operation ? [operation.text.toLowerCase()] : []));
  return (text) => isForgotten(text) && !noted.some((one) => text.toLowerCase().includes(one));
}

/** The Markdown files without the lines that speak of it; what it took out is noted. */
export function scrubTexts(texts: Texts, isForgotten: IsForgotten, note: NoteRemoved): Texts {
  const scrubbed = CHANGED_FILES.map((file) => {
    const text = texts[file];
    if (text === undefined) return [file, undefined];
    const { lines, pieces } = scrubLines(text.split("\n"), isForgotten);
    note(file, pieces);
    return [file, pieces > 0 ? lines.join("\n") : text];
  });
  return Object.fromEntries(scrubbed);
}

const HEADING = /^(#{1,6}\s+)(\d{4}-\d\d-\d\dT[\d:]+Z )?/;

/** Lines without those that speak of it and what is indented below them; of a heading its mark and date stay. */
function scrubLines(
  lines: readonly string[],
  isForgotten: IsForgotten,
): { readonly lines: readonly string[]; readonly pieces: number } {
  let pieces = 0;
  let inItem = false;
  const kept = lines.flatMap((line) => {
    if (inItem && /^\s+\S/.test(line)) return [];
    inItem = false;
    if (/^\s*<!--.*-->\s*$/.test(line) || line.trim() === "") return [line];
    const words = readMark(line) === undefined ? line : line.replace(/<!--[^>]*-->\s*$/, "");
    if (!isForgotten(words.replace(/<!--.*?-->/g, ""))) return [line];
    pieces += 1;
    const heading = HEADING.exec(line)?.[0];
    inItem = heading === undefined;
    return heading === undefined ? [] : [`${heading}(forgotten)`];
  });
  return { lines: kept, pieces };
}

/**
 * Takes it out of all else in the channel's folder: the log of changes, messages that wait, and the two logs of
 * conversations. It is done before the Markdown files change: who is killed in between can ask again.
 */
export async function scrubFolder(
  place: ChannelPlace,
  isForgotten: IsForgotten,
  note: NoteRemoved,
): Promise<void> {
  note(LOG_FILE, await scrubLog(place, isForgotten));
  const waiting = join(place.work, "pending");
  for (const name of await readdir(waiting).catch((): string[] => [])) {
    const path = join(waiting, name);
    const text = (await readMemoryFile(path))?.text ?? "";
    const edited = editStrings(text, (value) => {
      const sentences = rawSentencesOf(value);
      const kept = sentences.filter((sentence) => !isForgotten(sentence));
      return kept.length === sentences.length ? value : kept.join(" ");
    });
    if (edited.pieces > 0) await writeMemoryFile(path, edited.text);
    note(".memory/pending", edited.pieces);
  }
  for (const name of [CHANNEL_FILES.log, CHANNEL_FILES.context]) {
    let pieces = 0;
    for (const file of await versionsOf(place.channelDir, name))
      pieces += await blotOut(join(place.channelDir, file), isForgotten);
    note(name, pieces);
  }
}

/** A file and what a store keeps of it beside it, `.NAME.v1`, the newest of which may be the file itself. */
async function versionsOf(folder: string, name: string): Promise<readonly string[]> {
  const beside = (await readdir(folder)).filter((file) => file.startsWith(`.${name}.v`));
  return [name, ...beside];
}

/** JSON with every text in it edited, and how many were changed; a text that is no JSON stays. */
function editStrings(
  json: string,
  edit: (value: string, name: string) => string,
): { readonly text: string; readonly pieces: number } {
  let pieces = 0;
  try {
    const text = JSON.stringify(JSON.parse(json), (name, value: unknown) => {
      if (typeof value !== "string") return value;
      const edited = edit(value, name);
      if (edited !== value) pieces += 1;
      return edited;
    });
    return { text, pieces };
  } catch {
    return { text: json, pieces: 0 };
  }
}

/** Fields that hold ids, times and names of kinds: a text that is taken out of the words may stand in them by chance. */
const NO_WORDS = new Set("time author undoes before after op file target trust ifVersion".split(" "));

/** Edits their lines, the rest of a change the texts that people worded; lines that cannot be read leave. */
async function scrubLog(place: ChannelPlace, isForgotten: IsForgotten): Promise<number> {
  let pieces = 0;
  const scrubEntry = ({ edits, ...change }: LogEntry): LogEntry => {
    const edited = editStrings(JSON.stringify(change), (value, name) => {
      // The id of a section is made of its heading.
      const isTold = isForgotten(value) || isForgotten(value.replaceAll("-", " "));
      return isTold && !NO_WORDS.has(name) ? "[forgotten]" : value;
    });
    const scrubbed = edits?.map((edit) => scrubEdit(edit, isForgotten));
    pieces += edited.pieces + (scrubbed ?? []).reduce((sum, one) => sum + one.pieces, 0);
    return { ...(JSON.parse(edited.text) as LogEntry), edits: scrubbed?.map(({ edit }) => edit) };
  };
  const { changes } = await readLog(place.channelDir);
  const entries = changes.map(scrubEntry);
  if (pieces > 0) await rewriteLog(place.channelDir, () => entries);
  return pieces;
}

function scrubEdit(
  edit: FileEdit,
  isForgotten: IsForgotten,
): { readonly edit: FileEdit; readonly pieces: number } {
  let pieces = 0;
  const scrub = (lines: readonly string[]): readonly string[] => {
    const scrubbed = scrubLines(lines, isForgotten);
    pieces += scrubbed.pieces;
    return scrubbed.lines;
  };
  const hunks = edit.hunks.map(({ at, out, put, above, below }) => ({
    at,
    out: scrub(out),
    put: scrub(put),
    above: scrub(above),
    below: scrub(below),
  }));
  return pieces === 0 ? { edit, pieces } : { edit: { ...edit, hunks, scrubbed: true }, pieces };
}

/** Writes over the sentences where they stand: somebody may be adding to the file meanwhile. */
async function blotOut(path: string, isForgotten: IsForgotten): Promise<number> {
  const bytes = await readFile(path).catch(() => undefined);
  const spots = bytes === undefined ? [] : spotsIn(bytes, isForgotten);
  if (spots.length === 0) return 0;
  await refuseShared(path);
  const handle = await open(path, "r+");
  try {
    for (const { at, length } of spots) await handle.write("-".repeat(length), at, "utf8");
    await syncFile(handle);
  } finally {
    await handle.close();
  }
  return spots.length;
}

/** Where in the lines of JSON the sentences stand, in bytes. */
function spotsIn(
  bytes: Buffer,
  isForgotten: IsForgotten,
): readonly { readonly at: number; readonly length: number }[] {
  const spots: { at: number; length: number }[] = [];
  for (let start = 0; start < bytes.length; ) {
    const next = bytes.indexOf(10, start);
    const line = bytes.subarray(start, next < 0 ? bytes.length : next);
    const found = new Set<string>();
    editStrings(line.toString("utf8"), (value) => {
      for (const sentence of rawSentencesOf(value)) if (isForgotten(sentence)) found.add(sentence);
      return value;
    });
    for (const sentence of found) {
      const written = Buffer.from(JSON.stringify(sentence).slice(1, -1), "utf8");
      for (let at = line.indexOf(written); at >= 0; at = line.indexOf(written, at + written.length))
        spots.push({ at: start + at, length: written.length });
    }
    start += line.length + 1;
  }
  return spots;
}
