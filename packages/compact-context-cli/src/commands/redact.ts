import { escapeControl } from "compact-context/internal/errors";
import { createBlockRedactor } from "compact-context/internal/redaction/finding";
import { createRedactor, type Redactor, WITHHELD } from "compact-context/redaction";
import type { Invocation } from "../command.ts";
import { checkDestination, writeOutput } from "../files/output.ts";
import type { Source } from "../files/source.ts";
import { openText } from "../files/text-file.ts";
import { oneLine } from "../render/safe.ts";
import { earlySettings } from "../settings.ts";

export async function redactText(invocation: Invocation): Promise<number> {
  const { flags, ports, terminal, words } = invocation;
  const source = await openText(words[0] ?? "", ports);
  const { config } = earlySettings({ flags, ports, warn: (text) => terminal.warn(text) });
  const found = { kinds: new Map<string, number>(), withheld: 0 };
  const redactor = createRedactor({
    patterns: config.redaction.patterns,
    personal: flags.pii === true || config.redaction.personal,
    onFinding: (kind) => found.kinds.set(kind, (found.kinds.get(kind) ?? 0) + 1),
  });
  const pieces = redacted(source, redactor, () => {
    found.withheld += 1;
  });
  await write(pieces, source, invocation);
  // Counts of a part would be taken for those of the whole.
  if (ports.stdout.isLeft !== true) report(found, invocation);
  return found.withheld > 0 ? 1 : 0;
}

interface Found {
  readonly kinds: ReadonlyMap<string, number>;
  /** Parts that could not be searched in time. */
  readonly withheld: number;
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

/** With -o to that file, which is put in place when all is written; else to stdout, escaped where somebody looks. */
async function write(
  pieces: AsyncIterable<string>,
  source: Source,
  { flags, ports }: Invocation,
): Promise<void> {
  if (flags.output !== undefined) {
    const options = { cwd: ports.cwd, force: flags.force === true };
    const destination = await checkDestination(flags.output, source, options);
    await writeOutput(destination, { mode: "replace", chunks: pieces }, source);
    return;
  }
  for await (const piece of pieces) {
    if (flags.json === true) continue;
    ports.stdout.write(ports.stdout.isTerminal ? escapeControl(piece) : piece);
    if (ports.stdout.isLeft === true) return;
  }
}

function report({ kinds, withheld }: Found, { flags, ports, terminal }: Invocation): void {
  const sorted = [...kinds].toSorted(([, one], [, other]) => other - one);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  if (withheld > 0) {
    const what = withheld === 1 ? "one part" : `${withheld} parts`;
    terminal.warn(`${what} could not be searched in time and left out as a whole: look for ${WITHHELD}`);
  }
  if (flags.json === true) {
    const output = flags.output ?? null;
    terminal.printJson({ found: total, kinds: Object.fromEntries(sorted), withheld, output });
    return;
  }
  const written = flags.output === undefined ? "" : `; written to ${oneLine(flags.output)}`;
  const lines = sorted.map(([kind, count]) => `  ${String(count).padStart(6)}  ${oneLine(kind)}`);
  const first = total === 0 ? "no secrets found" : `${total} taken out`;
  ports.stderr.write(`${[`${first}${written}`, ...lines].join("\n")}\n`);
}
