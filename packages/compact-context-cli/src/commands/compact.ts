import { relative } from "node:path";
import type { SummarizerFailure } from "compact-context/internal/core/apply";
import { CompactError, errorMessage } from "compact-context/internal/errors";
import { openArchive } from "../archive.ts";
import type { Command, Invocation } from "../command.ts";
import { checkDestination, type Destination, writeOutput } from "../files/output.ts";
import { readSource } from "../files/read.ts";
import type { Source } from "../files/source.ts";
import { compactedSession, type Job, type Outcome, runJob } from "../job.ts";
import { createProgress } from "../progress.ts";
import { oneLine } from "../render/safe.ts";
import { closedSession } from "../rules.ts";
import { openTranscript } from "../sessions/discover.ts";
import { earlySettings, settingsFor } from "../settings.ts";
import { summarizerFor } from "../summarizer.ts";
import { writeTranscript } from "../transcripts/write.ts";
import { compactionView, untouchedView } from "../views/compaction.ts";
import { headline, problemLines } from "../views/headline.ts";
import { compactionJson } from "../views/machine.ts";
import { commandLine } from "../words.ts";
import { chooseSession } from "./sessions.ts";

/** What decides a result: a command that is offered to be run again must say it again. */
const DECIDING = [
  "model",
  "window",
  "target",
  "format",
  "strategy",
  "on-overflow",
  "summarizer",
  "deadline",
  "config",
  "archive",
] as const;

export const compactCommand: Command = {
  usage: "<transcript>",
  summary: "compacts a session: before and after, what was kept, where the rest is",
  flags: [...DECIDING, "output", "force", "json"],
  notes: [
    "<transcript> is a file, - for standard input, or the number or id of a session that `compact` alone lists.",
    "The window is --window, else the configuration's, else the model's, else 128,000.",
    "The aim is --target, else the configuration's, else a quarter of what there is.",
  ],
  mostWords: 1,
  run: async (invocation) => {
    const [word] = invocation.words;
    if (word !== undefined) return compactSource(invocation, await opened(invocation, word));
    refuseWithoutTranscript(invocation);
    const source = await chooseSession(invocation);
    return source === undefined ? 0 : compactSource(invocation, source);
  },
};

function opened({ ports }: Invocation, word: string): Promise<Source> {
  return openTranscript(word, ports);
}

/** Without a transcript a person is asked for one, which a machine's output has no room for. */
function refuseWithoutTranscript({ flags }: Invocation): void {
  const given = (["json", "output", "target", "format"] as const).find((name) => flags[name] !== undefined);
  if (given === undefined) return;
  throw new CompactError("InvalidUsage", `--${given} needs a transcript`, {
    place: `--${given}`,
    hint: `Name one: compact FILE --${given} …; \`compact\` alone lists the newest sessions.`,
  });
}

/** The main job on one session; the exit code. */
async function compactSource(invocation: Invocation, source: Source): Promise<number> {
  const { flags, ports, terminal } = invocation;
  const warn = (text: string): void => terminal.warn(text);
  const early = earlySettings({ flags, ports, warn });
  const summarizer = summarizerFor({ flags, config: early.config, env: ports.env });
  const destination =
    flags.output === undefined
      ? undefined
      : await checkDestination(flags.output, source, { cwd: ports.cwd, force: flags.force === true });
  const progress = createProgress(ports);
  const { transcript, mends } = closedSession(await readSource(source, flags.format, progress));
  for (const { rule, explanation } of mends) warn(`the session broke ${rule} and was mended: ${explanation}`);
  const settings = settingsFor(transcript, early, flags);
  const archive = openArchive(early.config, { flag: flags.archive, cwd: ports.cwd, warn });
  const job: Job = { transcript, settings, archive, progress, ports, summarizer };
  const outcome = await runJob(job);
  for (const failure of outcome.result.report.failures) warn(failureNote(failure));
  if (destination !== undefined) await write(job, outcome, { destination, source, mended: mends.length > 0 });
  if (flags.json === true) {
    terminal.printJson(compactionJson(transcript, outcome, { settings, output: destination?.path }));
    return 0;
  }
  terminal.print([
    ...headline(transcript, settings, terminal),
    ...problemLines(transcript, terminal),
    ...(outcome.changed ? compactionView(outcome, settings, terminal) : untouchedView(settings, terminal)),
    ...whereLines(invocation, outcome, { source, destination }),
  ]);
  return 0;
}

/** A summary that somebody else wrote is told, whatever else is printed. */
function failureNote({ summarizer, error, fallback }: SummarizerFailure): string {
  const instead =
    fallback === "pruning-only" ? "there is no summary" : `${fallback} wrote the summary instead`;
  return `${summarizer} gave no summary: ${errorMessage(error)}; ${instead}`;
}

async function write(
  { transcript, ports }: Job,
  outcome: Outcome,
  {
    destination,
    source,
    mended,
  }: { readonly destination: Destination; readonly source: Source; readonly mended: boolean },
): Promise<void> {
  const { tokensBefore, tokensAfter } = outcome.result.report;
  const whole = mended ? { messages: transcript.messages, tokensBefore, tokensAfter } : undefined;
  const compacted = compactedSession(outcome) ?? whole;
  const stamps = { newId: ports.newId, now: () => ports.now().toISOString() };
  const written = compacted === undefined ? undefined : writeTranscript(transcript, compacted, stamps);
  await writeOutput(destination, written, source);
}

/** Where everything is now, and what to type next. */
function whereLines(
  { ports, terminal, flags }: Invocation,
  { result, sessionId, changed }: Outcome,
  { source, destination }: { readonly source: Source; readonly destination: Destination | undefined },
): string[] {
  const { archive } = result.report;
  const label = (text: string): string => `  ${terminal.paint("strong", text.padEnd(9))}`;
  const command = (text: string): string => `${label("")}${terminal.paint("faint", text)}`;
  const lines: string[] = [];
  if (archive !== undefined && changed) {
    const place = oneLine(shortPath(archive.location, ports.cwd));
    const fits = place.length + "  Archive  every original is in ".length <= terminal.width;
    lines.push(
      `${label("Archive")}every original is in${fits ? ` ${place}` : ""}`,
      ...(fits ? [] : [`${label("")}${place}`]),
      command(commandLine(["compact", "archive", "show", sessionId], flags, ["config", "archive"])),
    );
  }
  if (destination !== undefined) {
    const same = !changed && destination.isInput ? " (unchanged)" : "";
    lines.push(`${label("Written")}${oneLine(destination.name)}${same}`);
  } else if (changed) {
    lines.push(
      `${label("Output")}nothing is written yet; to keep the result:`,
      command(`${commandLine(["compact", source.word ?? source.name], flags, DECIDING)} -o FILE`),
    );
  }
  return [...lines, ""];
}

function shortPath(path: string, cwd: string): string {
  const near = relative(cwd, path);
  return near.startsWith("..") || near === "" ? path : near;
}
