import { inspect } from "node:util";
import { CompactError } from "../../errors.ts";
import { type Redactor, WITHHELD } from "../../redaction/redactor.ts";
import { oneLine } from "../../summarizers/extractive/text.ts";
import { versionOrNull } from "../files/write-file.ts";
import { appendLines, linesOf, replaceLines } from "../markdown.ts";
import {
  ARCHIVE_FILE,
  type ChangedFile,
  type DoneOperation,
  itemIdOf,
  itemLine,
  itemsOf,
  type MemoryAuthor,
  type MemoryDocument,
  type MemoryFileName,
  type MemoryItem,
  type MemoryOperation,
  type MemorySection,
  type Operation,
  plainWords,
  RETIRED_FILE,
  type RefusalReason,
  type RefusedOperation,
  readDocument,
  slug,
  type Texts,
} from "./document.ts";
import {
  forgottenBy,
  type IsForgotten,
  type RetiredAs,
  retiredAs,
  withoutRetired,
  withRetired,
} from "./forget.ts";

/** The texts while operations are applied one after another. */
interface Draft {
  readonly author: MemoryAuthor;
  /** ISO 8601, to the second. */
  readonly time: string;
  readonly redactor: Pick<Redactor, "redactText">;
  texts: Texts;
  /** Number of items that may still be removed. */
  removals: number;
}

/** An applied operation: the id of the item that it added or removed, and what it wrote and took out. */
interface Applied extends Partial<Incoming> {
  readonly id: string;
  readonly was?: FoundItem;
}

class Refusal extends Error {
  readonly reason: RefusalReason;
  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** An automatic change removes at most this many items, or this share of a larger memory. */
const FREE_ITEMS = 6;
const MOST_REMOVED = 0.5;

/** Applies operations in order; a refused operation leaves the texts unchanged. */
export function planChange(
  given: Readonly<Omit<Draft, "removals">>,
  operations: readonly MemoryOperation[],
): {
  readonly texts: Texts;
  readonly done: readonly DoneOperation[];
  readonly refused: readonly RefusedOperation[];
  /** True for texts about what the operations forget. */
  readonly isAbout: IsForgotten;
  /** The files of the forgotten items. */
  readonly forgottenIn: readonly MemoryFileName[];
} {
  const draft: Draft = { ...given, removals: Number.POSITIVE_INFINITY };
  const statements: string[] = [];
  const topics: string[] = [];
  const forgottenIn: MemoryFileName[] = [];
  const items = itemsOf(documentOf(draft, "MEMORY.md")).length;
  if (draft.author !== "person") draft.removals = Math.max(FREE_ITEMS, Math.floor(items * MOST_REMOVED));
  const done: DoneOperation[] = [];
  const refused: RefusedOperation[] = [];
  for (const operation of operations) {
    const last = { ...draft };
    try {
      const { id, text, was, redacted = false } = applyOperation(draft, operation);
      const written = text !== undefined && "text" in operation ? { ...operation, text } : operation;
      done.push({ operation: written, id, redacted });
      if (operation.op !== "forget") continue;
      if (was !== undefined) forgottenIn.push(was.file);
      statements.push(...[was?.item.text, operation.said].filter((told) => told !== undefined));
      topics.push(...[operation.topic].filter((told) => told !== undefined));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      Object.assign(draft, last);
      refused.push({ operation, reason: error.reason, message: error.message });
    }
  }
  return { texts: draft.texts, done, refused, isAbout: forgottenBy(statements, topics), forgottenIn };
}

function applyOperation(draft: Draft, operation: MemoryOperation): Applied {
  switch (operation.op) {
    case "add":
      return addItem(draft, operation);
    case "supersede":
      return supersedeItem(draft, operation);
    case "invalidate":
      return retireItem(draft, operation.target, "invalidated", operation.why);
    case "forget":
      return forget(draft, operation);
    case "addSection":
      return addSection(draft, operation);
    case "foldSections":
      return foldSections(draft, operation);
    case "replaceFile":
      return replaceSession(draft, operation);
    default:
      throw new CompactError("InvalidArgument", `the memory has no operation ${inspect(operation)}`, {
        hint: "Pass add, supersede, invalidate, forget, addSection, foldSections or replaceFile as its op.",
      });
  }
}

function put(draft: Draft, file: ChangedFile, text: string): void {
  draft.texts = { ...draft.texts, [file]: text };
}

/** The last document parsed for each file: consecutive operations read the same text. */
const lastRead = new Map<MemoryFileName, MemoryDocument>();

function documentOf({ texts }: Draft, file: MemoryFileName): MemoryDocument {
  const known = lastRead.get(file);
  const document = known?.text === (texts[file] ?? "") ? known : readDocument(file, texts[file]);
  lastRead.set(file, document);
  return document;
}

interface FoundItem {
  readonly file: MemoryFileName;
  readonly item: MemoryItem;
}

/** The section with this id, else with this heading; undefined if there is none. */
function findSection(document: MemoryDocument, name: string): MemorySection | undefined {
  const byId = document.sections.find(({ id }) => id === name.trim());
  if (byId !== undefined) return byId;
  const key = slug(name.replace(/^[#\s]+/, ""));
  const [section, ...others] = document.sections.filter(
    ({ level, heading }) => key !== "" && level > 0 && slug(heading) === key,
  );
  if (others.length > 0)
    throw new Refusal("ambiguous", `${document.file} has several sections of that name.`);
  return section;
}

// ---- incoming text

const LONGEST_ITEM = 1_000;
const LONGEST_FILE = 200_000;
const RECALLED = /<runtime_context>[\s\S]*?<\/runtime_context>\s*/gi;
/** A placeholder for omitted text; writing it would lose that text. */
const PLACEHOLDER =
  /(?:\.\.\.|…|\[)\s*\(?(?:the\s+)?(?:rest|remainder|remaining|other|previous|existing)\b[^\n]{0,40}\b(?:unchanged|same|omitted|as before|stays?|here)\b|\[\s*(?:\.\.\.|…)\s*(?:unchanged|omitted|truncated)?\s*\]|(?:其余|其他|以下)(?:内容)?(?:保持)?(?:不变|省略)/iu;

/** Text that passed the checks. */
interface Incoming {
  readonly text: string;
  readonly redacted: boolean;
}

/** One line that MEMORY.md does not have yet, with `-->` escaped so that it cannot form a mark. */
function incomingItem(draft: Draft, given: string): Incoming {
  const line = plainLine(given.replace(RECALLED, "")).replaceAll("-->", "--&gt;");
  const incoming = safe(draft, line.replace(/^(?:[-*+]\s+)+/, ""), LONGEST_ITEM);
  const key = plainWords(incoming.text);
  const known = itemsOf(documentOf(draft, "MEMORY.md")).find(({ text }) => plainWords(text) === key);
  if (known !== undefined) throw new Refusal("duplicate", `${known.id} says that already.`);
  return incoming;
}

/** Text of several lines for a section or a file. */
function incomingBlock(draft: Draft, given: string): Incoming {
  const block = given.replace(RECALLED, "").replace(/^\n+|\s+$/g, "");
  if (PLACEHOLDER.test(block))
    throw new Refusal("placeholder", "A placeholder stands where text would be lost: give the whole text.");
  return safe(draft, block, LONGEST_FILE);
}

function safe({ redactor }: Draft, given: string, most: number): Incoming {
  const text = redactor.redactText(given);
  if (text === WITHHELD)
    throw new Refusal("withheld", "The text could not be searched for secrets, so it is not kept.");
  if (!/[\p{L}\p{N}]/u.test(text)) throw new Refusal("empty", "The text says nothing.");
  if (text.length > most)
    throw new Refusal("too-long", `The text has ${text.length} characters; ${most} are the most.`);
  return { text, redacted: text !== given };
}

/** One line for a heading, without its `#`. */
function incomingHeading({ redactor }: Draft, given: string): string {
  const heading = plainLine(redactor.redactText(given.replace(/^[#\s]+/, ""))).slice(0, 200);
  if (!/[\p{L}\p{N}]/u.test(heading)) throw new Refusal("empty", "The section has no name.");
  return heading;
}

function plainLine(text: string): string {
  return oneLine(text).replaceAll("<!--", "&lt;!--");
}

// ---- items of MEMORY.md

function addItem(draft: Draft, operation: Operation<"add">): Applied {
  const incoming = incomingItem(draft, operation.text);
  const { text } = incoming;
  const retired = retiredAs(draft.texts[RETIRED_FILE], text);
  if (retired !== undefined && draft.author !== "person")
    throw new Refusal(
      "retired",
      `${retired.id} said that and was ${retired.as}; ${RETIRED_FILE} has its line.`,
    );
  if (retired !== undefined) put(draft, RETIRED_FILE, withoutRetired(draft.texts[RETIRED_FILE], text));
  put(draft, "MEMORY.md", withLine(draft, operation.section, itemLine(text, draft, operation)));
  return { ...incoming, id: itemIdOf(text) };
}

/** MEMORY.md with a line added after a section's last item; a new section comes last. */
function withLine(draft: Draft, name: string, line: string): string {
  const before = draft.texts["MEMORY.md"] ?? "";
  const section = findSection(documentOf(draft, "MEMORY.md"), name);
  if (section === undefined) return appendLines(before, [`## ${incomingHeading(draft, name)}`, "", line]);
  const last = section.items.at(-1);
  if (last !== undefined) return replaceLines(before, last.lastLine, last.lastLine, [line]);
  const lines = linesOf(before).slice(section.line, section.lastLine);
  const at = section.line + lines.findLastIndex((one) => one.trim() !== "") + 1;
  return replaceLines(before, at, at, ["", line]);
}

function supersedeItem(draft: Draft, operation: Operation<"supersede">): Applied {
  const found = itemToChange(draft, operation.target);
  const incoming = incomingItem(draft, operation.text);
  const { text } = incoming;
  if (retiredAs(draft.texts[RETIRED_FILE], text)?.as === "forgotten" && draft.author !== "person")
    throw new Refusal("retired", "That was forgotten and does not come back.");
  const id = itemIdOf(text);
  put(draft, RETIRED_FILE, withoutRetired(draft.texts[RETIRED_FILE], text));
  takeOut(draft, found, { as: "superseded", note: `by ${id}, ${draft.author}` }, [
    itemLine(text, draft, operation),
  ]);
  return { ...incoming, id };
}

/** Counts a removal; refuses if none is left. */
function spend(draft: Draft): void {
  if (draft.removals <= 0)
    throw new Refusal("shrinks", "One change may take out half of the items: look at the rest another time.");
  draft.removals -= 1;
}

function retireItem(draft: Draft, target: string, as: RetiredAs, why: string | undefined): Applied {
  spend(draft);
  const found = itemToChange(draft, target);
  takeOut(draft, found, { as, note: noteOf(draft, why) });
  return { id: found.item.id, was: found };
}

/** Forgets an item, or words that are not one: only their fingerprints are added to the retired list. */
function forget(draft: Draft, { target, said, topic, why }: Operation<"forget">): Applied {
  if (target !== undefined) return retireItem(draft, target, "forgotten", why);
  spend(draft);
  const words = said ?? topic;
  if (words === undefined) throw new Refusal("empty", "It does not say what to forget.");
  const entry = { as: "forgotten", time: draft.time, note: noteOf(draft, why) } as const;
  if (said !== undefined) put(draft, RETIRED_FILE, withRetired(draft.texts[RETIRED_FILE], said, entry));
  return { id: itemIdOf(words) };
}

/** Why, if that is said, and who. */
function noteOf({ redactor, author }: Draft, why = ""): string {
  const reason = plainLine(redactor.redactText(why));
  return reason === "" ? author : `${reason}; ${author}`;
}

/** Replaces an item with lines and adds the item to the retired list. */
function takeOut(
  draft: Draft,
  { file, item }: FoundItem,
  entry: { readonly as: RetiredAs; readonly note: string },
  lines: readonly string[] = [],
): void {
  put(draft, file, replaceLines(draft.texts[file] ?? "", item.line - 1, item.lastLine, lines));
  put(draft, RETIRED_FILE, withRetired(draft.texts[RETIRED_FILE], item.text, { ...entry, time: draft.time }));
}

/** The item; refused if it does not exist or a person wrote it and the author is not a person. */
function itemToChange(draft: Draft, target: string): FoundItem {
  for (const file of ["MEMORY.md", "SESSION.md", "HISTORY.md"] as const) {
    const item = itemsOf(documentOf(draft, file)).find(({ id }) => id === target);
    if (item === undefined) continue;
    if (draft.author === "person" || file !== "MEMORY.md" || item.writtenBy !== "person")
      return { file, item };
    const how = item.edited ? "edited" : "wrote";
    throw new Refusal("kept-by-people", `A person ${how} ${target}: only a person changes it.`);
  }
  throw new Refusal("not-found", `No item has the id ${target}: read the memory again.`);
}

// ---- SESSION.md and HISTORY.md

/** A text longer than this may not lose more than half of its length without `mayShrink`. */
const GUARDED_CHARS = 1_000;
const LEAST_SHARE = 0.5;

function replaceSession(draft: Draft, operation: Operation<"replaceFile">): Applied {
  const last = draft.texts["SESSION.md"];
  if (operation.ifVersion !== versionOrNull(last))
    throw new Refusal("changed", "SESSION.md was changed since it was read.");
  const incoming = incomingBlock(draft, operation.text);
  const size = (said: string): number => said.replace(/<!--[\s\S]*?-->/g, "").replace(/\s+/g, " ").length;
  const before = size(last ?? "");
  if (operation.mayShrink !== true && before > GUARDED_CHARS && size(incoming.text) < before * LEAST_SHARE)
    throw new Refusal("shrinks", "More than half of the text would be lost: ask for it with mayShrink.");
  put(draft, "SESSION.md", `${incoming.text}\n`);
  return { ...incoming, id: "SESSION.md" };
}

function addSection(draft: Draft, operation: Operation<"addSection">): Applied {
  const incoming = incomingBlock(draft, operation.text);
  const lines = [`## ${incomingHeading(draft, operation.heading)}`, "", ...linesOf(incoming.text)];
  put(draft, "HISTORY.md", appendLines(draft.texts["HISTORY.md"] ?? "", lines));
  return { ...incoming, id: documentOf(draft, "HISTORY.md").sections.at(-1)?.id ?? "HISTORY.md" };
}

function foldSections(draft: Draft, operation: Operation<"foldSections">): Applied {
  const incoming = incomingBlock(draft, operation.text);
  const heading = incomingHeading(draft, operation.heading);
  const document = documentOf(draft, "HISTORY.md");
  const named = operation.sections.map((name) => {
    const section = findSection(document, name);
    if (section === undefined) throw new Refusal("not-found", `HISTORY.md has no section ${name}.`);
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
  const at = first.line - 1;
  let after = document.text;
  for (const { line, lastLine } of sections.toReversed()) after = replaceLines(after, line - 1, lastLine, []);
  put(draft, "HISTORY.md", replaceLines(after, at, at, [`## ${heading}`, "", ...linesOf(incoming.text), ""]));
  const archive = appendLines(draft.texts[ARCHIVE_FILE] ?? ARCHIVE_TITLE, linesOf(moved.join("\n\n")));
  put(draft, ARCHIVE_FILE, bounded(archive));
  return { ...incoming, id: sections.map(({ id }) => id).join(" ") };
}

const ARCHIVE_TITLE = "# Archive of the history\n";
/** Maximum characters of the archive; older sections are dropped but stay in the sessions' own archives. */
const MOST_ARCHIVED = 400_000;

function bounded(archive: string): string {
  if (archive.length <= MOST_ARCHIVED) return archive;
  const next = archive.indexOf("\n## ", archive.length - MOST_ARCHIVED / 2);
  return next < 0 ? archive : `${ARCHIVE_TITLE}${archive.slice(next)}`;
}
