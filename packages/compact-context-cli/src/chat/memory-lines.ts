import { relative } from "node:path";
import type { MemoryView } from "compact-context/internal/agent/memory-view";
import { formatCount } from "../render/numbers.ts";
import { oneLine, safeLines } from "../render/safe.ts";
import { padEnd, wrap } from "../render/width.ts";
import type { Terminal } from "../terminal.ts";

const MOST_LINES = 40;

/** What `/memory` prints: the files and the state of the work, or what was found for a question. */
export function memoryLines(view: MemoryView, folder: string, terminal: Terminal): string[] {
  const { paint, width } = terminal;
  if (!view.enabled) return ["  This chat keeps no memory."];
  const laid = (text: string): string[] =>
    safeLines(text.trim())
      .flatMap((line) => wrap(line, width - 6))
      .map((line) => `    ${line}`.trimEnd());
  if (view.found.length > 0) {
    return view.found.flatMap(({ title, source, path, content }, index) => [
      ...(index === 0 ? [] : [""]),
      `  ${paint("strong", oneLine(title || source))}  ${paint("faint", oneLine(relative(folder, path) || path))}`,
      ...laid(content),
    ]);
  }
  const files = view.files.map(
    ({ path, characters }) =>
      `  ${padEnd(oneLine(relative(folder, path) || path), 40)} ${paint("faint", `${formatCount(characters)} characters`)}`,
  );
  const session = laid(view.session.replace(/<!--[\s\S]*?-->/g, ""));
  const left = session.length - MOST_LINES;
  return [
    ...(files.length === 0 ? ["  The memory is empty."] : files),
    "",
    ...session.slice(0, MOST_LINES),
    ...(left > 0 ? [`    (${left} lines more)`] : []),
  ];
}
