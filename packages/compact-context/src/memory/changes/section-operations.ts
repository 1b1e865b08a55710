import { readDocument } from "./document.ts";
import { incomingBlock, incomingHeading } from "./incoming.ts";
import { trustOf } from "./item-operations.ts";
import { itemIdOf, readMark, renderMark } from "./mark.ts";
import type {
  AddSection,
  FoldSections,
  MemoryFileName,
  MemoryOrigin,
  ReplaceFile,
  RewriteSection,
} from "./operation.ts";
import {
  ARCHIVE_FILE,
  documentOf,
  findSection,
  type OperationContext,
  type Refusal,
  refuse,
  type Step,
  type Texts,
} from "./plan.ts";
import { appendLines, linesOf, replaceLines } from "./text-lines.ts";

export function rewriteSection(texts: Texts, operation: RewriteSection, context: OperationContext): Step {
  const { file } = operation;
  const section = findSection(documentOf(texts, file), operation.section);
  if (typeof section === "string") return refuse(section, `${file} has no one section ${operation.section}.`);
  if (operation.ifVersion !== undefined && operation.ifVersion !== section.version) {
    return refuse("changed", `The section ${section.id} was changed since it was read.`);
  }
  const incoming = incomingBlock(operation.text, context);
  if ("reason" in incoming) return incoming;
  const before = texts[file] ?? "";
  const from = section.level === 0 ? section.line - 1 : section.line;
  const old = linesOf(before).slice(from, section.lastLine).join("\n");
  const kept = keeping(file, old, incoming.text, { origin: operation, context });
  if (typeof kept !== "string") return kept;
  const lines = [...(section.level === 0 ? [] : [""]), ...linesOf(kept)];
  const isLast = section.lastLine >= linesOf(before).length;
  const changed = replaceLines(before, from, section.lastLine, isLast ? lines : [...lines, ""]);
  if (operation.mayShrink !== true && shrinks(old, kept)) return tooLittle();
  return {
    texts: { ...texts, [file]: changed },
    id: section.id,
    redacted: incoming.redacted,
    operation: { ...operation, text: incoming.text },
  };
}

export function replaceFile(
  texts: Texts,
  operation: ReplaceFile,
  context: OperationContext & { readonly version: string | null },
): Step {
  const { file } = operation;
  if (operation.ifVersion !== context.version) {
    return refuse("changed", `${file} was changed since it was read.`);
  }
  const incoming = incomingBlock(operation.text, context);
  if ("reason" in incoming) return incoming;
  const before = texts[file] ?? "";
  const kept = keeping(file, before, incoming.text, { origin: {}, context });
  if (typeof kept !== "string") return kept;
  if (operation.mayShrink !== true && shrinks(before, kept)) return tooLittle();
  return {
    texts: { ...texts, [file]: `${kept}\n` },
    id: file,
    redacted: incoming.redacted,
    operation: { ...operation, text: incoming.text },
  };
}

export function addSection(texts: Texts, operation: AddSection, context: OperationContext): Step {
  const { file } = operation;
  const incoming = incomingBlock(operation.text, context);
  if ("reason" in incoming) return incoming;
  const heading = incomingHeading(operation.heading, context);
  if (heading === "") return refuse("empty", "The section has no heading.");
  const before = texts[file] ?? "";
  const marked = keeping(file, "", incoming.text, { origin: operation, context });
  if (typeof marked !== "string") return marked;
  const after = appendLines(before, [
    `${file === "SESSION.md" ? "#" : "##"} ${heading}`,
    "",
    ...linesOf(marked),
  ]);
  const id = readDocument(file, after, null).sections.at(-1)?.id ?? file;
  return {
    texts: { ...texts, [file]: after },
    id,
    redacted: incoming.redacted,
    operation: { ...operation, text: incoming.text },
  };
}

export function foldSections(texts: Texts, operation: FoldSections, context: OperationContext): Step {
  const { file } = operation;
  const incoming = incomingBlock(operation.text, context);
  if ("reason" in incoming) return incoming;
  const heading = incomingHeading(operation.heading, context);
  if (heading === "" || operation.sections.length === 0) return refuse("empty", "Nothing is folded.");
  const document = documentOf(texts, file);
  const found = operation.sections.map((name) => findSection(document, name));
  const missing = found.findIndex((section) => typeof section === "string");
  if (missing >= 0) return refuse("not-found", `${file} has no one section ${operation.sections[missing]}.`);
  const sections = [...new Set(found.flatMap((section) => (typeof section === "string" ? [] : [section])))];
  if (file === "MEMORY.md" && sections.some(({ items }) => items.some((one) => one.writtenBy === "person"))) {
    return refuse("kept-by-people", "A person wrote or edited lines of these sections.");
  }
  const before = texts[file] ?? "";
  const lines = linesOf(before);
  const ordered = sections.toSorted((one, other) => one.line - other.line);
  const first = (ordered[0]?.line ?? 1) - 1;
  const moved = ordered.flatMap(({ line, lastLine }, index) => [
    ...(index === 0 ? [] : [""]),
    ...linesOf(
      lines
        .slice(line - 1, lastLine)
        .join("\n")
        .trimEnd(),
    ),
  ]);
  let after = before;
  for (const { line, lastLine } of ordered.toReversed()) after = replaceLines(after, line - 1, lastLine, []);
  after = replaceLines(after, first, first, [`## ${heading}`, "", ...linesOf(incoming.text), ""]);
  const archive = bounded(appendLines(texts[ARCHIVE_FILE] ?? "# Archive of the history\n", moved));
  return {
    texts: { ...texts, [file]: after, [ARCHIVE_FILE]: archive },
    id: sections.map(({ id }) => id).join(" "),
    redacted: incoming.redacted,
    operation: { ...operation, text: incoming.text },
  };
}

/**
 * The new text of a durable file with marks behind its items: an item that was there keeps its line, one that is new
 * gets a mark. Refused when a line that people wrote is missing. Other files are taken as they come.
 */
function keeping(
  file: MemoryFileName,
  before: string,
  after: string,
  { origin, context }: { readonly origin: MemoryOrigin; readonly context: OperationContext },
): string | Refusal {
  if (file !== "MEMORY.md") return after;
  const { author, time } = context;
  const bare = linesOf(after).map((line) => {
    const mark = readMark(line);
    return mark === undefined ? line : line.slice(0, line.lastIndexOf("<!--")).trimEnd();
  });
  const old = readDocument(file, before, null).sections.flatMap(({ items }) => items);
  const oldLines = linesOf(before);
  const written = new Map(old.map((item) => [itemIdOf(item.text), item]));
  const now = readDocument(file, bare.join("\n"), null).sections.flatMap(({ items }) => items);
  const said = new Set(now.map((item) => itemIdOf(item.text)));
  const lost = old.find((item) => item.writtenBy === "person" && !said.has(itemIdOf(item.text)));
  if (lost !== undefined && author !== "person") {
    return refuse("kept-by-people", `A person wrote ${lost.id}, and it is not in the new text.`);
  }
  for (const item of now) {
    const known = written.get(itemIdOf(item.text));
    const mark = known === undefined ? undefined : readMark(oldLines[known.line - 1] ?? "");
    if (known !== undefined && mark === undefined) continue;
    const made = mark ?? {
      id: itemIdOf(item.text),
      time,
      author,
      trust: trustOf(origin, author),
      source: origin.source,
    };
    bare[item.line - 1] = `${bare[item.line - 1] ?? ""} ${renderMark(made)}`;
  }
  return bare.join("\n");
}

/** Characters of the archive; beyond them its oldest sections leave, which the sessions' own archives still hold. */
const MOST_ARCHIVED = 400_000;

function bounded(archive: string): string {
  if (archive.length <= MOST_ARCHIVED) return archive;
  const next = archive.indexOf("\n## ", archive.length - MOST_ARCHIVED / 2);
  return next < 0 ? archive : `# Archive of the history\n${archive.slice(next)}`;
}

/** Texts shorter than this may be rewritten freely. */
const GUARDED_CHARS = 1_000;
/** A rewrite must leave this share of the words. */
const LEAST_SHARE = 0.5;

function shrinks(before: string, after: string): boolean {
  const size = (text: string): number => text.replace(/<!--[\s\S]*?-->/g, "").replace(/\s+/g, " ").length;
  return size(before) > GUARDED_CHARS && size(after) < size(before) * LEAST_SHARE;
}

function tooLittle(): Refusal {
  return refuse(
    "shrinks",
    "More than half of the text would be lost: ask for it with mayShrink, or take out items.",
  );
}
