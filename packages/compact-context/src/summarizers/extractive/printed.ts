// What a person pastes beside typed lines: output of programs, code and long fences. Lists, tables, quotations and commands
// are typed as often as they are pasted: alone they are the person's own.

const FENCE = /^\s{0,8}(`{3,}|~{3,})/;
const MOST_FENCED = 600;
const FEWEST_PASTED = 4;
const MOST_LINES = 500;
const LONG_LINE = 240;

/** How `git log`, also with its graph, begins a commit; its message is indented. */
const COMMIT = /^[\s*|\\/]{0,20}commit [0-9a-f]{7,40}(?:\s{1,4}\(.{1,200}\))?\s{0,4}$/;
const COMMIT_MESSAGE = /^[\s*|\\/]{0,20}(?:\s{4}\S|$)/;
/** How a diff begins a hunk; its lines begin with a sign or a blank. */
const HUNK = /^@@ -\d/;
const HUNK_LINE = /^[-+ \\]/;

/** A line that a program printed. */
const PRINTED: readonly RegExp[] = [
  /^\s{0,12}(?:\[?\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}|\[?\d{2}:\d{2}:\d{2}[\].,\s])/,
  /^\s{0,12}(?:at .{1,200}[(:]\S{1,200}:\d{1,7}|File "[^"\n]{1,200}", line \d|Traceback \(most recent|[\w.]{1,80}(?:Error|Exception): )/,
  // A browser's console: `    at div`, `workLoop @ chunk.js:17`, `chunk.js:17 Warning: …`.
  /^\s{2,12}at [\w$.<>]{1,100}$|^.{1,120} @ \S{1,200}:\d{1,7}(?:Understand this error)?$|^[\w.-]{1,80}\.\w{1,4}:\d{1,7} (?:Uncaught|Warning:|\w{0,40}Error\b|(?:GET|POST|PUT|PATCH|DELETE) \S|\[|The above error|Failed to)/,
  /^(?:diff --git |index [0-9a-f]{6,}|@@ -\d|\+\+\+ |--- [ab/])/,
  /^\s{0,40}(?:[{}[\]],?|"[\w $.@/-]{1,80}"\s{0,2}:.{1,400}|[{[]".{1,400})$/,
  /^\s{0,12}(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE|FAIL|PASS|ok|---\s(?:FAIL|PASS)|npm (?:ERR!|error|warn)|error(?:\[\w{1,8}\])?:|warning:)(?:[\s:[]|$)/,
  // Numbered lines, trees and graphs, the signs of test runners and prompts.
  /^\s{0,12}(?:\d{1,6}→|(?:> )?[\s|]{0,12}[│┃├└┌╭╰]|[⎿❯➜] |\s{2}[✓✗×✔✖●] )/,
  /^\s{0,40}<\/?[a-zA-Z][\w.-]{0,60}(?:\s[^>\n]{0,300})?\/?>(?:.{0,400}[>;{}])?$/,
  /^\s{4,40}[\w.]{1,80}\(.{0,300}\)[,;]?$/,
  /^[\s*|\\/]{0,20}(?:Author|AuthorDate|Commit|CommitDate|Date|Merge): {1,12}\S/,
  COMMIT,
];
/** What stands between printed lines, but is also typed: numbered lines, tables, quotations, marks, commands. */
const GUTTER = /^\s{0,12}(?:\d{1,6}\s{0,3}[|:]|\||[✓✗×✔✖●$%>] )/;

/** Before code: a line's number, the sign of a diff. A sign and one blank begin an item of a list. */
const BEFORE_CODE = /^(?:\s{0,12}\d{1,6}(?:\s{0,3}\||:)|[-+](?! \S))/;
const ITEM = /^\s{0,24}(?:[-+*•●–—]|\d{1,3}[.)]) (?! )/;
const KEYWORD =
  /^\s{0,40}(?:const|let|var|import|export|function|def|class|return|if|for|while|public|private|func|package|using|#include)\b/;
/** How a line with one of them ends; prose also ends with a comma or a bracket. */
const KEYWORD_ENDS = /[;{}(]$|[=({[\]].*[),:]$|^\s*(?:def|class|if|for|while)\b.*:$/;
/** Quoted text in code. */
const STRING = /"[^"\n]{0,200}"|'[^'\n]{0,200}'|`[^`\n]{0,200}`/g;
/** Three words in a row are prose. */
const PROSE = /\p{L}{2,} \p{L}+ \p{L}{2,}/u;
/** An assignment, a call, a member, a block, a style. */
const CODE = /[=<>]|[\w$\])]\(|::|->|\w\.\w|^\s*[{}()[\]]|\s\{$|^\s{0,40}[\w-]{1,40}:\s?\S/;

/** Lines without what is pasted beside typed ones: runs of printed lines, long fences. ` …` stands for them. */
export function withoutPasted(lines: readonly string[]): string[] {
  const out: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const fenced = fenceEnd(lines, at);
    const pasted = fenced === at ? pastedEnd(lines, at) : at;
    const block = lines.slice(at, Math.max(fenced, pasted, at + 1));
    const isShort = block.slice(1, -1).join("\n").length < MOST_FENCED;
    if (fenced > at ? isShort : pasted === at) out.push(...block);
    else markGap(out);
    at += block.length;
  }
  return out.some((line) => /[^\s…]/.test(line)) ? out : [];
}

/** Writes ` …` behind the last line. */
function markGap(lines: string[]): void {
  const last = lines.findLastIndex((line) => line.trim() !== "");
  if (last === -1) lines.push("…");
  else if (!/(?:^|\s)…$/.test(lines[last] ?? "")) lines[last] = `${(lines[last] ?? "").trimEnd()} …`;
}

/** Index of the line after the fence that opens at `start`; `start` where none does, or none closes. */
function fenceEnd(lines: readonly string[], start: number): number {
  const fence = FENCE.exec(lines[start] ?? "")?.[1];
  if (fence === undefined) return start;
  for (let index = start + 1; index < Math.min(lines.length, start + MOST_LINES); index += 1)
    if ((lines[index] ?? "").trimStart().startsWith(fence)) return index + 1;
  return start;
}

/** Index of the line after the printed lines that begin at `start`; `start` where they are none or few. */
function pastedEnd(lines: readonly string[], start: number): number {
  const first = lines[start] ?? "";
  if (!isPrinted(first)) return start;
  if (first.length >= LONG_LINE) return start + 1;
  const isOutput = outputReader();
  let printed = 0;
  let between = 0;
  let end = start;
  for (let index = start; index < lines.length; index += 1) {
    const line = lines[index] ?? "";
    if (isOutput(line)) {
      printed += 1 + between;
      between = 0;
      end = index + 1;
    } else if (GUTTER.test(line)) between += 1;
    else if (line.trim() !== "") break;
  }
  return printed >= (COMMIT.test(first) ? 2 : FEWEST_PASTED) ? end : start;
}

/** Tells which of consecutive lines a program printed: also those of a commit's message and of a diff's hunk. */
function outputReader(): (line: string) => boolean {
  let inLog = false;
  let inHunk = false;
  return (line) => {
    inLog ||= COMMIT.test(line);
    inHunk = HUNK.test(line) || (inHunk && HUNK_LINE.test(line));
    if (line.trim() === "" || FENCE.test(line)) return false;
    return inHunk || (inLog && COMMIT_MESSAGE.test(line)) || isPrinted(line);
  };
}

function isPrinted(line: string): boolean {
  const read = line.slice(0, 500);
  return PRINTED.some((look) => look.test(read)) || isCode(read);
}

function isCode(line: string): boolean {
  if (ITEM.test(line)) return false;
  const code = line.replace(BEFORE_CODE, "").trimEnd().replace(STRING, '""');
  if (KEYWORD.test(code)) return KEYWORD_ENDS.test(code);
  return (code === line ? /[;{}]$/ : /[;{}()=>,]$/).test(code) && CODE.test(code) && !PROSE.test(code);
}
