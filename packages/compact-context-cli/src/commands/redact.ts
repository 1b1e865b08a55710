import { createReadStream } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { CompactError, escapeControl } from "compact-context/internal/errors";
import { createBlockRedactor } from "compact-context/internal/redaction/private-keys";
import { WITHHELD } from "compact-context/internal/redaction/redactor";
import { createRedactor, type Redactor } from "compact-context/redaction";
import { readConfig } from "../files/config.ts";
import { checkDestination, writeOutput } from "../files/output.ts";
import { binaryKind, decoded, type Source, STDIN, unreadable } from "../files/source.ts";
import type { Invocation } from "../flags.ts";
import type { CliPorts } from "../ports.ts";
import { oneLine } from "../render/text.ts";

export async function redactText(invocation: Invocation): Promise<number> {
  const { flags, ports, words } = invocation;
  const source = await openText(words[0] ?? "", ports);
  const { config } = readConfig(invocation);
  const kinds = new Map<string, number>();
  /** Parts that could not be searched in time. */
  let withheld = 0;
  const redactor = createRedactor({
    patterns: config.redaction.patterns,
    personal: flags.pii === true || config.redaction.personal,
    onFinding: (kind) => kinds.set(kind, (kinds.get(kind) ?? 0) + 1),
  });
  const pieces = redacted(source, redactor, () => {
    withheld += 1;
  });
  await write(pieces, source, invocation);
  // If the reader has closed the pipe, the counts are incomplete.
  if (ports.stdout.isClosed !== true) report(kinds, withheld, invocation);
  return withheld > 0 ? 1 : 0;
}

async function* redacted(
  source: Source,
  { redactText }: Redactor,
  onWithheld: () => void,
): AsyncGenerator<string> {
  const blocks = createBlockRedactor((text) => {
    const shown = redactText(text);
    if (shown === WITHHELD && text !== WITHHELD) onWithheld();
    return shown;
  });
  for await (const chunk of source.chunks()) yield blocks.push(chunk);
  yield blocks.end();
}

/** Writes atomically to the file of `-o`, else to stdout, escaped on a terminal. */
async function write(pieces: AsyncIterable<string>, source: Source, invocation: Invocation): Promise<void> {
  const { flags, ports } = invocation;
  const destination = await checkDestination(invocation, source);
  if (destination !== undefined) return writeOutput(destination, { mode: "replace", chunks: pieces }, source);
  let last = "\n";
  for await (const piece of pieces) {
    if (flags.json === true) continue;
    ports.stdout.write(ports.stdout.isTerminal ? escapeControl(piece) : piece);
    last = piece.at(-1) ?? last;
    if (ports.stdout.isClosed === true) return;
  }
  // On a terminal the counts on stderr follow on a new line.
  if (last !== "\n" && ports.stdout.isTerminal && ports.stderr.isTerminal) ports.stderr.write("\n");
}

function report(
  kinds: ReadonlyMap<string, number>,
  withheld: number,
  { flags, ports, terminal }: Invocation,
): void {
  const sorted = [...kinds].toSorted(([, one], [, other]) => other - one);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  if (withheld > 0) {
    const what = withheld === 1 ? "one part" : `${withheld} parts`;
    terminal.warn(`${what} could not be searched in time and left out: look for ${WITHHELD}`);
  }
  if (flags.json === true) {
    const output = flags.output ?? null;
    terminal.printJson({ found: total, kinds: Object.fromEntries(sorted), withheld, output });
    return;
  }
  const written = flags.output === undefined ? "" : `; written to ${oneLine(flags.output)}`;
  const lines = sorted.map(([kind, count]) => `  ${String(count).padStart(6)}  ${oneLine(kind)}`);
  const first = total === 0 ? "no secrets found" : `${total} redacted`;
  ports.stderr.write(`${[`${first}${written}`, ...lines].join("\n")}\n`);
}

const CHUNK_BYTES = 1 << 20;
const CHECK = `Check the path; ${STDIN} reads standard input.`;

/**
 * Any UTF-8 text, possibly empty: a file, a pipe, or standard input for `-`. Throws `NotFound` or `InvalidArgument`; a
 * file that is not UTF-8 throws while it is read.
 */
async function openText(name: string, { cwd, stdin }: Pick<CliPorts, "cwd" | "stdin">): Promise<Source> {
  if (name === STDIN) {
    if (stdin === undefined) throw refused(name, "cannot be read here", "Name a file.");
    return { name: "standard input", bytes: 0, chunks: () => textOf(stdin, "standard input") };
  }
  const path = resolve(cwd, name);
  const facts = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(name, error, CHECK);
  });
  if (facts.isDirectory()) throw refused(name, "is a folder", "Name the files in it one by one.");
  await access(path, constants.R_OK).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(name, error, CHECK);
  });
  return {
    name,
    bytes: facts.isFile() ? facts.size : 0,
    path: facts.isFile() ? path : undefined,
    chunks: () => textOf(createReadStream(path, { highWaterMark: CHUNK_BYTES }), name),
  };
}

/** Decodes the text; throws for binary files and for bytes that are not UTF-8. */
function textOf(bytes: AsyncIterable<Uint8Array>, name: string): AsyncIterable<string> {
  return decoded(textOnly(bytes, name), {
    onMalformed() {
      const hint = "Convert it first, such as with iconv -f latin1 -t utf-8.";
      throw refused(name, "holds bytes that are not UTF-8", hint);
    },
  });
}

async function* textOnly(bytes: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const piece of bytes) {
    const binary = isFirst ? binaryKind(piece) : undefined;
    if (binary !== undefined) throw refused(name, ...binary);
    isFirst = false;
    yield piece;
  }
}

function refused(name: string, problem: string, hint: string): CompactError {
  return new CompactError("InvalidArgument", `${name} ${problem}`, { place: name, hint });
}
