import { open, rename, rm } from "node:fs/promises";
import { createBlockRedactor } from "../../redaction/blocks.ts";
import { createRedactor } from "../../redaction/redactor.ts";
import { escapeControl } from "../../tracing/escape.ts";
import type { Command, Invocation } from "../command.ts";
import { checkDestination } from "../files/output.ts";
import { openFile, type Source } from "../files/source.ts";
import { earlySettings } from "../settings.ts";
import { wordOf } from "../words.ts";

export const redactCommand: Command = {
  usage: "<file>",
  summary: "prints any text file with the secrets taken out; counts them by kind on stderr",
  flags: ["pii", "config", "output", "force", "json"],
  notes: [
    "Built-in patterns and redaction.patterns of the settings; redaction.enabled is not asked: this command always redacts.",
    "--pii also takes out e-mail addresses, telephone numbers, payment cards and bank accounts.",
  ],
  mostWords: 1,
  run: async (invocation) => {
    const { flags, ports, terminal } = invocation;
    const source = await openFile(wordOf(invocation.words, "redact"), ports.cwd);
    const counts = new Map<string, number>();
    const { config } = earlySettings({ flags, ports, warn: (text) => terminal.warn(text) });
    const redactor = createRedactor({
      patterns: config.redaction.patterns,
      personal: flags.pii === true,
      onFinding: (kind) => counts.set(kind, (counts.get(kind) ?? 0) + 1),
    });
    const writer = await writerFor(invocation, source);
    const blocks = createBlockRedactor(redactor.redactText);
    try {
      for await (const chunk of source.chunks()) await writer.text(blocks.push(chunk));
      await writer.text(blocks.end());
      await writer.finish();
    } catch (error) {
      await writer.abandon();
      throw error;
    }
    report(invocation, counts);
    return 0;
  },
};

interface Writer {
  text(text: string): Promise<void>;
  finish(): Promise<void>;
  abandon(): Promise<void>;
}

/** To stdout, escaped where somebody looks at it; with -o to a new file that is put in place when all is written. */
async function writerFor({ flags, ports }: Invocation, source: Source): Promise<Writer> {
  if (flags.output === undefined) {
    const shown = ports.stdout.isTerminal ? escapeControl : (text: string): string => text;
    const nothing = async (): Promise<void> => {};
    const text = async (part: string): Promise<void> =>
      flags.json === true ? undefined : ports.stdout.write(shown(part));
    return { text, finish: nothing, abandon: nothing };
  }
  const options = { cwd: ports.cwd, force: flags.force === true };
  const destination = await checkDestination(flags.output, source, options);
  const partial = `${destination.path}.${ports.newId()}.tmp`;
  const file = await open(partial, "wx", destination.mode);
  return {
    text: async (part) => {
      await file.writeFile(part);
    },
    finish: async () => {
      await file.close();
      await rename(partial, destination.path);
    },
    abandon: async () => {
      await file.close();
      await rm(partial, { force: true });
    },
  };
}

function report({ flags, ports, terminal }: Invocation, counts: ReadonlyMap<string, number>): void {
  const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  if (flags.json === true) {
    terminal.printJson({ found: total, kinds: Object.fromEntries(sorted), output: flags.output ?? null });
    return;
  }
  const lines = sorted.map(([kind, count]) => `  ${String(count).padStart(6)}  ${kind}`);
  ports.stderr.write(`${[total === 0 ? "no secrets found" : `${total} taken out`, ...lines].join("\n")}\n`);
}
