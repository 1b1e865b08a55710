import { type Redactor, WITHHELD } from "../../redaction/redactor.ts";
import { versionOf } from "../files/write-file.ts";
import { appendLines, linesOf, replaceLines } from "../markdown.ts";
import {
  type DoneOperation,
  itemIdOf,
  itemsOf,
  type MemoryAuthor,
  type MemoryDocument,
  type MemoryFileName,
  type MemoryItem,
  type MemoryOperation,
  type MemoryOrigin,
  type MemorySection,
  type Operation,
  plainWords,
  type RefusalReason,
  type RefusedOperation,
  readDocument,
  renderMark,
  slug,
} from "./document.ts";
import { RETIRED_FILE, retiredAs, withoutRetired, withRetired } from "./retired.ts";

/** The file that folded sections of a history are moved to; never recalled from. */
const ARCHIVE_FILE = "HISTORY.archive.md";

/** Every file that a change may touch. */
export type ChangedFile = MemoryFileName | "RETIRED.md" | "HISTORY.archive.md";
export const CHANGED_FILES: readonly ChangedFile[] = [
  "MEMORY.md",
  "SESSION.md",
  "HISTORY.md",
  RETIRED_FILE,
  ARCHIVE_FILE,
];

/** Texts by file; undefined where there is none. */
export type Texts = Partial<Readonly<Record<ChangedFile, string>>>;

/** Who changes the texts, and when. */
interface PlanContext {
  readonly author: MemoryAuthor;
  /** ISO 8601, to the second. */
  readonly time: string;
  readonly redactor: Pick<Redactor, "redactText">;
}

/** What an operation makes of the texts, and the text that came in as it was written. */
interface Step extends Partial<Incoming> {
  readonly texts: Texts;
  readonly id: string;
}

class Refusal extends Error {
  readonly reason: RefusalReason;
  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Small memories may be emptied; of larger ones an automatic change takes out this share of the items at most. */
const FREE_ITEMS = 6;
const MOST_REMOVED = 0.5;

/** What the files will say after the operations, one after the other; what may not be done is left out, with its reason. */
export function planChange(
  before: Texts,
  operations: readonly MemoryOperation[],
  context: PlanContext,
): {
  readonly texts: Texts;
  readonly done: readonly DoneOperation[];
  readonly refused: readonly RefusedOperation[];
} {
  let texts = before;
  const done: DoneOperation[] = [];
  const refused: RefusedOperation[] = [];
  const items = itemsOf(documentOf(texts, "MEMORY.md")).length;
  const most = Math.max(FREE_ITEMS, Math.floor(items * MOST_REMOVED));
  let removals = context.author === "person" ? Number.POSITIVE_INFINITY : most;
  for (const operation of operations) {
    const removes = operation.op === "invalidate" || operation.op === "forget";
    try {
      if (removes && removals <= 0)
        throw new Refusal(
          "shrinks",
          "One change may take out half of the items: look at the rest another time.",
        );
      const step = applyOperation(texts, operation, context);
      if (removes) removals -= 1;
      const { id, text, redacted = false } = step;
      texts = step.texts;
      done.push({ operation: asWritten(operation, text), id, redacted });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refused.push({ operation, reason: error.reason, message: error.message });
    }
  }
  return { texts, done, refused };
}

function asWritten(operation: MemoryOperation, text: string | undefined): MemoryOperation {
  return text !== undefined && "text" in operation ? { ...operation, text } : operation;
}

function applyOperation(texts: Texts, operation: MemoryOperation, context: PlanContext): Step {
  switch (operation.op) {
    case "add":
      return addItem(texts, operation, context);
    case "supersede":
      return supersedeItem(texts, operation, context);
    case "invalidate":
      return retireItem(texts, operation, context);
    case "forget":
      return operation.target === undefined
        ? forgetWords(texts, operation, context)
        : retireItem(texts, { ...operation, target: operation.target }, context);
    case "addSection":
      return addSection(texts, operation, context);
    case "foldSections":
      return foldSections(texts, operation, context);
    case "replaceFile":
      return replaceSession(texts, operation, context);
  }
}

/** What was read last of each file: operations in a row look at the same text again and again. */
const lastRead = new Map<MemoryFileName, MemoryDocument>();

function documentOf(texts: Texts, file: MemoryFileName): MemoryDocument {
  const text = texts[file] ?? "";
  const known = lastRead.get(file);
  if (known?.text === text) return known;
  const document = readDocument(file, text, null);
  lastRead.set(file, document);
  return document;
}

interface FoundItem {
  readonly file: MemoryFileName;
  readonly item: MemoryItem;
}

/** The item with an id, of durable memory first. */
export function findItem(texts: Texts, id: string): FoundItem | undefined {
  for (const file of ["MEMORY.md", "SESSION.md", "HISTORY.md"] as const) {
    const item = itemsOf(documentOf(texts, file)).find((one) => one.id === id);
    if (item !== undefined) return { file, item };
  }
  return undefined;
}

/** The sections of an id or else a heading: none, one, or all of that name. */
function findSections({ sections }: MemoryDocument, name: string): readonly MemorySection[] {
  const byId = sections.find(({ id }) => id === name.trim());
  if (byId !== undefined) return [byId];
  const key = slug(name.replace(/^[#\s]+/, ""));
  return key === "" ? [] : sections.filter(({ level, heading }) => level > 0 && slug(heading) === key);
}

// ---- what comes in

const LONGEST_ITEM = 1_000;
const LONGEST_FILE = 200_000;
const RECALLED = /<runtime_context>[\s\S]*?<\/runtime_context>\s*/gi;
/** What stands where text was left out: writing it down would lose that text. */
const PLACEHOLDER =
  /(?:\.\.\.|…|\[)\s*\(?(?:the\s+)?(?:rest|remainder|remaining|other|previous|existing)\b[^\n]{0,40}\b(?:unchanged|same|omitted|as before|stays?|here)\b|\[\s*(?:\.\.\.|…)\s*(?:unchanged|omitted|truncated)?\s*\]|(?:其余|其他|以下)(?:内容)?(?:保持)?(?:不变|省略)/iu;

/** Text as it may be written. */
interface Incoming {
  readonly text: string;
  readonly redacted: boolean;
}

/** One line for an item: nothing recalled, no secret, and no comment that could pass for a mark. */
function incomingItem(text: string, context: PlanContext): Incoming {
  const line = text
    .replace(RECALLED, "")
    .replace(/\s+/g, " ")
    .trim()
    .replaceAll("<!--", "&lt;!--")
    .replaceAll("-->", "--&gt;")
    .replace(/^(?:[-*+]\s+)+/, "");
  return safe(line, LONGEST_ITEM, context);
}

/** Text of several lines for a section or a file. */
function incomingBlock(text: string, context: PlanContext): Incoming {
  const block = text.replace(RECALLED, "").replace(/^\n+|\s+$/g, "");
  if (PLACEHOLDER.test(block))
    throw new Refusal("placeholder", "A placeholder stands where text would be lost: give the whole text.");
  return safe(block, LONGEST_FILE, context);
}

function safe(given: string, most: number, { redactor }: PlanContext): Incoming {
  const text = redactor.redactText(given);
  if (text === WITHHELD)
    throw new Refusal("withheld", "The text could not be searched for secrets, so it is not kept.");
  if (!/[\p{L}\p{N}]/u.test(text)) throw new Refusal("empty", "The text says nothing.");
  if (text.length > most)
    throw new Refusal("too-long", `The text has ${text.length} characters; ${most} are the most.`);
  return { text, redacted: text !== given };
}

/** One line for a heading, without the marks of one. */
function incomingHeading(text: string, { redactor }: PlanContext): string {
  const line = text
    .replace(/^[#\s]+/, "")
    .replace(/\s+/g, " ")
    .trim();
  const heading = redactor.redactText(line).replaceAll("<!--", "&lt;!--").slice(0, 200);
  if (!/[\p{L}\p{N}]/u.test(heading)) throw new Refusal("empty", "The section has no name.");
  return heading;
}

// ---- items of MEMORY.md

function addItem(texts: Texts, operation: Operation<"add">, context: PlanContext): Step {
  const { text, redacted } = newItem(texts, operation.text, context);
  const list = texts[RETIRED_FILE] ?? "";
  const retired = retiredAs(list, text);
  if (retired !== undefined && context.author !== "person")
    throw new Refusal(
      "retired",
      `${retired.id} said that and was ${retired.as}; ${RETIRED_FILE} has its line.`,
    );
  const lifted = retired === undefined ? {} : { [RETIRED_FILE]: withoutRetired(list, text) };
  const memory = withLine(texts, operation.section, itemLine(text, operation, context), context);
  return {
    texts: { ...texts, ...lifted, "MEMORY.md": memory },
    id: itemIdOf(text),
    redacted,
    text,
  };
}

/** MEMORY.md with a line at the end of a section's items; a section that is missing comes last. */
function withLine(texts: Texts, name: string, line: string, context: PlanContext): string {
  const before = texts["MEMORY.md"] ?? "";
  const [section, ...others] = findSections(documentOf(texts, "MEMORY.md"), name);
  if (others.length > 0) throw new Refusal("ambiguous", "MEMORY.md has several sections of that name.");
  if (section === undefined) return appendLines(before, [`## ${incomingHeading(name, context)}`, "", line]);
  const last = section.items.at(-1);
  if (last !== undefined) return replaceLines(before, last.lastLine, last.lastLine, [line]);
  const lines = linesOf(before).slice(section.line, section.lastLine);
  const at = section.line + lines.findLastIndex((one) => one.trim() !== "") + 1;
  return replaceLines(before, at, at, ["", line]);
}

function supersedeItem(texts: Texts, operation: Operation<"supersede">, context: PlanContext): Step {
  const { file, item } = itemToChange(texts, operation.target, context);
  const { text, redacted } = newItem(texts, operation.text, context);
  const retired = texts[RETIRED_FILE] ?? "";
  if (retiredAs(retired, text)?.as === "forgotten" && context.author !== "person")
    throw new Refusal("retired", "That was forgotten and does not come back.");
  const id = itemIdOf(text);
  const note = `by ${id}, ${context.author}`;
  const list = withRetired(withoutRetired(retired, text), item.text, {
    as: "superseded",
    time: context.time,
    note,
  });
  const line = itemLine(text, operation, context);
  return {
    texts: { ...texts, [file]: withoutItem(texts, file, item, [line]), [RETIRED_FILE]: list },
    id,
    redacted,
    text,
  };
}

function retireItem(
  texts: Texts,
  { op, target, why = "" }: Operation<"invalidate"> | (Operation<"forget"> & { readonly target: string }),
  context: PlanContext,
): Step {
  const { file, item } = itemToChange(texts, target, context);
  const reason = context.redactor.redactText(why.replace(/\s+/g, " ").trim()).replaceAll("<!--", "&lt;!--");
  const note = reason === "" ? context.author : `${reason}; ${context.author}`;
  const as = op === "forget" ? "forgotten" : "invalidated";
  const list = withRetired(texts[RETIRED_FILE] ?? "", item.text, { as, time: context.time, note });
  return { texts: { ...texts, [file]: withoutItem(texts, file, item), [RETIRED_FILE]: list }, id: item.id };
}

/** What is no item: nothing but its fingerprints goes into the list. */
function forgetWords(
  texts: Texts,
  { said, topic, why = "" }: Operation<"forget">,
  { time }: PlanContext,
): Step {
  if (said === undefined && topic === undefined)
    throw new Refusal("empty", "It does not say what to forget.");
  if (said === undefined) return { texts, id: itemIdOf(topic ?? "") };
  const list = withRetired(texts[RETIRED_FILE] ?? "", said, { as: "forgotten", time, note: why });
  return { texts: { ...texts, [RETIRED_FILE]: list }, id: itemIdOf(said) };
}

/** Text for a new item that MEMORY.md does not say yet. */
function newItem(texts: Texts, text: string, context: PlanContext): Incoming {
  const incoming = incomingItem(text, context);
  const key = plainWords(incoming.text);
  const known = itemsOf(documentOf(texts, "MEMORY.md")).find((item) => plainWords(item.text) === key);
  if (known !== undefined) throw new Refusal("duplicate", `${known.id} says that already.`);
  return incoming;
}

/** The item, unless it is not there or belongs to people. */
function itemToChange(texts: Texts, target: string, { author }: PlanContext): FoundItem {
  const found = findItem(texts, target);
  if (found === undefined)
    throw new Refusal("not-found", `No item has the id ${target}: read the memory again.`);
  const { item, file } = found;
  if (author === "person" || file !== "MEMORY.md" || item.writtenBy !== "person") return found;
  const how = item.edited ? "edited" : "wrote";
  throw new Refusal("kept-by-people", `A person ${how} ${target}: only a person changes it.`);
}

function withoutItem(
  texts: Texts,
  file: MemoryFileName,
  item: MemoryItem,
  lines: readonly string[] = [],
): string {
  return replaceLines(texts[file] ?? "", item.line - 1, item.lastLine, lines);
}

/** The line of a list that holds a new item, with its mark. */
function itemLine(text: string, origin: MemoryOrigin, { author, time }: PlanContext): string {
  const trust = origin.trust ?? (author === "person" ? "person" : "agent");
  return `- ${text} ${renderMark({ id: itemIdOf(text), time, author, trust, source: origin.source })}`;
}

// ---- SESSION.md and HISTORY.md

/** Texts longer than this may not lose more than half of their words without `mayShrink`. */
const GUARDED_CHARS = 1_000;
const LEAST_SHARE = 0.5;

function replaceSession(texts: Texts, operation: Operation<"replaceFile">, context: PlanContext): Step {
  const last = texts["SESSION.md"];
  if (operation.ifVersion !== (last === undefined ? null : versionOf(last)))
    throw new Refusal("changed", "SESSION.md was changed since it was read.");
  const { text, redacted } = incomingBlock(operation.text, context);
  const size = (said: string): number => said.replace(/<!--[\s\S]*?-->/g, "").replace(/\s+/g, " ").length;
  const before = size(last ?? "");
  if (operation.mayShrink !== true && before > GUARDED_CHARS && size(text) < before * LEAST_SHARE)
    throw new Refusal("shrinks", "More than half of the text would be lost: ask for it with mayShrink.");
  return {
    texts: { ...texts, "SESSION.md": `${text}\n` },
    id: "SESSION.md",
    redacted,
    text,
  };
}

function addSection(texts: Texts, operation: Operation<"addSection">, context: PlanContext): Step {
  const { text, redacted } = incomingBlock(operation.text, context);
  const heading = incomingHeading(operation.heading, context);
  const after = appendLines(texts["HISTORY.md"] ?? "", [`## ${heading}`, "", ...linesOf(text)]);
  const id = readDocument("HISTORY.md", after, null).sections.at(-1)?.id ?? "HISTORY.md";
  return { texts: { ...texts, "HISTORY.md": after }, id, redacted, text };
}

function foldSections(texts: Texts, operation: Operation<"foldSections">, context: PlanContext): Step {
  const { text, redacted } = incomingBlock(operation.text, context);
  const heading = incomingHeading(operation.heading, context);
  const document = documentOf(texts, "HISTORY.md");
  const named = operation.sections.map((name) => {
    const [section, ...others] = findSections(document, name);
    if (section === undefined) throw new Refusal("not-found", `HISTORY.md has no section ${name}.`);
    if (others.length > 0) throw new Refusal("ambiguous", "HISTORY.md has several sections of that name.");
    return section;
  });
  const sections = [...new Set(named)].sort((one, other) => one.line - other.line);
  const [first] = sections;
  if (first === undefined) throw new Refusal("empty", "Nothing is folded.");
  const lines = linesOf(document.text);
  const moved = sections.map(({ line, lastLine }) =>
    lines
      .slice(line - 1, lastLine)
      .join("\n")
      .trimEnd(),
  );
  let after = document.text;
  for (const { line, lastLine } of sections.toReversed()) after = replaceLines(after, line - 1, lastLine, []);
  after = replaceLines(after, first.line - 1, first.line - 1, [`## ${heading}`, "", ...linesOf(text), ""]);
  const archive = bounded(appendLines(texts[ARCHIVE_FILE] ?? ARCHIVE_TITLE, linesOf(moved.join("\n\n"))));
  return {
    texts: { ...texts, "HISTORY.md": after, [ARCHIVE_FILE]: archive },
    id: sections.map(({ id }) => id).join(" "),
    redacted,
    text,
  };
}

const ARCHIVE_TITLE = "# Archive of the history\n";
/** Characters of the archive; beyond them its oldest sections leave, which the sessions' own archives still hold. */
const MOST_ARCHIVED = 400_000;

function bounded(archive: string): string {
  if (archive.length <= MOST_ARCHIVED) return archive;
  const next = archive.indexOf("\n## ", archive.length - MOST_ARCHIVED / 2);
  return next < 0 ? archive : `${ARCHIVE_TITLE}${archive.slice(next)}`;
}
