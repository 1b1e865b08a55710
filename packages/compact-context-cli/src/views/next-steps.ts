import { relative } from "node:path";
import type { Invocation } from "../command.ts";
import type { Destination } from "../files/output.ts";
import type { Source } from "../files/source.ts";
import { commandLine, DECIDING, shellWord } from "../flags.ts";
import type { Outcome } from "../job.ts";
import { oneLine } from "../render/safe.ts";
import { wrap } from "../render/width.ts";
import { isKeptByTool } from "../sessions/tools.ts";
import type { Transcript, TranscriptFormat } from "../transcripts/transcript.ts";

interface Told {
  readonly transcript: Transcript;
  readonly source: Source;
  readonly destination: Destination | undefined;
}

/** How each tool goes on with a session that lies where the tool keeps it. */
const RESUME: Readonly<Partial<Record<TranscriptFormat, (id: string, path: string) => readonly string[]>>> = {
  "claude-code": (id) => ["claude", "--resume", id],
  codex: (id) => ["codex", "resume", id],
  pi: (_, path) => ["pi", "--session", path],
  "copilot-cli": (id) => ["copilot", "--resume", id],
};

/** Where everything is now, and what to type next. */
export function nextSteps(
  { ports, terminal, flags }: Invocation,
  { result, sessionId, changed }: Outcome,
  { transcript, source, destination }: Told,
): string[] {
  const label = (text: string): string => `  ${terminal.paint("strong", text.padEnd(9))}`;
  const said = (name: string, text: string): string[] =>
    wrap(text, terminal.width - 13).map((line, index) => `${label(index === 0 ? name : "")}${line}`);
  const command = (text: string): string => `${label("")}${terminal.paint("faint", text)}`;
  const again = commandLine(["compact", source.word ?? source.name], flags, DECIDING);
  const { archive } = result.report;
  const lines: string[] = [];
  if (archive !== undefined && changed) {
    lines.push(
      ...said("Archive", `every original is in ${oneLine(shortPath(archive.location, ports.cwd))}`),
      command(commandLine(["compact", "archive", "show", sessionId], flags, ["config", "archive"])),
    );
  }
  if (changed && result.summary !== undefined) {
    lines.push(...said("Summary", "the whole of it:"), command(`${again} --summary`));
  }
  if (destination !== undefined) {
    const same = !changed && destination.isInput ? " (unchanged)" : "";
    lines.push(...said("Written", `${oneLine(destination.name)}${same}`));
  } else if (changed) {
    lines.push(...said("Output", "nothing is written yet; to keep the result:"), command(`${again} -o FILE`));
  }
  if (changed) lines.push(...resumeLines());
  return [...lines, ""];

  /** The tool reads its session where it lay: written elsewhere, it must be put there first. */
  function resumeLines(): string[] {
    const resume = resumeLine(transcript, source.path, ports.cwd);
    if (resume === undefined || source.path === undefined || !isKeptByTool(source.path, ports)) return [];
    if (destination?.isInput === true)
      return [...said("Go on", "in the tool that it came from:"), command(resume)];
    const place = shellWord(shortPath(source.path, ports.cwd));
    return [
      ...said("Go on", "in the tool that it came from, once it has ended the session:"),
      command(`${again} -o ${place} --force`),
      command(resume),
    ];
  }
}

/** The command that resumes a session in its tool, in the folder of the session; undefined where there is none. */
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

/** From the working folder where the path lies below it. */
function shortPath(path: string, cwd: string): string {
  const near = relative(cwd, path);
  return near.startsWith("..") || near === "" ? path : near;
}
