import { readFile } from "node:fs/promises";
import type { Command } from "./command.ts";
import { FLAGS, type FlagSpec } from "./flags.ts";
import { padEnd, paragraph, wrap } from "./render/width.ts";
import type { Terminal } from "./terminal.ts";
import { TRANSCRIPT_FORMATS } from "./transcripts/formats.ts";

/** `compact-context-cli 1.2.3`, from the package's own description. */
export async function versionText(): Promise<string> {
  const text = await readFile(new URL("../package.json", import.meta.url), "utf8");
  const { name, version } = JSON.parse(text) as { readonly name: string; readonly version: string };
  return `${name} ${version}`;
}

/** What `compact help` prints. */
export function generalHelp(
  main: Command,
  commands: Readonly<Record<string, Command>>,
  terminal: Terminal,
): string[] {
  const usages = [
    ["compact", "the newest agent sessions on this computer, to choose from"],
    [`compact ${main.usage}`, main.summary],
    ...Object.entries(commands).map(([name, command]) => [
      `compact ${name} ${command.usage}`,
      command.summary,
    ]),
    ["compact help [command]", "this text, or a command's own"],
    ["compact --version", ""],
  ];
  return [
    "",
    terminal.paint(
      "strong",
      "  compact: fits a long agent session into its context window, and loses nothing",
    ),
    "",
    ...usages.flatMap(([usage = "", summary = ""]) => entry(usage, summary, terminal)),
    "",
    terminal.paint("strong", "  Flags of the main job"),
    ...flagLines(main, terminal),
    "",
    ...noteLines(main, terminal),
    ...paragraph(`Reads and writes: ${TRANSCRIPT_FORMATS.join(", ")}.`, terminal.width),
    ...paragraph("Exit codes: 0 done, 1 the work failed, 2 wrong use.", terminal.width),
    "",
  ];
}

/** What `compact help <command>` prints. */
export function commandHelp(name: string, command: Command, terminal: Terminal): string[] {
  const words = ["compact", name, command.usage].filter((word) => word !== "");
  return [
    "",
    `  ${terminal.paint("strong", words.join(" "))}`,
    ...paragraph(command.summary, terminal.width),
    "",
    ...flagLines(command, terminal),
    ...(command.notes === undefined ? [] : ["", ...noteLines(command, terminal)]),
    "",
  ];
}

function noteLines({ notes = [] }: Command, terminal: Terminal): string[] {
  return notes.flatMap((note) => paragraph(note, terminal.width));
}

const LEFT = 28;

function entry(left: string, right: string, terminal: Terminal): string[] {
  const lines = right === "" ? [""] : wrap(right, terminal.width - LEFT - 4);
  const [first = "", ...rest] = lines;
  const fits = left.length <= LEFT;
  const start = fits
    ? [`  ${padEnd(left, LEFT)}  ${first}`]
    : [`  ${left}`, `  ${" ".repeat(LEFT)}  ${first}`];
  return [...start, ...rest.map((line) => `  ${" ".repeat(LEFT)}  ${line}`)].map((line) => line.trimEnd());
}

function flagLines({ flags, flagHelp }: Command, terminal: Terminal): string[] {
  return flags.flatMap((name) => {
    const spec: FlagSpec = FLAGS[name];
    const short = spec.short === undefined ? "" : `-${spec.short}, `;
    const value = spec.value === undefined ? "" : ` ${spec.value}`;
    return entry(`${short}--${name}${value}`, flagHelp?.[name] ?? spec.help, terminal);
  });
}
