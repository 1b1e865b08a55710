import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { planCompaction } from "compact-context";
import { CompactError } from "compact-context/internal/errors";
import { openArchive } from "../archive.ts";
import { openFile } from "../files/source.ts";
import type { Invocation } from "../flags.ts";
import { createProgress } from "../ports.ts";
import { PACKAGE } from "../program.ts";
import { compactionJson, compactionView } from "../render/compaction.ts";
import { headline } from "../render/headline.ts";
import { table } from "../render/table.ts";
import { formatCount, formatPercent, oneLine, paragraph, plural } from "../render/text.ts";
import { requestOf, runJob } from "../sessions/job.ts";
import { readSource } from "../sessions/opened.ts";
import { earlySettings, type Settings, settingsFor } from "../settings.ts";
import type { Transcript } from "../transcripts/transcript.ts";

/** Size of the session relative to the demo's window. */
const OVERFLOW = 1.25;
const ROUND_TO = 1000;
/** Low enough to need a summary. */
const TARGET = "25%";
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
  const settings = withSummary(
    transcript,
    settingsFor(transcript, { ...early, window }, { target: TARGET, ...flags }),
  );
  await removeOldFolders(ports.now());
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  const archive = openArchive({ flags: { archive: folder }, ports, terminal }, early);
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

/** The settings with a target so low that clearing tool output is not enough, so that the demo shows a summary. */
function withSummary(transcript: Transcript, settings: Settings): Settings {
  let lower = settings;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const plan = planCompaction(transcript.messages, requestOf(transcript, lower));
    if (plan.entries.some((entry) => entry.action === "summarize")) return lower;
    lower = { ...lower, target: Math.ceil(lower.target / 2), targetIsDefault: false };
  }
  return lower;
}

/** The sample session in the package. */
async function demoSource(): Promise<Awaited<ReturnType<typeof openFile>>> {
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
