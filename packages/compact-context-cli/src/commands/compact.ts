import type { SummarizerFailure } from "compact-context/internal/core/apply";
import { CompactError, errorMessage } from "compact-context/internal/errors";
import { openArchive } from "../archive.ts";
import type { Invocation } from "../command.ts";
import { checkDestination, type Destination, writeOutput } from "../files/output.ts";
import { readSource } from "../files/read.ts";
import type { Source } from "../files/source.ts";
import { commandLine, DECIDING } from "../flags.ts";
import { compactedSession, type Job, type Outcome, runJob } from "../job.ts";
import { safeLines } from "../render/safe.ts";
import { closedSession } from "../rules.ts";
import { openTranscript } from "../sessions/discover.ts";
import { earlySettings, settingsFor } from "../settings.ts";
import { summarizerFor } from "../summarizer.ts";
import { createProgress, type Progress } from "../terminal.ts";
import { traceCompaction, withoutTracing } from "../traced.ts";
import { compactionJson, compactionView, untouchedView } from "../views/compaction.ts";
import { headline, problemLines } from "../views/headline.ts";
import { nextSteps } from "../views/next-steps.ts";
import { chooseSession } from "./sessions.ts";

export async function compactSession(invocation: Invocation): Promise<number> {
  const [word] = invocation.words;
  if (word !== undefined) return compactSource(invocation, await opened(invocation, word));
  refuseWithoutTranscript(invocation);
  const source = await chooseSession(invocation);
  return source === undefined ? 0 : compactSource(invocation, source);
}

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
  const settings = settingsFor(transcript, early, flags, progress);
  const onLine = lineCounter(transcript.messages.length, progress);
  const archive = openArchive({ ...early, flag: flags.archive, ports, warn, onLine });
  const job: Job = { transcript, path: source.path, settings, archive, progress, ports, summarizer };
  const outcome = await runJob(job);
  for (const failure of outcome.result.report.failures) warn(failureNote(failure));
  if (destination !== undefined) {
    await write(job, outcome, { destination, source, mended: mends.length > 0 });
    await traceCompaction(job, outcome, warn);
  } else withoutTracing(settings.config, "compact without -o", warn);
  if (flags.json === true) {
    terminal.printJson(compactionJson(transcript, outcome, { settings, output: destination?.path }));
    return 0;
  }
  if (flags.summary === true) {
    if (outcome.result.summary === undefined) warn("there is no summary: nothing was summarized");
    else terminal.print(safeLines(outcome.result.summary.trim()));
    return 0;
  }
  const again = commandLine(["compact", source.word ?? source.name], flags, DECIDING);
  terminal.print([
    ...headline(transcript, settings, terminal),
    ...problemLines(transcript, terminal),
    ...(outcome.changed
      ? compactionView(outcome, settings, terminal)
      : untouchedView(settings, terminal, again)),
    ...nextSteps(invocation, outcome, { transcript, source, destination }),
  ]);
  return 0;
}

function lineCounter(lines: number, progress: Progress): () => void {
  let written = 0;
  return () => {
    written += 1;
    progress.show("archiving the originals", written / lines);
  };
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
  const written = compacted === undefined ? undefined : transcript.write(compacted, stamps);
  await writeOutput(destination, written, source);
}
