import type { HeadingKey } from "./headings.ts";
import type { IdentifierList } from "./identifiers.ts";
import type { FileEntry } from "./ledger.ts";
import { codeRows, decisionRows, requirementRows, stepRows } from "./rows.ts";
import type { Block, Section } from "./section.ts";
import type { TaskState } from "./state.ts";
import { oneLine } from "./text.ts";

/** A section with what the state has for it; without blocks when it has nothing. */
export function buildSection(
  heading: HeadingKey,
  share: number,
  state: TaskState,
  identifiers: readonly IdentifierList[],
): Section {
  switch (heading) {
    case "request":
    case "answered":
      return { heading: state.answered ? "answered" : "request", share, blocks: state.request.map(quote) };
    case "firstRequest":
      return { heading, share, blocks: state.firstRequest === undefined ? [] : [quote(state.firstRequest)] };
    case "constraints":
      return { heading, share, blocks: items(state.constraints) };
    case "inheritedRules":
      return { heading, share, blocks: items(state.inheritedRules) };
    case "todos":
      return { heading, share, blocks: items(state.todos.map((todo) => `[${todo.status}] ${todo.text}`)) };
    case "errors":
      return { heading, share, blocks: items(errorTexts(state)) };
    case "decisions":
      return { heading, share, blocks: items(decisionTexts(state)), oldestFirst: true };
    case "files":
      return { heading, share, blocks: fileBlocks(state.files) };
    case "commands":
      return {
        heading,
        share,
        blocks: items(state.commands.map((entry) => `\`${entry.command}\` -> ${entry.outcome}`)),
      };
    case "identifiers":
      return {
        heading,
        share,
        blocks: identifiers.map(({ label, names }) => ({ kind: "list", label, items: names })),
      };
    default:
      return { heading, share, blocks: rowBlocks(heading, state), oldestFirst: true };
  }
}

const ROWS: Readonly<Partial<Record<HeadingKey, (state: TaskState) => string[]>>> = {
  decisionLog: decisionRows,
  codeDelta: codeRows,
  steps: stepRows,
  requirements: requirementRows,
};

function rowBlocks(heading: HeadingKey, state: TaskState): Block[] {
  const newer = ROWS[heading]?.(state) ?? [];
  const subjects = new Set(newer.map(rowSubject));
  const older = [...(state.earlier.rows.get(heading) ?? [])].reverse();
  return items([
    ...newer,
    ...older.filter((row) => !subjects.has(rowSubject(row)) || heading !== "codeDelta"),
  ]);
}

// The file of a change: a newer row about it replaces the older.
function rowSubject(row: string): string {
  return row.slice(0, row.indexOf(": "));
}

function quote(text: string): Block {
  return { kind: "quote", text };
}

function items(texts: readonly string[]): Block[] {
  return texts.map((text) => ({ kind: "item", text: oneLine(text) }));
}

function errorTexts(state: TaskState): string[] {
  return state.errors.map(({ text, from, resolved }) =>
    from === "" ? text : `${text} (from \`${from}\`${resolved ? "; passed later" : ""})`,
  );
}

function decisionTexts(state: TaskState): string[] {
  const newer = state.decisions.map(({ text, rationale }) => `${text} ${rationale}`.trim());
  return [...state.earlierDecisions.filter((text) => !newer.includes(text)), ...newer].reverse();
}

const ROOT_FROM = 3;

// Absolute paths of one project are printed under their common folder.
function fileBlocks(files: readonly FileEntry[]): Block[] {
  const changed = files.filter((file) => file.effect !== "read");
  // A relative path beside a root would be read as one under it in the next round.
  const rooted = files.every((file) => file.path.startsWith("/"));
  const root = rooted ? commonFolder((changed.length > 0 ? changed : files).map((file) => file.path)) : "";
  const short = (file: FileEntry): string =>
    root !== "" && file.path.startsWith(root) ? file.path.slice(root.length) : file.path;
  const list = (effect: FileEntry["effect"]): Block[] => {
    const paths = [...new Set(files.filter((file) => file.effect === effect).map(short))];
    return paths.length === 0 ? [] : [{ kind: "list", label: effect, items: paths }];
  };
  const head: Block[] = root === "" ? [] : [{ kind: "preamble", text: `root: ${root}` }];
  return [...head, ...list("edited"), ...list("created"), ...list("deleted"), ...list("read")];
}

function commonFolder(paths: readonly string[]): string {
  const absolute = paths.filter((path) => path.startsWith("/"));
  const first = absolute[0];
  if (first === undefined || absolute.length < ROOT_FROM) return "";
  let root = first.slice(0, first.lastIndexOf("/") + 1);
  for (const path of absolute) {
    while (!path.startsWith(root)) root = root.slice(0, root.lastIndexOf("/", root.length - 2) + 1);
  }
  return root.length > 1 ? root : "";
}
