import type { Finding } from "./finding.ts";
import { hasSecretName, isSecretName, matchNames, PASSWORD_WORDS, SECRET_NAME } from "./names.ts";
import { isGiven, isToldApart } from "./values.ts";

// Values identified by another line: the command or label above them, the heading of their column, the kind of
// their manifest.

/** A command after a shell or interpreter prompt. */
const COMMAND = /^(?:[^\n$#%>]{0,60}(?:[$#%]|>>>|PS [^\n>]{0,60}>)|>|##\[debug\]Evaluating:)[ \t]{1,4}(?=\S)/;
/** Commands that generate a secret or read one from a secret store. */
const GIVES =
  /openssl rand|random_(?:base32|hex)\(|\b(?:pwgen|apg|makepasswd|xkcdpass|diceware)\b|\/dev\/u?random|token_(?:urlsafe|hex|bytes)\(|generate_?key\(|randomBytes\(|\bwg gen(?:key|psk)|--gen-random|\bpass show|\bop read|\bgopass\b|\bvault (?:kv get|read)|get-secret-value|secrets versions access|keyvault secret show|-generic-password|secret-tool lookup|get secrets? [^\n]{0,80}-o|\bbw get|--with-decryption|auth:token|print-(?:access|identity)-token|auth token|create-token/i;
/** The name of a secret that the command does not itself assign. */
const NAMES = new RegExp(`(?:${SECRET_NAME}|${PASSWORD_WORDS})s?(?![\\w=-])`, "i");
/** Commands whose output about a file or variable is not a secret. */
const HANDLES =
  /[$#%>][ \t]{1,4}(?:sudo )?(?:ls|ll|find|git|wc|stat|du|which|type|\w{2,7}sum|grep|rg|cd|vim?|nano|rm|cp|mv|mkdir|touch|chmod|chown|npm|pip|docker (?:ps|images))\b/;
const CODES = /\b(?:recovery|backup|scratch|rescue|one-time|2fa|mfa)[ -]codes\b/i;

const ALONE = /^(?:##\[debug\])?[ \t]{0,40}(?:=> )?(?:b?["'])?([^\s"']{6,2048})["']?\s{0,8}$/;
/** A message of one word, behind the time and the name of who wrote it. */
const MESSAGE =
  /^(?:(?:[[(<*][\p{L}\d:., ]{1,24}[\])>*][:：]?|[\p{L}\d:. ]{1,24}(?:[:：]|\s-)|>)[ \t]{0,2}){0,2}(?:\p{L}{2,10}[,:][ \t])?["'`]?([!-.0-~]{6,200}?)["'`]?[.!]?\s{0,8}$/u;
const CODE =
  /^[ \t>]{0,16}(?:\d{1,2}[.):][ \t]{1,3}|[-*•][ \t])?([a-z\d]{4,10}(?:[- ][a-z\d]{4,10}){0,4})\s{0,8}$/i;

/** What the next lines can contain after a matching line; the value is the pattern's capture group. */
interface Expected {
  readonly answer: RegExp;
  readonly isSecret: (value: string) => boolean;
  /** True: every line is a value, up to the first that is not. False: only the first matching line is. */
  readonly isList: boolean;
  /** Maximum number of non-blank lines to check. */
  readonly lines: number;
}

const ANSWER: Expected = { answer: ALONE, isSecret: isAnswer, isList: false, lines: 3 };
const LABELLED: Expected = { ...ANSWER, lines: 1 };
const ASKED: Expected = { ...ANSWER, answer: MESSAGE, lines: 2 };
const NOTHING: Expected = { ...ANSWER, lines: 0 };
const LISTED: Expected = { answer: CODE, isSecret: (value) => /\d/.test(value), isList: true, lines: 24 };

/** Values below a command, a label or a heading, and those of SQL's statements. */
export function* findInLines(text: string): Generator<Finding> {
  yield* findAnswers(text);
  if (!hasSecretName(text)) return;
  yield* findColumns(text);
  yield* findByStatement(text);
}

/** A value alone on its line, after the command that prints it or the label that names it. */
function* findAnswers(text: string): Generator<Finding> {
  if (!mayAsk(text)) return;
  let expected = NOTHING;
  let left = 0;
  let start = 0;
  for (const line of text.split("\n")) {
    const behind = line.length > 400 ? undefined : expectedBehind(line);
    if (behind !== undefined) {
      expected = behind;
      left = behind.lines;
    } else if (left > 0 && line.trim() !== "") {
      const value = answerIn(line, expected);
      const at = start + line.indexOf(value);
      if (value !== "") yield { start: at, end: at + value.length, kind: "command-output" };
      left = (value !== "") === expected.isList ? left - 1 : 0;
    }
    start += line.length + 1;
  }
}

function mayAsk(text: string): boolean {
  if (!text.includes("\n")) return false;
  return (
    (/[?？：][ \t]{0,8}\r?\n/.test(text) && NAMES.test(text)) ||
    hasSecretName(text) ||
    (/(?:\$|>>>) /.test(text) && GIVES.test(text)) ||
    (/codes/i.test(text) && CODES.test(text))
  );
}

/** The expected value in the line; empty if there is none. */
function answerIn(line: string, { answer, isSecret }: Expected): string {
  const value = answer.exec(line)?.[1] ?? "";
  return value !== "" && isSecret(value) ? value : "";
}

function expectedBehind(line: string): Expected | undefined {
  if (CODES.test(line) && !HANDLES.test(line)) return LISTED;
  if (COMMAND.test(line))
    return (GIVES.test(line) || NAMES.test(line)) && !HANDLES.test(line) ? ANSWER : NOTHING;
  const [sign] = /[?？:：](?=\s*$)/.exec(line.slice(-12)) ?? [];
  if (sign === undefined || !NAMES.test(line)) return undefined;
  return /[?？]/.test(sign) ? ASKED : LABELLED;
}

/** A path, an option, a line of `/etc/passwd`, a setting or code. */
const NO_ANSWER = /^(?:[./~@]|\\?-)|:.*:|^[A-Z\d_]+=|^\D*[,;{(]$/;

function isAnswer(value: string): boolean {
  return !NO_ANSWER.test(value) && (isGiven(value, "password") || isToldApart(value));
}

const NAMED_CELL = new RegExp(
  `(?:${SECRET_NAME})(?:_plain|_clear|_text)?["'\x60*]{0,3}(?:[ \\t]{0,40}(?=[,;\\t|│\\r\\n])|(?=  ))`,
  "iy",
);
const HEADING = /^[\w .-]{0,40}$/;
const RULE = /^[\s+|:─│┼-]{3,}$/;
const bare = (cell: string): string => cell.replace(/^[\s"'`*]+|[\s"'`*]+$/g, "");

/** Table and CSV cells below the name of a secret. */
function* findColumns(text: string): Generator<Finding> {
  let done = 0;
  for (const { index } of matchNames(text, NAMED_CELL)) {
    if (index < done) continue;
    const end = endOfLine(text, index);
    const start = text.lastIndexOf("\n", index) + 1;
    const columns = columnsOf(
      text.slice(start, end),
      text.slice(text.lastIndexOf("\n", start - 2) + 1, start),
    );
    done = columns === undefined ? end : yield* rowsBelow(text, end, columns);
  }
}

/** The cells of the lines that have as many as there are columns; returns the end of the last. */
function* rowsBelow(text: string, above: number, { sign, names }: Columns): Generator<Finding, number> {
  let end = above;
  while (end < text.length) {
    const at = end + 1;
    const next = endOfLine(text, at);
    const line = text.slice(at, next);
    const cells = line.split(sign);
    if (cells.length === names.length) yield* givenCells(line, cells, names, at);
    else if (!RULE.test(line)) break;
    end = next;
  }
  return end;
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end;
}

type Columns = { readonly sign: string | RegExp; readonly names: readonly string[] };

function columnsOf(line: string, above: string): Columns | undefined {
  if (line.length > 1000) return undefined;
  const sign = /[,;\t|│]/.exec(line)?.[0] ?? / {2,80}/;
  const names = line.split(sign).map(bare);
  if (sign !== "," && above.split(sign).length === names.length) return undefined;
  // A list in code ends its lines with a comma; indentation leaves the first name empty.
  const isList = (sign === "," || sign instanceof RegExp) && names.includes("");
  return names.length > 1 && !isList && names.every((name) => HEADING.test(name)) && names.some(isSecretName)
    ? { sign, names }
    : undefined;
}

function* givenCells(
  line: string,
  cells: readonly string[],
  names: readonly string[],
  at: number,
): Generator<Finding> {
  let from = 0;
  for (const [index, cell] of cells.entries()) {
    const name = names[index] ?? "";
    const value = bare(cell);
    const start = line.indexOf(cell, from) + cell.indexOf(value);
    if (isSecretName(name) && isGiven(value, name))
      yield { start: at + start, end: at + start + value.length, kind: "table" };
    from = line.indexOf(cell, from) + cell.length;
  }
}

/** Statements that name the columns of the rows behind or, as output or in a dump, below them. */
const STATEMENT =
  /\b(?:(?:insert|replace)\s{1,8}into[^(\n]{1,100}\(([^()]{1,400})\)\s{0,8}values(?=\s{0,8}\()|select\s{1,4}([\w."]{1,64},[\w ,."]{1,200}?)\s{1,4}from\b[^\n]*|copy [\w."]{1,80} \(([^()\n]{1,400})\) from\b[^\n]*)/gi;
const ROW = /[\s,]{0,40}\(((?:[^()]|\([^()]{0,40}\)){1,4000})\)/dy;

/** `INSERT INTO users (name, password) VALUES (…), (…)`; `SELECT name, token FROM users;` and its output. */
function* findByStatement(text: string): Generator<Finding> {
  const rows = new RegExp(ROW);
  let done = 0;
  for (const { 0: head, 1: inserted, 2: selected, 3: copied = "", index } of text.matchAll(STATEMENT)) {
    if (index < done) continue;
    const names = (inserted ?? selected ?? copied).split(",").map(bare);
    rows.lastIndex = index + head.length;
    done = rows.lastIndex;
    if (inserted === undefined) done = yield* rowsBelow(text, done, { sign: /[|\t]/, names });
    for (let row = inserted && rows.exec(text); row; row = rows.exec(text))
      yield* givenCells(row[1] ?? "", (row[1] ?? "").split(","), names, row.indices?.[1]?.[0] ?? 0);
  }
}

const MANIFEST_KIND = /^\s{0,20}kind:\s*["']?Secret\b/;
const BLOCK = /^(\s{0,20})(?:data|stringData):\s*$/;
const ENTRY =
  /^(?!\s*(?:[\w.-]*user(?:name)?|login|host|port):)(\s{1,40}[\w.-]{1,128}:[ \t]{1,8}["']?)([^\s"'{}|>#<][^\s"']{3,8191})/i;

/** The values of `data` and `stringData` in YAML manifests of kind Secret. */
export function* findKubernetesSecrets(text: string): Generator<Finding> {
  if (!/\bkind:[ \t]{0,4}["']?Secret\b/.test(text)) return;
  let offset = 0;
  let indent: number | undefined;
  /** The indentation of the entries; more deeply nested text is not an entry. */
  let entries: number | undefined;
  for (const { line, isSecret } of linesOfManifests(text)) {
    const depth = line.search(/\S/);
    if (indent !== undefined && depth >= 0 && depth <= indent) indent = entries = undefined;
    else if (indent !== undefined && depth >= 0) entries ??= depth;
    const [, name = "", value = ""] = (depth === entries && ENTRY.exec(line)) || [];
    if (value !== "") {
      const start = offset + name.length;
      yield { start, end: start + value.length, kind: "kubernetes-secret" };
    }
    if (isSecret) indent ??= BLOCK.exec(line)?.[1]?.length;
    offset += line.length + 1;
  }
}

/** Every line, and whether its manifest (between `---` separators) is a Secret. */
function linesOfManifests(text: string): { line: string; isSecret: boolean }[] {
  return text.split(/\n(?=---)/).flatMap((manifest) => {
    const lines = manifest.split("\n");
    const isSecret = lines.some((line) => MANIFEST_KIND.test(line));
    return lines.map((line) => ({ line, isSecret }));
  });
}
