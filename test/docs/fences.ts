import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root: string = join(import.meta.dirname, "../..");

/** A fenced code block of a page. */
export interface Fence {
  /** The page, relative to the root. */
  readonly file: string;
  /** First line of the text on the page, 1-based. */
  readonly line: number;
  /** The nearest heading above it. */
  readonly heading: string;
  readonly text: string;
}

/** The pages that are read first, then the guides. */
export const PAGES: readonly string[] = [
  "README.md",
  "OBSERVABILITY.md",
  "SECURITY.md",
  "CONTRIBUTING.md",
  "ARCHITECTURE.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

export function pageText(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

/** The blocks of a page in one language. */
export function fencesOf(file: string, language: string): readonly Fence[] {
  const lines = pageText(file).split("\n");
  const fences: Fence[] = [];
  let heading = "";
  for (let at = 0; at < lines.length; at += 1) {
    heading = /^#+ (.*)/.exec(lines[at] ?? "")?.[1] ?? heading;
    const opened = /^```(\w*)/.exec(lines[at] ?? "");
    if (opened === null) continue;
    const end = lines.indexOf("```", at + 1);
    const text = lines.slice(at + 1, end).join("\n");
    if (opened[1] === language) fences.push({ file, line: at + 2, heading, text });
    at = end;
  }
  return fences;
}
