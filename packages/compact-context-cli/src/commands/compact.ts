import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { CompactConfig, CompactionReport, Summarizer } from "compact-context";
import { CompactError, errorMessage } from "compact-context/internal/errors";
import { openArchive } from "../archive.ts";
import { checkDestination, writeTranscript } from "../files/output.ts";
import { openFile, type Source } from "../files/source.ts";
import { commandLine, type Invocation, misuse, RESULT_FLAGS, shellWord } from "../flags.ts";
import { createProgress, type Progress } from "../ports.ts";
import { PACKAGE } from "../program.ts";
import { compactionJson, compactionView, untouchedView } from "../render/compaction.ts";
import { headline, problemLines } from "../render/headline.ts";
import { labelled, table } from "../render/table.ts";
import { formatCount, formatPercent, oneLine, paragraph, plural, safeLines } from "../render/text.ts";
import { isKeptByTool, openTranscript } from "../sessions/discovery.ts";
import { type Job, type Outcome, runJob, traceCompaction, withoutTracing } from "../sessions/job.ts";
import { type OpenedSession, readSource } from "../sessions/opened.ts";
import { earlySettings, type Settings, settingsFor } from "../settings.ts";
import type { Transcript, TranscriptFormat } from "../transcripts/transcript.ts";
import { closedMessages } from "./lint.ts";
import { chooseSession } from "./sessions.ts";

export async function compactSession(invocation: Invocation): Promise<number> {
  const [word] = invocation.words;
  if (word !== undefined) return compactSource(invocation, await openTranscript(word, invocation.ports));
  // Flags that need a transcript rule out asking for one.
  const { flags } = invocation;
  const given = (["json", "output", "target", "format"] as const).find((name) => flags[name] !== undefined);
  if (given !== undefined) {
    const hint = `Name one: compact FILE --${given} …; \`compact\` alone lists the newest sessions.`;
    throw misuse(`--${given} needs a transcript`, hint, `--${given}`);
  }
  const source = await chooseSession(invocation);
  return source === undefined ? 0 : compactSource(invocation, source);
}

async function compactSource(invocation: Invocation, source: Source): Promise<number> {
  const { flags, ports, terminal } = invocation;
  const { warn } = terminal;
  const early = earlySettings(invocation);
  const summarizer = await summarizerFor(invocation, early.config);
  const destination = await checkDestination(invocation, source);
  const progress = createProgress(ports);
  const transcript = await readSource(source, flags.format, progress);
  const settings = settingsFor(transcript, early, flags, progress);
  const messages = closedMessages(transcript, warn);
  const onLine = lineCounter(messages.length, progress);
  const archive = await openArchive(invocation, early, onLine);
  const job: Job = {
    transcript,
    messages,
    path: source.path,
    settings,
    archive,
    progress,
    ports,
    summarizer,
  };
  const outcome = await runJob(job);
  for (const failure of outcome.result.report.failures) warn(failureNote(failure));
  if (destination !== undefined) {
    const { tokensBefore } = settings;
    const left = outcome.changed ? outcome.result : { messages };
    const compacted = left.messages === transcript.messages ? undefined : { ...left, tokensBefore };
    await writeTranscript(destination, compacted, { transcript, source, ports });
    await traceCompaction(job, outcome, warn);
  } else withoutTracing(settings.config, "compact without -o", warn);
  if (flags.json === true) {
    terminal.printJson(compactionJson(transcript, outcome, { settings, output: destination?.path }));
    return 0;
  }
  if (flags.summary === true) {
    if (outcome.result.summary === undefined)
      warn("there is no summary: nothing was summarized; --target 50% would");
    else terminal.print(safeLines(outcome.result.summary.trim()));
    return 0;
  }
  const again = commandLine(["compact", source.word ?? source.name], flags, RESULT_FLAGS);
  terminal.print([
    ...headline(transcript, settings, terminal),
    ...problemLines(transcript, terminal),
    ...(outcome.changed
      ? compactionView(outcome, settings, terminal)
      : untouchedView(settings, terminal, again)),
    ...nextSteps(invocation, outcome, { transcript, settings, source, destination, again }),
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

function failureNote({ summarizer, error, fallback }: CompactionReport["failures"][number]): string {
  const instead =
    fallback === "pruning-only" ? "there is no summary" : `${fallback} wrote the summary instead`;
  return `${summarizer} did not return a summary: ${errorMessage(error)}; ${instead}`;
}

/** The summarizer of `--summarizer` or the configuration; undefined for the built-in one, which needs no client. */
async function summarizerFor(
  { flags, ports }: Invocation,
  config: CompactConfig,
): Promise<Summarizer | undefined> {
  const deadlineMs = deadlineOf(flags.deadline);
  const named: string = flags.summarizer ?? config.summarizer.kind;
  if (named === "builtin") return undefined;
  const { summarizerNamed } = await import("../summarizer.ts");
  return summarizerNamed(named, { config, env: ports.env, deadlineMs });
}

function deadlineOf(flag: string | undefined): number | undefined {
  if (flag === undefined) return undefined;
  const seconds = Number(flag);
  if (Number.isFinite(seconds) && seconds > 0) return seconds * 1000;
  const hint = "Give the time limit of the summary in seconds, such as --deadline 30.";
  throw misuse(`--deadline ${flag} is not a number of seconds`, hint, "--deadline");
}

/** The command of each tool that resumes a session in its own folder. */
const RESUME: Readonly<Partial<Record<TranscriptFormat, (id: string, path: string) => readonly string[]>>> = {
  "claude-code": (id) => ["claude", "--resume", id],
  codex: (id) => ["codex", "resume", id],
  pi: (_, path) => ["pi", "--session", path],
  "copilot-cli": (id) => ["copilot", "--resume", id],
};

/** Where the results are, and the commands for what comes next. */
function nextSteps(
  { ports, terminal, flags }: Invocation,
  { result, sessionId, changed }: Outcome,
  { transcript, settings, source, destination, again }: Omit<OpenedSession, "progress"> & { again: string },
): string[] {
  const line = (name: string, text: string): string[] => labelled(name, text, 9, terminal);
  const command = (text: string): string => `${" ".repeat(11)}${terminal.paint("faint", text)}`;
  const { archive } = result.report;
  const lines: string[] = [];
  if (archive !== undefined && changed) {
    lines.push(
      ...line("Archive", `every original is in ${oneLine(shortPath(archive.location, ports.cwd))}`),
      command(commandLine(["compact", "archive", "show", sessionId], flags, ["config", "archive"])),
    );
  }
  if (changed && result.summary !== undefined) {
    lines.push(...line("Summary", "in full:"), command(`${again} --summary`));
  }
  if (destination !== undefined) {
    const same = !changed && destination.isInput ? " (unchanged)" : "";
    const size = changed ? fileSizeNote(result.report.tokensAfter, settings) : "";
    lines.push(...line("Written", `${oneLine(destination.name)}${same}${size}`));
  } else if (changed) {
    lines.push(...line("Output", "nothing is written yet; to keep the result:"), command(`${again} -o FILE`));
  }
  if (changed) lines.push(...resumeLines());
  return [...lines, ""];

  /** The tool reads only the original file, so a result must be written there first. */
  function resumeLines(): string[] {
    const resume = resumeLine(transcript, source.path, ports.cwd);
    if (resume === undefined || source.path === undefined || !isKeptByTool(source.path, ports)) return [];
    if (destination?.isInput === true) return [...line("Resume", "in the original tool:"), command(resume)];
    const place = shellWord(shortPath(source.path, ports.cwd));
    return [
      ...line("Resume", "in the original tool, after closing the session there:"),
      command(`${again} -o ${place} --force`),
      command(resume),
    ];
  }
}

/** The tokens in the file, if its agent adds others to each call. */
function fileSizeNote(tokensAfter: number, { unseenTokens }: Settings): string {
  if (unseenTokens === 0) return "";
  return `, with ${formatCount(tokensAfter - unseenTokens)} of the ${formatCount(tokensAfter)} tokens: the other ${formatCount(unseenTokens)} (system prompt, tools) are not in its file; the agent adds them to each call`;
}

/** The command that resumes a session in its tool and folder; undefined if there is none. */
function resumeLine(
  { format, sessionId, cwd }: Transcript,
  path: string | undefined,
  here: string,
): string | undefined {
  const words = sessionId === undefined ? undefined : RESUME[format]?.(sessionId, path ?? "");
  if (words === undefined) return undefined;
  const line = words.map(shellWord).join(" ");
  return cwd === undefined || cwd === here ? line : `cd ${shellWord(cwd)} && ${line}`;
}

/** Relative to the working folder for a path below it. */
function shortPath(path: string, cwd: string): string {
  const near = relative(cwd, path);
  return near.startsWith("..") || near === "" ? path : near;
}

// ---- demo

/** Size of the session relative to the demo's window. */
const OVERFLOW = 1.25;
const ROUND_TO = 1000;
/** Low enough to need a summary. */
const TARGET = "12.5%";
const KEPT_MS = 3_600_000;
const PREFIX = "compact-demo-";
/** Names that `mkdtemp` makes from the prefix. */
const FOLDER = /^compact-demo-[A-Za-z0-9]{6}$/;

export async function runDemo({ flags, ports, terminal }: Invocation): Promise<number> {
  const source = await demoSource();
  const progress = createProgress(ports);
  const transcript = await readSource(source, undefined, progress);
  const early = earlySettings({ flags, ports: { cwd: tmpdir(), env: {} }, terminal });
  const { messages } = transcript;
  const { tokensBefore } = settingsFor(transcript, early, {});
  const window = early.window ?? Math.ceil(tokensBefore / OVERFLOW / ROUND_TO) * ROUND_TO;
  const settings = settingsFor(transcript, { ...early, window }, { target: TARGET, ...flags });
  await removeOldFolders(ports.now());
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  const archive = await openArchive({ flags: { archive: folder }, ports, terminal }, early);
  const outcome = await runJob({ transcript, messages, path: undefined, settings, archive, progress, ports });
  if (flags.json === true) {
    terminal.printJson(compactionJson(transcript, outcome, { settings, output: undefined }));
    return 0;
  }
  const { report } = outcome.result;
  const text = (content: string): string[] => paragraph(content, terminal.width);
  terminal.print([
    "",
    ...text(
      `An agent worked until its window of ${formatCount(window)} tokens was full: the session below has ${formatCount(tokensBefore)}, so the next call would be refused. Compact archives every message, keeps what the agent needs next, clears old tool output and summarizes the rest, here without any model.`,
    ),
    ...headline(transcript, settings, terminal),
    ...compactionView(outcome, settings, terminal),
    ...text(
      `The request, the newest steps and the system prompt stay as they were, ${formatPercent(report.tokensBefore - report.tokensAfter, report.tokensBefore)} of the tokens are free again, and all ${plural(report.messagesBefore, "message")} are in the archive:`,
    ),
    `  ${oneLine(report.archive?.location ?? folder)}`,
    "",
    `  ${terminal.paint("strong", "Next")}`,
    ...table(
      [
        ["compact", "lists the newest agent sessions on this computer"],
        ["compact FILE", "compacts one of your transcripts"],
        ["compact replay FILE", "plays it call by call"],
      ],
      ["left", "wrapped"],
      terminal,
      4,
    ),
    `    compact archive show --archive ${oneLine(folder)}`,
    "",
    ...text("In a checkout of the project, compact is: npx compact"),
    "",
  ]);
  return 0;
}

/** Removes this user's demo folders of more than an hour ago; another demo may be running. */
async function removeOldFolders(now: Date): Promise<void> {
  const user = process.getuid?.();
  const names = (await readdir(tmpdir())).filter((name) => FOLDER.test(name));
  for (const path of names.map((name) => join(tmpdir(), name))) {
    const stats = await lstat(path).catch(() => undefined);
    if (stats === undefined || now.getTime() - stats.mtimeMs < KEPT_MS) continue;
    const isOwn = stats.isDirectory() && (user === undefined || stats.uid === user);
    // Another process may use it or have removed it.
    if (isOwn) await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** The sample session in the package. */
async function demoSource(): Promise<Source> {
  const path = fileURLToPath(new URL("demo/session.json", PACKAGE));
  try {
    return { ...(await openFile(path, "/")), name: "demo/session.json" };
  } catch (error) {
    throw new CompactError("NotFound", "the sample session is missing from this installation", {
      place: "demo/session.json",
      hint: "Install the package again, or run compact on your own transcript.",
      cause: error,
    });
  }
}
