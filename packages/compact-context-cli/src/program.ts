import { readFileSync } from "node:fs";
import { Argument, CommanderError, Help, Option, Command as Parser } from "commander";
import { CompactError, closest } from "compact-context/internal/errors";
import type { Command } from "./flags.ts";
import { FLAGS, type FlagName, type FlagSpec, type Flags } from "./flags.ts";
import type { Terminal } from "./ports.ts";
import { paragraph } from "./render/text.ts";

// The command line: from words to a command with its flags, and the texts of help.

/** What a command line asks for: a text, or a command with its words and flags. */
export type Asked =
  | { readonly text: string }
  | {
      readonly load: NonNullable<Command["load"]>;
      /** The command's name behind `compact`: `archive show`; empty for the main job. */
      readonly path: string;
      readonly words: readonly string[];
      readonly flags: Flags;
    };

/** The package's folder: its sources, and the program made of them, lie one folder below it. */
export const PACKAGE: URL = new URL("../", import.meta.url);

/** `compact-context-cli 1.2.3`, from the package's own description. */
export function versionText(): string {
  const text = readFileSync(new URL("package.json", PACKAGE), "utf8");
  const { name, version } = JSON.parse(text) as { readonly name: string; readonly version: string };
  return `${name} ${version}`;
}

/**
 * Reads the words behind `compact` by the table of commands, whose root stands for `compact` itself. Throws
 * `InvalidUsage` for a command or flag that is not known, a flag without its value, too many or too few words.
 */
export function readCommandLine(argv: readonly string[], root: Command, layout: Layout): Asked {
  const [first = ""] = argv;
  if (["--version", "-V", "-v", "version"].includes(first)) return { text: versionText() };
  const helped = helpedBy(argv, root);
  if (helped !== undefined) checkNames(helped, root.actions ?? []);
  const reading: Reading = { argv, layout, text: "", asked: undefined };
  const parser = parserOf(root, {}, reading);
  try {
    parser.parse(helped === undefined ? argv : [...helped, "--help"], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
  }
  return reading.asked ?? { text: reading.text.trimEnd() };
}

/** The name of the command above all others. */
const ROOT = "compact";

/** What stands above a command. */
interface Above {
  readonly path?: string;
  readonly isRoot?: boolean;
  /** The names of all commands that stand where this one does. */
  readonly names?: readonly string[];
}

type Layout = Pick<Terminal, "width" | "paint">;

interface Reading {
  readonly argv: readonly string[];
  readonly layout: Layout;
  /** What help prints. */
  text: string;
  asked: Asked | undefined;
}

/** The parser of a command and of all below it. */
function parserOf(command: Command, above: Above, reading: Reading): Parser {
  const path = [above.path, above.isRoot === true && command.isDefault === true ? "" : command.name]
    .filter((name) => name !== "" && name !== ROOT)
    .join(" ");
  const names = command.isDefault === true ? (above.names ?? []) : [];
  const parser = new Parser(command.name)
    .usage(usageOf(command))
    .summary(command.summary)
    .description(command.summary)
    .helpOption("-h, --help", FLAGS.help.help)
    .helpCommand(false)
    .enablePositionalOptions()
    .passThroughOptions(command.passesThrough === true)
    .configureOutput({
      writeOut: (text) => {
        reading.text += text;
      },
      writeErr: () => undefined,
    })
    .configureHelp(helpOf(command, reading.layout))
    .addHelpText("after", () => notesOf(command, reading.layout));
  parser.exitOverride((error) => {
    if (error.code.startsWith("commander.help")) throw error;
    throw usageError(error, { command, path, names, parser }, reading.argv);
  });
  for (const word of command.words?.split(" ") ?? []) parser.addArgument(new Argument(word));
  for (const name of command.flags ?? []) parser.addOption(optionOf(name, command, reading.argv));
  const isRoot = command.name === ROOT && above.path === undefined;
  const below: Above = { path: isRoot ? "" : path, isRoot, names: command.actions?.map(({ name }) => name) };
  for (const action of command.actions ?? []) {
    const isDefault = action.isDefault === true;
    parser.addCommand(parserOf(action, below, reading), { isDefault, hidden: isRoot && isDefault });
  }
  const { load } = command;
  if (load !== undefined) {
    parser.action(() => {
      reading.asked = { load, path, words: parser.args, flags: flagsOf(parser) };
    });
  }
  return parser;
}

function optionOf(name: FlagName, command: Command, argv: readonly string[]): Option {
  const spec: FlagSpec = FLAGS[name];
  const short = spec.short === undefined ? "" : `-${spec.short}, `;
  const value = spec.value === undefined ? "" : ` <${spec.value}>`;
  const option = new Option(`${short}--${name}${value}`, command.flagHelp?.[name] ?? spec.help);
  if (spec.value === undefined) return option;
  return option.argParser((given: string, earlier: string | undefined) => {
    const isInline = argv.includes(`--${name}=${given}`) || argv.includes(`-${spec.short}${given}`);
    const flag = (isInline ? undefined : argv[argv.lastIndexOf(given) - 1]) ?? `--${name}`;
    if (given === "") throw noValue(flag, spec);
    if (name === "output" && given === "-") throw noOutput();
    if (given.startsWith("-") && !isInline) throw flagForValue(flag, name, given);
    if (earlier !== undefined && earlier !== given) throw twice(flag);
    return given;
  });
}

function flagsOf(parser: Parser): Flags {
  const given = parser.options.map((option) => [
    option.name(),
    parser.getOptionValue(option.attributeName()),
  ]);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as Flags;
}

// ---- help

/** Commander's own help, laid out for the terminal; a command shows the flags of what it runs by default too. */
function helpOf(command: Command, { width, paint }: Layout): Partial<Help> {
  const plain = new Help();
  const usual = command.actions?.find(({ isDefault }) => isDefault === true);
  return {
    helpWidth: width,
    minWidthToWrap: 20,
    visibleOptions: (parser) => [
      ...(parser.commands.find((below) => below.name() === usual?.name)?.options ?? []),
      ...plain.visibleOptions(parser),
    ],
    subcommandTerm: (parser) => parser.name(),
    styleTitle: (text) => paint("strong", text),
    styleCommandText: (text) => paint("strong", text),
  };
}

function usageOf({ actions, words = "" }: Command): string {
  const usual = actions?.find(({ isDefault }) => isDefault === true);
  const others = actions === undefined ? [] : ["[command]"];
  return [...others, usual?.words ?? words, "[options]"].filter((word) => word !== "").join(" ");
}

function notesOf(command: Command, layout: Layout): string {
  const { notes = [], examples } = command;
  const lines = [
    ...notes.flatMap((note) => ["", ...paragraph(note, layout.width)]),
    ...["", layout.paint("strong", "Examples:"), ...examples.map((example) => `  ${example}`)],
  ];
  return `${lines.join("\n")}\n`;
}

// ---- wrong use

interface Place {
  readonly command: Command;
  readonly path: string;
  /** The commands beside one that runs by default. */
  readonly names: readonly string[];
  readonly parser: Parser;
}

function wrong(problem: string, hint: string): CompactError {
  return new CompactError("InvalidUsage", problem, { hint });
}

/** What commander refuses, in our words. */
function usageError(error: CommanderError, place: Place, argv: readonly string[]): CompactError {
  const { command, path } = place;
  const quoted = /'([\s\S]*?)'(?:\n|$| )/.exec(error.message)?.[1] ?? "";
  const called = ["compact", path].join(" ").trim();
  if (error.code === "commander.unknownOption") return unknownFlag(quoted, command.flags ?? []);
  if (error.code === "commander.optionMissingArgument") {
    const name = /--([a-z-]+)/.exec(error.message)?.[1] as FlagName;
    return noValue(argv.at(-1) ?? `--${name}`, FLAGS[name]);
  }
  if (error.code === "commander.excessArguments") return tooMany(place);
  if (error.code === "commander.missingArgument") {
    return wrong(
      `${called} needs ${/^[aeiou]/.test(quoted) ? "an" : "a"} ${quoted}`,
      `Such as: ${command.examples[0] ?? called}. ${called} --help says more.`,
    );
  }
  return new CompactError("InvalidUsage", error.message.replace(/^error: /, ""), {
    hint: `${called} --help lists what there is.`,
  });
}

function noValue(given: string, spec: FlagSpec): CompactError {
  return wrong(`${given} needs a value`, `Write ${given} ${spec.value}: ${spec.help}.`);
}

/** Elsewhere - is a standard stream. */
function noOutput(): CompactError {
  return wrong(
    "-o - names no file: results are not written to standard output",
    "Name a file: -o FILE. One that is called - is ./-",
  );
}

/** Whoever writes `-o --json` forgot the file: nobody means one of that name. */
function flagForValue(given: string, name: FlagName, value: string): CompactError {
  const spec: FlagSpec = FLAGS[name];
  return wrong(
    `${given} needs a value, and ${value} begins with a dash`,
    `Write ${given} ${spec.value}; where the value does begin with a dash, --${name}=${value}.`,
  );
}

function unknownFlag(given: string, names: readonly FlagName[]): CompactError {
  const taken: readonly FlagName[] = [...names, "help"];
  const [word = ""] = given.split("=");
  const switched = taken.find((name) => `--${name}` === word);
  if (switched !== undefined) {
    return wrong(`${word} takes no value`, `Write ${word} alone.`);
  }
  const near = closest(word.replace(/^-+/, ""), taken);
  const isElsewhere = Object.entries<FlagSpec>(FLAGS).some(
    ([name, { short }]) => word === `--${name}` || word === `-${short}`,
  );
  const problem = isElsewhere ? "is no flag of this command" : "is no flag";
  return wrong(
    `${word} ${problem}`,
    `${near === undefined ? "" : `Did you mean --${near}? `}Taken here: ${taken.map((name) => `--${name}`).join(" ")}.`,
  );
}

function twice(flag: string): CompactError {
  return wrong(`${flag} is given twice with different values`, "Give it once.");
}

/** A word too many behind a command that runs by default was meant as a command itself. */
function tooMany({ command, path, names, parser }: Place): CompactError {
  const words = parser.args;
  const [first = ""] = words;
  const most = command.words?.split(" ").length ?? 0;
  if (names.length > 0 && !/[./\\]/.test(first)) return noCommand(first, path, names);
  return wrong(
    `${words[most] ?? ""} is one word too many`,
    `Usage: ${["compact", path, command.words].filter(Boolean).join(" ")}`,
  );
}

/** The command that help is asked about: `help NAME`, `--help NAME`, and `GROUP help` where that names no action. */
function helpedBy(argv: readonly string[], root: Command): readonly string[] | undefined {
  const [first = "", second] = argv;
  const isGroup = root.actions?.some(({ name, actions }) => name === first && actions !== undefined);
  const asks = ["help", "--help", "-h"].includes(first) || (second === "help" && isGroup === true);
  return asks ? argv.filter((word) => word !== "help" && !word.startsWith("-")) : undefined;
}

/** `compact help` of something that is there. */
function checkNames(names: readonly string[], commands: readonly Command[], above = ""): void {
  const [first, ...rest] = names;
  if (first === undefined) return;
  const command = commands.find(({ name }) => name === first);
  const known = commands.map(({ name }) => name);
  if (command === undefined) throw noCommand(first, above, known);
  checkNames(rest, command.actions ?? [], first);
}

/** There is no such command; it names the one that was perhaps meant. */
function noCommand(word: string, above: string, names: readonly string[]): CompactError {
  const near = closest(word, above === "" ? [...names, "help"] : names);
  const group = [ROOT, ...above.split(" ").slice(0, 1)].filter(Boolean).join(" ");
  return new CompactError(
    "InvalidUsage",
    `there is no command ${`${group} ${word}`.slice(ROOT.length + 1)}`,
    {
      hint: `${near === undefined ? "" : `Did you mean ${group} ${near}? `}${group} --help lists the commands.`,
    },
  );
}
