import type { MemoryItem } from "./document.ts";
import { incomingHeading, incomingItem } from "./incoming.ts";
import { itemIdOf, renderMark } from "./mark.ts";
import type {
  AddItem,
  ForgetItem,
  InvalidateItem,
  MemoryFileName,
  MemoryOrigin,
  SupersedeItem,
} from "./operation.ts";
import {
  documentOf,
  type FoundItem,
  findItem,
  findSection,
  type OperationContext,
  type Refusal,
  refuse,
  type Step,
  type Texts,
} from "./plan.ts";
import { RETIRED_FILE, type RetiredAs, retiredAs, withoutRetired, withRetired } from "./retired.ts";
import { appendLines, linesOf, replaceLines } from "./text-lines.ts";

export function addItem(texts: Texts, operation: AddItem, context: OperationContext): Step {
  const incoming = incomingItem(operation.text, context);
  if ("reason" in incoming) return incoming;
  const { text, redacted } = incoming;
  const file = operation.file ?? "MEMORY.md";
  const known = saidAlready(texts, file, text);
  if (known !== undefined) return refuse("duplicate", `${known.id} says that already.`);
  const list = texts[RETIRED_FILE] ?? "";
  const retired = retiredAs(list, text);
  if (retired !== undefined && context.author !== "person") {
    return refuse("retired", `${retired.id} said that and was ${retired.as}; ${RETIRED_FILE} has its line.`);
  }
  const place = { file, section: operation.section, context };
  const changed = withItem(texts, place, itemLine(text, operation, context));
  if (typeof changed !== "string") return changed;
  const lifted = retired === undefined ? {} : { [RETIRED_FILE]: withoutRetired(list, text) };
  return {
    texts: { ...texts, ...lifted, [file]: changed },
    id: itemIdOf(text),
    redacted,
    operation: { ...operation, text },
  };
}

/** The file's text with a line at the end of a section's items; a section that is missing comes last. */
function withItem(
  texts: Texts,
  {
    file,
    section: name,
    context,
  }: { readonly file: MemoryFileName; readonly section: string; readonly context: OperationContext },
  line: string,
): string | Refusal {
  const before = texts[file] ?? "";
  const section = findSection(documentOf(texts, file), name);
  if (section === "ambiguous") return refuse("ambiguous", `${file} has several sections of that name.`);
  if (section === "not-found") {
    const heading = incomingHeading(name, context);
    if (!/[\p{L}\p{N}]/u.test(heading)) return refuse("not-found", "The section has no name.");
    return appendLines(before, [`${file === "SESSION.md" ? "#" : "##"} ${heading}`, "", line]);
  }
  const last = section.items.at(-1);
  const at = last?.lastLine ?? endOf(linesOf(before), section.line, section.lastLine);
  return replaceLines(before, at, at, last === undefined ? ["", line] : [line]);
}

export function supersedeItem(texts: Texts, operation: SupersedeItem, context: OperationContext): Step {
  const found = mayChange(texts, operation.target, context);
  if ("reason" in found) return found;
  const incoming = incomingItem(operation.text, context);
  if ("reason" in incoming) return incoming;
  const { text, redacted } = incoming;
  const { file, item } = found;
  const known = saidAlready(texts, file, text);
  if (known !== undefined) return refuse("duplicate", `${known.id} says that already.`);
  const retired = texts[RETIRED_FILE] ?? "";
  if (retiredAs(retired, text)?.as === "forgotten" && context.author !== "person") {
    return refuse("retired", "That was forgotten and does not come back.");
  }
  const id = itemIdOf(text);
  const note = `by ${id}, ${context.author}`;
  const list = withRetired(withoutRetired(retired, text), { ...retiring(item, "superseded", context), note });
  const line = itemLine(text, operation, context);
  const changed = replaceLines(texts[file] ?? "", item.line - 1, item.lastLine, [line]);
  return {
    texts: { ...texts, [file]: changed, [RETIRED_FILE]: list },
    id,
    redacted,
    operation: { ...operation, text },
  };
}

export function retireItem(
  texts: Texts,
  operation: InvalidateItem | ForgetItem,
  context: OperationContext,
): Step {
  if (operation.target === undefined) return forgetWords(texts, operation as ForgetItem, context);
  const found = mayChange(texts, operation.target, context);
  if ("reason" in found) return found;
  const { file, item } = found;
  const as = operation.op === "forget" ? "forgotten" : "invalidated";
  const why = context.redactor.redactText((operation.why ?? "").replace(/\s+/g, " ").trim());
  const note = [why, context.author]
    .filter((part) => part !== "")
    .join("; ")
    .replaceAll("<!--", "&lt;!--");
  const list = withRetired(texts[RETIRED_FILE] ?? "", { ...retiring(item, as, context), note });
  const changed = replaceLines(texts[file] ?? "", item.line - 1, item.lastLine, []);
  return {
    texts: { ...texts, [file]: changed, [RETIRED_FILE]: list },
    id: item.id,
    redacted: false,
    operation,
  };
}

/** What is no item: nothing but its fingerprints goes into the list. */
function forgetWords(texts: Texts, operation: ForgetItem, context: OperationContext): Step {
  const { said, topic, why = "" } = operation;
  if (said === undefined && topic === undefined) return refuse("empty", "It does not say what to forget.");
  const list = texts[RETIRED_FILE] ?? "";
  const retired =
    said === undefined
      ? list
      : withRetired(list, { text: said, as: "forgotten", date: context.time.slice(0, 10), note: why });
  return {
    texts: { ...texts, [RETIRED_FILE]: retired },
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

function saidAlready(texts: Texts, file: MemoryFileName, text: string): MemoryItem | undefined {
  const key = comparable(text);
  return documentOf(texts, file)
    .sections.flatMap(({ items }) => items)
    .find((item) => comparable(item.text) === key);
}

function comparable(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim();
}

function retiring(
  item: MemoryItem,
  as: RetiredAs,
  { time }: OperationContext,
): { readonly text: string; readonly as: RetiredAs; readonly date: string } {
  return { text: item.text, as, date: time.slice(0, 10) };
}

/** The line of a list that holds a new item, with its mark. */
function itemLine(text: string, origin: MemoryOrigin, { author, time }: OperationContext): string {
  return `- ${text} ${renderMark({ id: itemIdOf(text), time, author, trust: trustOf(origin, author), source: origin.source })}`;
}

export function trustOf(
  origin: MemoryOrigin,
  author: OperationContext["author"],
): "person" | "agent" | "tool" {
  return origin.trust ?? (author === "person" ? "person" : "agent");
}

/** The last line of a section that is not blank, from 1; its heading's where all others are. */
function endOf(lines: readonly string[], first: number, last: number): number {
  for (let line = last; line > first; line--) if ((lines[line - 1] ?? "").trim() !== "") return line;
  return first;
}
