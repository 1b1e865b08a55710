import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fsync } from "../../storage/fs/disk.ts";
import { oneLine, parsedJson } from "../../summarizers/extractive/text.ts";
import { CHANNEL_FILES, CHANNEL_HEADINGS } from "../files/folders.ts";
import { readMemoryFile, refuseShared, writeMemoryFile } from "../files/write-file.ts";
import { rawSentencesOf } from "../learning/own-words.ts";
import { shareIn, topicTerms } from "../learning/terms.ts";
import { analyze } from "../ranking/units.ts";
import { CHANGED_FILES, type ForgottenIn, fingerprint, itemIdOf, type Texts } from "./document.ts";
import { type ChannelPlace, LOG_FILE, type LogEntry, readLog, rewriteLog } from "./store.ts";

// The channel's list of what its memory must not learn again, and what repeats something of it.

export type RetiredAs = "superseded" | "invalidated" | "forgotten";

/** A text that the memory held until a date, and the item that replaced it. */
export interface Superseded {
  /** Empty for forgotten text. */
  readonly text: string;
  readonly date: string;
  readonly by?: string;
  readonly id: string;
}

/** An entry of the list. */
export interface Retired extends Superseded {
  readonly as: RetiredAs;
  /** Equal for texts with the same words, in any order and form. */
  readonly words: string;
  /** For forgotten text, short fingerprints of its words; many words share one. */
  readonly traces: readonly string[];
}

const HEAD = `# Retired

<!-- What the memory held once and must not learn again. A line that is taken out may come back. -->

`;
const ENTRY =
  /^(.*?)<!-- (m-[a-z0-9-]+) (w-[a-z0-9]+) (superseded|invalidated|forgotten)(?: ([0-9a-v.]+))? -->[ \t]*$/gm;
/** The date, the replacing item, and the text. */
const TOLD = /^- (\d{4}-\d\d-\d\d) [a-z]+(?: \((?:by (m-[a-z0-9-]+))?[^)]*\))?: (.*) $/;
const NEGATIONS = /\b(?:not?|never|none|without|cannot|\w+n['’]t|isnt|dont|doesnt|wont)\b/giu;

/** The entries in the file's text. */
function readRetired(file: string | undefined = ""): readonly Retired[] {
  return [...file.matchAll(ENTRY)].map(([, line = "", id = "", words = "", as = "", traces = ""]) => {
    const [, date = "", by, said = ""] = TOLD.exec(line) ?? [];
    return {
      id,
      words,
      as: as as RetiredAs,
      traces: traces === "" ? [] : traces.split("."),
      date,
      by,
      text: said,
    };
  });
}

/** Superseded and invalidated entries; the file does not have the text of forgotten ones. */
export function supersededIn(file: string | undefined): readonly Superseded[] {
  return readRetired(file).filter((entry) => entry.text !== "");
}

/** The file's text with one more entry, which omits the text if it was forgotten. */
export function withRetired(
  file: string | undefined = "",
  text: string,
  { as, time, note }: { readonly as: RetiredAs; readonly time: string; readonly note: string },
): string {
  const said = as === "forgotten" ? "" : `: ${oneLine(text)}`;
  const because = note === "" ? "" : ` (${note})`;
  const traces = as === "forgotten" ? ` ${tracesOf(text).join(".")}` : "";
  const entry = `- ${time.slice(0, 10)} ${as}${because}${said} <!-- ${itemIdOf(text)} ${wordsOf(text)} ${as}${traces} -->\n`;
  const before = file.trim() === "" ? HEAD : file.endsWith("\n") ? file : `${file}\n`;
  return bounded(`${before}${entry}`);
}

/** Maximum number of superseded and invalidated entries; forgotten ones are kept forever. */
const MOST_ENTRIES = 500;

function bounded(file: string): string {
  const lines = file.split("\n");
  const old = lines.filter((line) => / (?:superseded|invalidated) -->$/.test(line));
  const gone = new Set(old.slice(0, Math.max(0, old.length - MOST_ENTRIES)));
  return gone.size === 0 ? file : lines.filter((line) => !gone.has(line)).join("\n");
}

/** Share of a forgotten statement's fingerprints from which a text repeats it. */
const TRACED_AGAIN = 0.75;

/** True for texts about what is forgotten. An item is a statement of its own: it has to say all of it. */
export type IsForgotten = (text: string, isItem?: boolean) => boolean;

/** A test for texts that repeat something forgotten, by the list alone. */
export function isForgottenBy(file: string | undefined): IsForgotten {
  const all = readRetired(file).filter(({ as, traces }) => as === "forgotten" && traces.length > 0);
  if (all.length === 0) return () => false;
  return (text) => {
    const traces = new Set(tracesOf(text));
    return all.some((entry) => {
      const held = entry.traces.filter((trace) => traces.has(trace)).length;
      return held / entry.traces.length >= (entry.traces.length < 3 ? 1 : TRACED_AGAIN);
    });
  };
}

function tracesOf(text: string): string[] {
  return [...topicTerms(text)].map((term) => fingerprint(term, 3)).sort();
}

/** The file's text without the entries for a text, so that it can be learned again. */
export function withoutRetired(file: string | undefined = "", text: string): string {
  const words = wordsOf(text);
  const isEntry = (line: string): boolean => readRetired(line).some((entry) => entry.words === words);
  return file
    .split("\n")
    .filter((line) => !isEntry(line))
    .join("\n");
}

/** The entry that a text would revive. */
export function retiredAs(file: string | undefined, text: string): Retired | undefined {
  const words = wordsOf(text);
  return readRetired(file).findLast((entry) => entry.words === words);
}

/** A fingerprint of the topic words and of negations, which the ranking ignores. */
function wordsOf(text: string): string {
  const negations = (text.match(NEGATIONS) ?? []).length % 2 === 1 ? ["not"] : [];
  const terms = [...new Set([...analyze(text), ...negations])].sort();
  return `w-${fingerprint(terms.length > 1 ? terms.join(" ") : text.toLowerCase().trim(), 12)}`;
}

/** Minimum share of a forgotten statement's words for another text to repeat it. */
const TOLD_AGAIN = 0.6;

/** A test for texts that repeat one of the `statements` or contain all words of one of the `topics`. */
export function forgottenBy(statements: readonly string[], topics: readonly string[]): IsForgotten {
  // Ids of sections contain the words of their headings without punctuation: `tilda-fernhill-example`.
  const told = statements
    .flatMap((text) => [topicTerms(text), topicTerms(text.replace(/[^\p{L}\p{N}]+/gu, " "))])
    .filter(({ size }) => size > 0);
  const named = topics.map(topicTerms).filter(({ size }) => size > 0);
  return (text, isItem) => {
    const terms = topicTerms(text);
    return (
      named.some((topic) => shareIn(topic, terms) === 1) ||
      told.some((statement) => shareIn(statement, terms) >= (statement.size < 3 || isItem ? 1 : TOLD_AGAIN))
    );
  };
}

// ---- what is forgotten leaves the whole folder

/**
 * Removes what is forgotten from a channel's whole folder: from these texts, the change log, pending
 * messages, and the two conversation logs. `taken`: the files of the items that were removed already, to be counted.
 * Everything but the texts is written at once: after a crash in between, the request can be repeated.
 */
export async function scrubChannel(
  place: ChannelPlace,
  texts: Texts,
  isForgotten: IsForgotten,
  taken: readonly string[],
): Promise<{ readonly texts: Texts; readonly forgotten: readonly ForgottenIn[] }> {
  const counts = new Map<string, number>();
  for (const file of taken) counts.set(file, (counts.get(file) ?? 0) + 1);
  const scrubbed = CHANGED_FILES.map((file) => {
    const text = texts[file];
    const isAbout: IsForgotten = (line) => isForgotten(line, file === "MEMORY.md");
    const { lines, pieces } = scrubLines((text ?? "").split("\n"), isAbout);
    counts.set(file, (counts.get(file) ?? 0) + pieces);
    return [file, pieces > 0 ? lines.join("\n") : text];
  });
  counts.set(LOG_FILE, await scrubLog(place, isForgotten));
  counts.set(".memory/pending", await scrubWaiting(place, isForgotten));
  for (const name of [CHANNEL_FILES.log, CHANNEL_FILES.context])
    counts.set(name, await blotOut(place.channelDir, name, isForgotten));
  const forgotten = [...counts].flatMap(([file, pieces]) => (pieces > 0 ? [{ file, pieces }] : []));
  return { texts: Object.fromEntries(scrubbed), forgotten };
}

/** The runtime's own headings, in small letters: they stay, whatever is forgotten. */
const OWN_HEADINGS: ReadonlySet<string> = new Set([...CHANNEL_HEADINGS, "retired", "archive of the history"]);

/** True for a heading of the runtime, as a line or by its name. */
export function isOwnHeading(text: string): boolean {
  return OWN_HEADINGS.has(
    text
      .replace(/^#+\s+/, "")
      .trim()
      .toLowerCase(),
  );
}

const HEADING = /^(#{1,6}\s+)(\d{4}-\d\d-\d\dT[\d:]+Z )?/;

/** The lines without those about it and what is indented below them; of a heading its mark and date stay. */
function scrubLines(lines: readonly string[], isForgotten: IsForgotten) {
  let pieces = 0;
  let inItem = false;
  const kept = lines.flatMap((line) => {
    if (inItem && /^\s+\S/.test(line)) return [];
    inItem = false;
    if (!isForgotten(line.replace(/<!--.*?-->/g, ""))) return [line];
    pieces += 1;
    const heading = HEADING.exec(line)?.[0];
    inItem = heading === undefined;
    return heading === undefined ? [] : [`${heading}(forgotten)`];
  });
  return { lines: kept, pieces };
}

/** JSON with every string in it edited, and the number of changed strings; invalid JSON is unchanged. */
function editStrings(json: string, edit: (value: string, name: string) => string) {
  let pieces = 0;
  const parsed = parsedJson(json);
  if (parsed === undefined) return { text: json, pieces };
  const text = JSON.stringify(parsed, (name, value: unknown) => {
    if (typeof value !== "string") return value;
    const edited = edit(value, name);
    if (edited !== value) pieces += 1;
    return edited;
  });
  return { text, pieces };
}

/** Fields that hold ids, times and enum values: they may contain a forgotten word by chance. */
const NO_WORDS = new Set("time author undoes before after op file target trust ifVersion".split(" "));

/** The fields of a logged change without its free texts about it. */
export function scrubFields<T extends object>(
  fields: T,
  isForgotten: IsForgotten,
): { readonly fields: T; readonly pieces: number } {
  const { text, pieces } = editStrings(JSON.stringify(fields), (value, name) => {
    // A section's id is derived from its heading.
    const isTold = isForgotten(value) || isForgotten(value.replaceAll("-", " "));
    return isTold && !NO_WORDS.has(name) ? "[forgotten]" : value;
  });
  return { fields: JSON.parse(text) as T, pieces };
}

/** Edits the replaced lines and free texts of the log; unreadable lines are dropped. */
async function scrubLog(place: ChannelPlace, isForgotten: IsForgotten): Promise<number> {
  let pieces = 0;
  const scrub = (lines: readonly string[]): readonly string[] => {
    const scrubbed = scrubLines(lines, isForgotten);
    pieces += scrubbed.pieces;
    return scrubbed.lines;
  };
  const { changes } = await readLog(place);
  const entries = changes.map(({ edits, ...change }): LogEntry => {
    const edited = scrubFields(change, isForgotten);
    pieces += edited.pieces;
    const scrubbed = edits?.map((edit) => {
      const before = pieces;
      const hunks = edit.hunks.map(({ at, out, put, above, below }) => ({
        at,
        out: scrub(out),
        put: scrub(put),
        above: scrub(above),
        below: scrub(below),
      }));
      return pieces === before ? edit : { ...edit, hunks, scrubbed: true };
    });
    return { ...edited.fields, edits: scrubbed };
  });
  if (pieces > 0) await rewriteLog(place, entries);
  return pieces;
}

/** Removes the sentences from pending messages. */
async function scrubWaiting({ work }: ChannelPlace, isForgotten: IsForgotten): Promise<number> {
  let pieces = 0;
  const waiting = join(work, "pending");
  for (const name of await readdir(waiting).catch((): string[] => [])) {
    const path = join(waiting, name);
    const edited = editStrings((await readMemoryFile(path))?.text ?? "", (value) => {
      const sentences = rawSentencesOf(value);
      const kept = sentences.filter((sentence) => !isForgotten(sentence));
      return kept.length === sentences.length ? value : kept.join(" ");
    });
    if (edited.pieces > 0) await writeMemoryFile(path, edited.text);
    pieces += edited.pieces;
  }
  return pieces;
}

/** Overwrites the sentences in a log and in the versions of it that a store keeps next to it, `.NAME.v1`. */
async function blotOut(folder: string, name: string, isForgotten: IsForgotten): Promise<number> {
  let pieces = 0;
  for (const file of await readdir(folder)) {
    if (file !== name && !file.startsWith(`.${name}.v`)) continue;
    const path = join(folder, file);
    // A store may delete a version in the meantime.
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    const spots = spotsIn(bytes, isForgotten);
    pieces += spots.length;
    if (spots.length === 0) continue;
    await refuseShared(path);
    const handle = await open(path, "r+");
    try {
      // In place: another process may be appending to the file.
      for (const { at, length } of spots) await handle.write("-".repeat(length), at, "utf8");
      await fsync(handle.fd);
    } finally {
      await handle.close();
    }
  }
  return pieces;
}

/** Byte positions of the sentences in the lines of JSON. */
function spotsIn(bytes: Buffer, isForgotten: IsForgotten) {
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
