import { isMap, isScalar, LineCounter, parseDocument } from "yaml";
import type { Diagnostic } from "./diagnostic.ts";

/** A markdown file with YAML before its text. */
export interface FrontmatterFile {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The markdown behind it, trimmed. */
  readonly body: string;
  readonly problems: readonly Diagnostic[];
  /** True where YAML could not read it and the lines were read instead. */
  readonly lenient: boolean;
  /** `file:line` of a field, of the whole where there is none. */
  placeOf(field: string): string;
}

const FENCE = /^---[ \t]*$/;
const FIELD = /^([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)$/;
const LARGEST = 64 * 1024;

/**
 * Reads frontmatter strictly. What YAML cannot read is told with its line, and read line by line instead: `name: value`,
 * lists in brackets or with dashes.
 */
export function readFrontmatter(text: string, path: string): FrontmatterFile {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const none = (message: string, hint: string, line: number): FrontmatterFile => ({
    fields: {},
    body: text.trim(),
    problems: [{ code: "no-frontmatter", message, place: `${path}:${line}`, hint }],
    lenient: false,
    placeOf: () => `${path}:1`,
  });
  const hint = "Begin the file with a line ---, then name: and description:, then a line ---.";
  if (!FENCE.test(lines[0] ?? "")) return none("the file has no frontmatter", hint, 1);
  const end = lines.findIndex((line, index) => index > 0 && FENCE.test(line));
  if (end === -1) return none("the frontmatter is not closed", "End it with a line of three dashes.", 1);
  const source = lines.slice(1, end);
  const body = lines
    .slice(end + 1)
    .join("\n")
    .trim();
  const yaml = source.join("\n");
  if (yaml.length > LARGEST) return none("the frontmatter is over 64 KB", "Move text behind it.", 1);
  return { body, ...readYaml(yaml, source, path) };
}

type Fields = Omit<FrontmatterFile, "body">;

function readYaml(yaml: string, source: readonly string[], path: string): Fields {
  const counter = new LineCounter();
  const document = parseDocument(yaml, { lineCounter: counter, prettyErrors: false, uniqueKeys: true });
  const lineAt = (offset: number): number => counter.linePos(offset).line + 1;
  const [error] = document.errors;
  const { contents } = document;
  if (error !== undefined) {
    const said = error.message.split("\n", 1)[0] ?? "";
    return readLeniently(source, path, { line: lineAt(error.pos[0]), said });
  }
  if (contents !== null && !isMap(contents)) {
    return readLeniently(source, path, { line: 2, said: "it is no list of fields" });
  }
  const places = new Map(
    (contents?.items ?? []).flatMap(({ key }) =>
      isScalar(key) ? [[String(key.value), lineAt(key.range?.[0] ?? 0)] as const] : [],
    ),
  );
  const fields = (document.toJS({ maxAliasCount: 0 }) ?? {}) as Record<string, unknown>;
  return { fields, problems: [], lenient: false, placeOf: (field) => `${path}:${places.get(field) ?? 1}` };
}

function readLeniently(
  source: readonly string[],
  path: string,
  { line, said }: { readonly line: number; readonly said: string },
): Fields {
  const { fields, places } = readLines(source);
  const problem: Diagnostic = {
    code: "bad-yaml",
    message: `the frontmatter is no valid YAML: ${said}`,
    place: `${path}:${line}`,
    hint: "It was read line by line instead. Put values with colons, brackets or # in double quotes.",
  };
  return {
    fields,
    problems: [problem],
    lenient: true,
    placeOf: (field) => `${path}:${places.get(field) ?? 1}`,
  };
}

interface ReadLines {
  readonly fields: Record<string, unknown>;
  readonly places: ReadonlyMap<string, number>;
}

/** Fields of one line each, and lists below a field without a value. Nothing is nested. */
function readLines(source: readonly string[]): ReadLines {
  const fields: Record<string, unknown> = {};
  const places = new Map<string, number>();
  let open: string[] = [];
  source.forEach((line, index) => {
    const item = /^[ \t]*-[ \t]+(.*)$/.exec(line)?.[1];
    if (item !== undefined) {
      open.push(plain(item));
      return;
    }
    const [, name, value = ""] = FIELD.exec(line) ?? [];
    if (name === undefined) return;
    open = [];
    fields[name] = value === "" ? open : listOrPlain(value);
    places.set(name, index + 2);
  });
  for (const [name, value] of Object.entries(fields)) {
    if (Array.isArray(value) && value.length === 0) fields[name] = undefined;
  }
  return { fields, places };
}

function listOrPlain(value: string): unknown {
  const inner = /^\[(.*)\]$/.exec(value.trim())?.[1];
  return inner === undefined ? plain(value) : splitList(inner).map(plain);
}

/** The parts of a text with commas; commas in braces belong to a glob. */
export function splitList(text: string): string[] {
  return text
    .split(/,(?![^{}]*\})/)
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

function plain(value: string): string {
  const text = value.trim();
  return /^(["'])(.*)\1$/.exec(text)?.[2] ?? text;
}
