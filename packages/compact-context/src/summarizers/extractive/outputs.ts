import type { Action } from "./actions.ts";
import { changeWords, namesIn, readPatch } from "./edits.ts";
import { HOST_LINE, type Outcome, outcomeWords } from "./outcomes.ts";
import { bare, MAX_CODE, MAX_SENTENCE, NARRATION, type Piece, WEIGHTS } from "./remarks.ts";
import type { Step } from "./steps.ts";
import { clipEnd, linesOf, oneLine, parsedJson, readable, sentences } from "./text.ts";

// What calls gave back, in pieces: names of code, changes of a diff, fields of a record, lines, reports of sub-agents.

/** Removes the common root from paths. */
type Shorten = (text: string) => string;

const MIN_LINE = 24;
/** Lines of a result that may be told, and levels of a record. */
const MAX_FOUND = 40;
const MAX_DEPTH = 5;
/** Maximum characters of the call that a cleared output came from. */
const MAX_FROM = 80;
/** Maximum lines of a cleared output, and their characters: a search's first hits say most, and the archive has the rest. */
const MAX_CLEARED = 6;
const MAX_TOLD = 240;

/** What a cleared output held, behind the call that stays next to the summary. */
export function emptiedPieces({ action, outcome, result }: Step, shorten: Shorten): Piece[] {
  const { text = "", isError = false } = result ?? {};
  const failed = isError || outcome.state === "failed";
  // The call itself shows that an edit was made.
  if (action.kind === "edit" && !failed) return [];
  const words = clipEnd(shorten(action.words), MAX_FROM);
  // A colon ends the call, so that the next line of it need not name it again.
  const from = words.includes("`") ? words : words.replaceAll(": ", " ");
  const found =
    action.command !== undefined && (outcome.verifies || failed)
      ? linesOfRun(outcome, text)
      : action.kind === "read" && !failed
        ? linesRead(action, text)
        : linesSaid(text);
  return [...new Set(found)].slice(0, MAX_CLEARED).map((line) => ({
    kind: "ran",
    text: `${from}: ${clipEnd(shorten(line), MAX_TOLD)}`,
    weight: WEIGHTS.emptied,
  }));
}

/** How a command ended and what it complained of, then what else it said. */
function linesOfRun(outcome: Outcome, text: string): string[] {
  const told = [outcomeWords(outcome), ...outcome.errors].filter((line) => line !== "");
  const isNew = (line: string): boolean =>
    !(outcome.verifies && BANNER.test(line)) && !told.some((one) => one.includes(line));
  return [...told, ...linesSaid(text).filter(isNew)];
}

/** The script that a package manager runs, and a runner's own name. */
const BANNER = /^(?:> |RUN\s+v\d)/;

/** Of one file of code that was read, the names; of another, and of what several commands print, the lines. */
function linesRead({ files, command = "" }: Action, text: string): string[] {
  const content = withoutNumbers(readable(heldText(text)));
  const [file] = files.length === 1 && !/&&|;/.test(command) ? files : [];
  const names = file === undefined ? "" : namesIn(file.path, content);
  return names === "" ? foundLines(content) : [names];
}

const DIFF = /^diff --git /m;
/** The lines of a diff outside of its hunks. */
const HEADER =
  /^(?:diff --git |index |(?:old|new|deleted file|new file) mode |(?:dis)?similarity index |(?:rename|copy) (?:from|to) |--- |\+\+\+ |\\ |$)/;
const HUNK = /^@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@/;

/**
 * The lines above a diff, then each file with what changed in it; undefined for a text with anything else, which could
 * be told as a change.
 */
function linesOfDiff(text: string): string[] | undefined {
  const start = text.search(DIFF);
  if (start < 0 || readable(text) !== text) return undefined;
  const diff = text.slice(start);
  const files = diff.match(/^diff --git /gm)?.length ?? 0;
  const changes = isWholeDiff(diff.split(/\r?\n/)) ? readPatch(diff) : [];
  if (changes.length !== files) return undefined;
  const told = changes.map((change) => changeWords({ ...change, what: [change.what] }));
  const above = foundLines(text.slice(0, start));
  const room = MAX_CLEARED - above.length;
  if (told.length <= room || room < 2) return [...above, ...told];
  return [...above, ...told.slice(0, room - 1), `${told.length - room + 1} more files`];
}

/** True if every line stands in a hunk, by the numbers above it, or in a file's header. */
function isWholeDiff(lines: readonly string[]): boolean {
  let [old, now] = [0, 0];
  return lines.every((line) => {
    if (old > 0 || now > 0) {
      if (/^(?:[ -]|$)/.test(line)) old -= 1;
      if (/^(?:[ +]|$)/.test(line)) now -= 1;
      return /^(?:[ +\\-]|$)/.test(line);
    }
    const hunk = HUNK.exec(line);
    if (hunk !== null) [old, now] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
    return hunk !== null || HEADER.test(line);
  });
}

/** The number before a line of a file, behind the tag that some tools open the file with. */
const NUMBER = /^(?:<[a-z]{1,20}>)?\s{0,8}(\d{1,6})(?:[→\t]|:| ?\| ?|\s{2})/;

/** A file's text without the numbers of its lines, each one more than the one before. */
function withoutNumbers(text: string): string {
  const lines = text.split("\n");
  const numbers = lines.flatMap((line) => NUMBER.exec(line)?.[1] ?? []).map(Number);
  const isCounted = numbers.every((number, at) => at === 0 || number === (numbers[at - 1] ?? 0) + 1);
  if (numbers.length < 2 || !isCounted || 2 * numbers.length < lines.length)
    return text.replace(/^<content>1: /m, "");
  return lines.map((line) => line.replace(NUMBER, "")).join("\n");
}

/** Progress lines of test runners, diff markers and the lines around a file or a search's hits: they say nothing about the work. */
const PROGRESS =
  /^(?:=== (?:RUN|PAUSE|CONT|NAME)\b|\[(?:The command (?:completed|has no)|Command finished|Current working directory|Python interpreter)|--- (?:PASS|SKIP):|ok\s+\S|\?\s+\S+\s+\[no test files\]|PASS\b|[✓✔√]\s|diff --git |index [0-9a-f]{7,}\.\.|@@ |<path>\/|<type>(?:file|directory)<|\(End of file\b)/;

/** What changed by a diff, of any other text the lines that say something. */
function linesSaid(text: string): string[] {
  return linesOfDiff(text) ?? foundLines(text);
}

/** A call's output line by line, if there is room, without what is `told` already. */
export function foundPieces(text: string, shorten: Shorten, told = ""): Piece[] {
  return linesSaid(text)
    .filter((line) => !told.includes(line.replace(TAG, "")))
    .map((line) => ({ kind: "found", text: clipEnd(shorten(line), MAX_CODE), weight: WEIGHTS.found }));
}

/** The lines of an output that say something; the fields of a record stay together. */
function foundLines(text: string): string[] {
  return recordLines(readable(text))
    .slice(0, MAX_FOUND)
    .filter((line) => line.length >= MIN_LINE && /\p{L}{2}/u.test(line))
    .filter((line) => !PROGRESS.test(line) && !HOST_LINE.test(line));
}

/** The text of a file in a host's record of a call; any other text itself. */
function heldText(text: string): string {
  if (!RECORD.test(text)) return text;
  const held = blocksIn(parsedJson(text), 0).join("\n");
  return 2 * held.length >= text.length ? held : text;
}

/** The strings of several lines in a value. */
function blocksIn(value: unknown, depth: number): string[] {
  if (typeof value === "string") return value.includes("\n") ? [value] : [];
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return [];
  return Object.values(value).flatMap((field) => blocksIn(field, depth + 1));
}

const RECORD = /^\s*[[{]/;

/** The lines of a text, or of a record its fields, then its long texts. */
function recordLines(text: string): string[] {
  const value = RECORD.test(text) ? parsedJson(text) : undefined;
  if (value === undefined) return text.split("\n").map(oneLine);
  const long = blocksIn(value, 0).filter((block) => block.length > MAX_CODE);
  return [...fieldsOf(value, 0), ...long.flatMap((block) => block.split("\n").map(oneLine))];
}

/** The scalar fields of each object in a value, one line per object. */
function fieldsOf(value: unknown, depth: number): string[] {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return [];
  const entries = Object.entries(value);
  const plain = entries.filter(([, field]) => typeof field !== "object" && String(field).length <= MAX_CODE);
  const own = (Array.isArray(value) ? plain : tellingFields(plain)).map(([key, field]) =>
    Array.isArray(value) ? String(field) : `${key}: ${field}`,
  );
  const inner = entries.flatMap(([key, field]) => {
    const lines = fieldsOf(field, depth + 1);
    return Array.isArray(value) ? lines : lines.map((line) => `${key}: ${line}`);
  });
  return [...(own.length === 0 ? [] : [own.join(", ")]), ...inner];
}

/** The fields that say something: not those with nothing in them, nor a link to another call of the same API. */
function tellingFields(fields: readonly [string, unknown][]): readonly [string, unknown][] {
  const said = fields.filter(([, value]) => value !== "");
  const telling = said.filter(([key]) => !API_LINK.test(key));
  return telling.length > 0 ? telling : said;
}

const API_LINK = /(?<!^html)_url$/;

const TAG = /<\/?[\w-]{1,60}>/g;

/** Says what was changed, in a sentence or in an item of a list. */
const TELLS_CHANGE =
  /^(?:[-*\d.)\s]*)(?:\*\*[^*]{1,80}\*\*[:\s-]*)?(?:added|extracted|changed|fixed|removed|renamed|replaced|updated|created|moved|implemented|wrote|introduced|deleted|made|committed)\b/i;

function reportWeight(sentence: string, index: number): number {
  if (NARRATION.test(sentence)) return WEIGHTS.narration;
  if (TELLS_CHANGE.test(sentence)) return WEIGHTS.remark;
  return index < OPENING ? WEIGHTS.other : WEIGHTS.report;
}

/** What a host writes around a report; a field of it stands on a line of its own. */
const ABOUT_AGENT =
  /^(?:agentId: |task_id: |<usage>|(?:total_tokens|tool_uses|duration_ms): |<((?:task|agent|session|output|tool)[_-]\w{1,40}|status)>[^<]{0,80}<\/\1>$)/;

/** Sentences at the beginning of a report, which say what came of it. */
const OPENING = 3;

/** A sub-agent's report, sentence by sentence. */
export function reportPieces({ result }: Step): Piece[] {
  return linesOf(result?.text ?? "")
    .filter(({ code }) => !code)
    .flatMap(({ text }) => sentences(text))
    .filter((sentence) => /\p{L}/u.test(sentence.replace(TAG, "")) && !ABOUT_AGENT.test(sentence))
    .map((sentence, index) => ({
      kind: "ran",
      text: `agent reported: ${clipEnd(bare(sentence), MAX_SENTENCE)}`,
      weight: reportWeight(sentence, index),
    }));
}
