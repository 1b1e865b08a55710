import type { Line, LineSource } from "./lines.ts";

const TAGS: Readonly<Record<LineSource, string>> = {
  user: "[user]",
  assistant: "[assistant]",
  call: "[call]",
  read: "[output]",
  output: "[output]",
  note: "[note]",
  summary: "[earlier]",
};

/** Kept lines in order of time: the first line of a part under the tag of who said it, the others indented by two blanks. */
export function timelineTexts(lines: readonly Line[], positions: Iterable<number>): string[] {
  const ordered = [...positions].sort((left, right) => left - right);
  let previous: Line | undefined;
  return ordered.map((position) => {
    const line = lines[position];
    if (line === undefined) return "";
    const continues = previous?.part === line.part;
    previous = line;
    if (continues) return `  ${line.text}`;
    return line.from === undefined
      ? `${TAGS[line.source]} ${line.text}`
      : `[output of ${line.from}] ${line.text}`;
  });
}
