import { type Redactor, WITHHELD } from "../../redaction/redactor.ts";
import { appendLines, linesOf, replaceLines } from "../markdown.ts";
import {
  itemIdOf,
  itemsOf,
  type MemoryDocument,
  type MemoryItem,
  type MemorySection,
  readDocument,
  renderMark,
  slug,
} from "./document.ts";
import type {
  AddItem,
  AddSection,
  DoneOperation,
  FoldSections,
  ForgetItem,
  InvalidateItem,
  MemoryAuthor,
  MemoryFileName,
  MemoryOperation,
  MemoryOrigin,
  RefusalReason,
  RefusedOperation,
  ReplaceFile,
  SupersedeItem,
} from "./operation.ts";
import { RETIRED_FILE, type RetiredAs, retiredAs, withoutRetired, withRetired } from "./retired.ts";

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
export interface OperationContext {
  readonly author: MemoryAuthor;
  /** ISO 8601, to the second. */
  readonly time: string;
  readonly redactor: Pick<Redactor, "redactText">;
  /** Of SESSION.md as it was read; `null` where there was none. */
  readonly sessionVersion: string | null;
}

interface Refusal {
  readonly reason: RefusalReason;
  readonly message: string;
}

/** An operation that was done, or why it was not. */
type Step = (DoneOperation & { readonly texts: Texts }) | Refusal;

/** Small memories may be emptied; of larger ones an automatic change takes out this share of the items at most. */
const FREE_ITEMS = 6;
const MOST_REMOVED = 0.5;

/** What the files will say after the operations, one after the other; what may not be done is left out, with its reason. */
export function planChange(
  before: Texts,
  operations: readonly MemoryOperation[],
  context: OperationContext,
): {
  readonly texts: Texts;
  readonly done: readonly DoneOperation[];
  readonly refused: readonly RefusedOperation[];
} {
  let texts = before;
  const done: DoneOperation[] = [];
  const refused: RefusedOperation[] = [];
  const items = itemsOf(documentOf(texts, "MEMORY.md")).length;
  let removals =
    context.author === "person"
      ? Number.POSITIVE_INFINITY
      : Math.max(FREE_ITEMS, Math.floor(items * MOST_REMOVED));
  for (const operation of operations) {
    const removes = operation.op === "invalidate" || operation.op === "forget";
    const step: Step =
      removes && removals <= 0
        ? refuse("shrinks", "One change may take out half of the items: look at the rest another time.")
        : applyOperation(texts, operation, context);
    if ("reason" in step) {
      refused.push({ operation, reason: step.reason, message: step.message });
      continue;
    }
    if (removes) removals--;
    texts = step.texts;
    done.push({ operation: step.operation, id: step.id, redacted: step.redacted });
  }
  return { texts, done, refused };
}

function applyOperation(texts: Texts, operation: MemoryOperation, context: OperationContext): Step {
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
      return replaceFile(texts, operation, context);
  }
}

function refuse(reason: RefusalReason, message: string): Refusal {
  return { reason, message };
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

/** The section of an id or heading. */
function findSection(
  { sections, file }: MemoryDocument,
  name: string,
): { readonly section: MemorySection } | Refusal {
  const byId = sections.find(({ id }) => id === name.trim());
  if (byId !== undefined) return { section: byId };
  const key = slug(name.replace(/^[#\s]+/, ""));
  const [only, ...others] = sections.filter(({ level, heading }) => level > 0 && slug(heading) === key);
  if (only === undefined || key === "") return refuse("not-found", `${file} has no section ${name}.`);
  if (others.length > 0) return refuse("ambiguous", `${file} has several sections of that name.`);
  return { section: only };
}

// ---- what comes in

const LONGEST_ITEM = 1_000;
const LONGEST_FILE = 200_000;
const RECALLED = /<runtime_context>[\s\S]*?<\/runtime_context>\s*/gi;
/** What stands where text was left out: writing it down would lose that text. */
const PLACEHOLDER =
  /(?:\.\.\.|…|\[)\s*\(?(?:the\s+)?(?:rest|remainder|remaining|other|previous|existing)\b[^\n]{0,40}\b(?:unchanged|same|omitted|as before|stays?|here)\b|\[\s*(?:\.\.\.|…)\s*(?:unchanged|omitted|truncated)?\s*\]|(?:其余|其他|以下)(?:内容)?(?:保持)?(?:不变|省略)/iu;

/** Text as it may be written, or why it may not. */
type Incoming = { readonly text: string; readonly redacted: boolean } | Refusal;

/** One line for an item: nothing recalled, no secret, and no comment that could pass for a mark. */
function incomingItem(text: string, { redactor }: OperationContext): Incoming {
  const line = text.replace(RECALLED, "").replace(/\s+/g, " ").trim();
  const safe = line
    .replaceAll("<!--", "&lt;!--")
    .replaceAll("-->", "--&gt;")
    .replace(/^(?:[-*+]\s+)+/, "");
  return checked(safe, redactor.redactText(safe), LONGEST_ITEM);
}

/** One line for a heading, without the marks of one; refused where nothing is left. */
function incomingHeading(text: string, { redactor }: OperationContext): string | Refusal {
  const line = text
    .replace(/^[#\s]+/, "")
    .replace(/\s+/g, " ")
    .trim();
  const heading = redactor.redactText(line).replaceAll("<!--", "&lt;!--").slice(0, 200);
  return /[\p{L}\p{N}]/u.test(heading) ? heading : refuse("empty", "The section has no name.");
}

/** Text of several lines for a section or a file. */
function incomingBlock(text: string, { redactor }: OperationContext): Incoming {
  const plain = text.replace(RECALLED, "").replace(/^\n+|\s+$/g, "");
  if (PLACEHOLDER.test(plain))
    return refuse("placeholder", "A placeholder stands where text would be lost: give the whole text.");
  return checked(plain, redactor.redactText(plain), LONGEST_FILE);
}

function checked(given: string, redacted: string, most: number): Incoming {
  if (redacted === WITHHELD)
    return refuse("withheld", "The text could not be searched for secrets, so it is not kept.");
  if (!/[\p{L}\p{N}]/u.test(redacted)) return refuse("empty", "The text says nothing.");
  if (redacted.length > most)
    return refuse("too-long", `The text has ${redacted.length} characters; ${most} are the most.`);
  return { text: redacted, redacted: redacted !== given };
}

// ---- items of MEMORY.md

function addItem(texts: Texts, operation: AddItem, context: OperationContext): Step {
  const incoming = incomingItem(operation.text, context);
  if ("reason" in incoming) return incoming;
  const { text, redacted } = incoming;
  const known = saidAlready(texts, text);
  if (known !== undefined) return refuse("duplicate", `${known.id} says that already.`);
  const list = texts[RETIRED_FILE] ?? "";
  const retired = retiredAs(list, text);
  if (retired !== undefined && context.author !== "person")
    return refuse("retired", `${retired.id} said that and was ${retired.as}; ${RETIRED_FILE} has its line.`);
  const changed = withLine(texts, operation.section, itemLine(text, operation, context), context);
  if (typeof changed !== "string") return changed;
  const lifted = retired === undefined ? {} : { [RETIRED_FILE]: withoutRetired(list, text) };
  return {
    texts: { ...texts, ...lifted, "MEMORY.md": changed },
    id: itemIdOf(text),
    redacted,
    operation: { ...operation, text },
  };
}

/** MEMORY.md with a line at the end of a section's items; a section that is missing comes last. */
function withLine(texts: Texts, name: string, line: string, context: OperationContext): string | Refusal {
  const before = texts["MEMORY.md"] ?? "";
  const found = findSection(documentOf(texts, "MEMORY.md"), name);
  if ("section" in found) {
    const { items, line: first, lastLine } = found.section;
    const last = items.at(-1);
    const at = last?.lastLine ?? endOf(linesOf(before), first, lastLine);
    return replaceLines(before, at, at, last === undefined ? ["", line] : [line]);
  }
  if (found.reason !== "not-found") return found;
  const heading = incomingHeading(name, context);
  return typeof heading === "string" ? appendLines(before, [`## ${heading}`, "", line]) : heading;
}

/** The last line of a section that is not blank, from 1; its heading's where all others are. */
function endOf(lines: readonly string[], first: number, last: number): number {
  for (let line = last; line > first; line--) if ((lines[line - 1] ?? "").trim() !== "") return line;
  return first;
}

function supersedeItem(texts: Texts, operation: SupersedeItem, context: OperationContext): Step {
  const found = mayChange(texts, operation.target, context);
  if ("reason" in found) return found;
  const incoming = incomingItem(operation.text, context);
  if ("reason" in incoming) return incoming;
  const { text, redacted } = incoming;
  const { file, item } = found;
  const known = saidAlready(texts, text);
  if (known !== undefined) return refuse("duplicate", `${known.id} says that already.`);
  const retired = texts[RETIRED_FILE] ?? "";
  if (retiredAs(retired, text)?.as === "forgotten" && context.author !== "person")
    return refuse("retired", "That was forgotten and does not come back.");
  const id = itemIdOf(text);
  const note = `by ${id}, ${context.author}`;
  const list = withRetired(withoutRetired(retired, text), retiring(item, "superseded", note, context));
  const line = itemLine(text, operation, context);
  const changed = replaceLines(texts[file] ?? "", item.line - 1, item.lastLine, [line]);
  return {
    texts: { ...texts, [file]: changed, [RETIRED_FILE]: list },
    id,
    redacted,
    operation: { ...operation, text },
  };
}

function retireItem(
  texts: Texts,
  operation: (InvalidateItem | ForgetItem) & { readonly target: string },
  context: OperationContext,
): Step {
  const found = mayChange(texts, operation.target, context);
  if ("reason" in found) return found;
  const { file, item } = found;
  const as = operation.op === "forget" ? "forgotten" : "invalidated";
  const why = context.redactor.redactText((operation.why ?? "").replace(/\s+/g, " ").trim());
  const note = [why, context.author]
    .filter((part) => part !== "")
    .join("; ")
    .replaceAll("<!--", "&lt;!--");
  const list = withRetired(texts[RETIRED_FILE] ?? "", retiring(item, as, note, context));
  const changed = replaceLines(texts[file] ?? "", item.line - 1, item.lastLine, []);
  return {
    texts: { ...texts, [file]: changed, [RETIRED_FILE]: list },
    id: item.id,
    redacted: false,
    operation,
  };
}

/** What is no item: nothing but its fingerprints goes into the list. */
function forgetWords(texts: Texts, operation: ForgetItem, { time }: OperationContext): Step {
  const { said, topic, why: note = "" } = operation;
  if (said === undefined && topic === undefined) return refuse("empty", "It does not say what to forget.");
  const list = texts[RETIRED_FILE] ?? "";
  const entry = { text: said ?? "", as: "forgotten", date: time.slice(0, 10), note } as const;
  return {
    texts: { ...texts, [RETIRED_FILE]: said === undefined ? list : withRetired(list, entry) },
    id: itemIdOf(said ?? topic ?? ""),
    redacted: false,
    operation,
  };
}

/** The item, unless it is not there or belongs to people. */
function mayChange(texts: Texts, target: string, { author }: OperationContext): FoundItem | Refusal {
  const found = findItem(texts, target);
  if (found === undefined) return refuse("not-found", `No item has the id ${target}: read the memory again.`);
  const { item, file } = found;
  if (author === "person" || file !== "MEMORY.md" || item.writtenBy !== "person") return found;
  const how = item.edited ? "edited" : "wrote";
  return refuse("kept-by-people", `A person ${how} ${target}: only a person changes it.`);
}

function saidAlready(texts: Texts, text: string): MemoryItem | undefined {
  const key = comparable(text);
  return itemsOf(documentOf(texts, "MEMORY.md")).find((item) => comparable(item.text) === key);
}

function comparable(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim();
}

function retiring({ text }: MemoryItem, as: RetiredAs, note: string, { time }: OperationContext) {
  return { text, as, date: time.slice(0, 10), note };
}

/** The line of a list that holds a new item, with its mark. */
function itemLine(text: string, origin: MemoryOrigin, { author, time }: OperationContext): string {
  const trust = origin.trust ?? (author === "person" ? "person" : "agent");
  return `- ${text} ${renderMark({ id: itemIdOf(text), time, author, trust, source: origin.source })}`;
}

// ---- SESSION.md and HISTORY.md

/** Texts longer than this may not lose more than half of their words without `mayShrink`. */
const GUARDED_CHARS = 1_000;
const LEAST_SHARE = 0.5;

function replaceFile(texts: Texts, operation: ReplaceFile, context: OperationContext): Step {
  if (operation.ifVersion !== context.sessionVersion)
    return refuse("changed", "SESSION.md was changed since it was read.");
  const incoming = incomingBlock(operation.text, context);
  if ("reason" in incoming) return incoming;
  const { text, redacted } = incoming;
  const size = (said: string): number => said.replace(/<!--[\s\S]*?-->/g, "").replace(/\s+/g, " ").length;
  const before = size(texts["SESSION.md"] ?? "");
  if (operation.mayShrink !== true && before > GUARDED_CHARS && size(text) < before * LEAST_SHARE)
    return refuse("shrinks", "More than half of the text would be lost: ask for it with mayShrink.");
  return {
    texts: { ...texts, "SESSION.md": `${text}\n` },
    id: "SESSION.md",
    redacted,
    operation: { ...operation, text },
  };
}

function addSection(texts: Texts, operation: AddSection, context: OperationContext): Step {
  const incoming = incomingBlock(operation.text, context);
  if ("reason" in incoming) return incoming;
  const heading = incomingHeading(operation.heading, context);
  if (typeof heading !== "string") return heading;
  const { text, redacted } = incoming;
  const after = appendLines(texts["HISTORY.md"] ?? "", [`## ${heading}`, "", ...linesOf(text)]);
  const id = readDocument("HISTORY.md", after, null).sections.at(-1)?.id ?? "HISTORY.md";
  return { texts: { ...texts, "HISTORY.md": after }, id, redacted, operation: { ...operation, text } };
}

function foldSections(texts: Texts, operation: FoldSections, context: OperationContext): Step {
  const incoming = incomingBlock(operation.text, context);
  if ("reason" in incoming) return incoming;
  const heading = incomingHeading(operation.heading, context);
  if (typeof heading !== "string") return heading;
  const found = operation.sections.map((name) => findSection(documentOf(texts, "HISTORY.md"), name));
  const missing = found.find((one) => "reason" in one);
  if (missing !== undefined) return missing;
  const sections = [...new Set(found.flatMap((one) => ("section" in one ? [one.section] : [])))].sort(
    (one, other) => one.line - other.line,
  );
  const [first] = sections;
  if (first === undefined) return refuse("empty", "Nothing is folded.");
  const { text, redacted } = incoming;
  let after = texts["HISTORY.md"] ?? "";
  const lines = linesOf(after);
  const moved = sections.map(({ line, lastLine }) =>
    lines
      .slice(line - 1, lastLine)
      .join("\n")
      .trimEnd(),
  );
  for (const { line, lastLine } of sections.toReversed()) after = replaceLines(after, line - 1, lastLine, []);
  after = replaceLines(after, first.line - 1, first.line - 1, [`## ${heading}`, "", ...linesOf(text), ""]);
  const archive = bounded(appendLines(texts[ARCHIVE_FILE] ?? ARCHIVE_TITLE, linesOf(moved.join("\n\n"))));
  return {
    texts: { ...texts, "HISTORY.md": after, [ARCHIVE_FILE]: archive },
    id: sections.map(({ id }) => id).join(" "),
    redacted,
    operation: { ...operation, text },
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
