import { readFileSync } from "node:fs";
import { Argument, CommanderError, Help, Option, Command as Parser } from "commander";
import { type CompactError, closest } from "compact-context/internal/errors";
import {
  type Command,
  didYouMean,
  FLAGS,
  type FlagName,
  type FlagSpec,
  type Flags,
  misuse,
} from "./flags.ts";
import type { Terminal } from "./ports.ts";
import { paragraph } from "./render/text.ts";

// Parses the command line into a command with its flags, and renders help.

/** A parsed command line: a text to print, or a command with its arguments and flags. */
export type ParsedLine =
  | { readonly text: string }
  | {
      readonly load: NonNullable<Command["load"]>;
      /** Full name of the command without `compact`, such as `archive show`; empty for the main command. */
      readonly path: string;
      readonly words: readonly string[];
      readonly flags: Flags;
    };

/** The package's folder, one above both the sources and the built program. */
export const PACKAGE: URL = new URL("../", import.meta.url);

/** Name and version from package.json, such as `compact-context-cli 1.2.3`. */
export function versionText(): string {
  const text = readFileSync(new URL("package.json", PACKAGE), "utf8");
  const { name, version } = JSON.parse(text) as { readonly name: string; readonly version: string };
  return `${name} ${version}`;
}

/**
 * Parses the arguments of `compact`; `root` defines the commands. Throws `InvalidUsage` for an unknown command or flag,
 * a flag without its value, and a wrong number of arguments.
 */
export function readCommandLine(argv: readonly string[], root: Command, layout: Layout): ParsedLine {
  const [first = ""] = argv;
  if (["--version", "-V", "-v", "version"].includes(first)) return { text: versionText() };
  const topic = helpTopic(argv, root);
  const asksHelp = argv.includes("--help") || argv.includes("-h");
  if (topic !== undefined || asksHelp) checkNames(topic ?? namesIn(argv, root), root.actions ?? []);
  const state: ParseState = { argv, layout, helpText: "", command: undefined };
  const parser = parserOf(root, state);
  try {
    const words = argv.includes("--") ? withDefault(argv, root) : argv;
    parser.parse(topic === undefined ? words : [...topic, "--help"], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
  }
  return state.command ?? { text: state.helpText.trimEnd() };
}

/** With the name of the default command where none is named, so that no word behind `--` is read as one. */
function withDefault(argv: readonly string[], group: Command): readonly string[] {
  const [word = "", ...rest] = argv;
  const named = group.actions?.find(({ name }) => name === word);
  if (named !== undefined) return [word, ...withDefault(rest, named)];
  const fallback = defaultOf(group);
  return fallback === undefined ? argv : [fallback.name, ...argv];
}

/** Name of the root command. */
const ROOT = "compact";

/** The command above others. */
interface Group {
  /** Empty for the root. */
  readonly path: string;
  /** Names of all its subcommands. */
  readonly names: readonly string[];
}

type Layout = Pick<Terminal, "width" | "paint">;

interface ParseState {
  readonly argv: readonly string[];
  readonly layout: Layout;
  helpText: string;
  command: ParsedLine | undefined;
}

/** The parser of a command and its subcommands; only the root has no group. */
function parserOf(command: Command, state: ParseState, group?: Group): Parser {
  const isMain = group?.path === "" && command.isDefault === true;
  const path = group === undefined || isMain ? "" : `${group.path} ${command.name}`.trim();
  const names = command.isDefault === true ? (group?.names ?? []) : [];
  // A group without a default command shows its help as an error.
  const show = (text: string): void => {
    state.helpText += text;
  };
  const parser = new Parser(command.name)
    .usage(usageOf(command))
    .summary(command.summary)
    .description(`${command.summary.slice(0, 1).toUpperCase()}${command.summary.slice(1)}.`)
    .helpOption("-h, --help", FLAGS.help.help)
    .helpCommand(false)
    .enablePositionalOptions()
    .passThroughOptions(command.passesThrough === true)
    .configureOutput({ writeOut: show, writeErr: show })
    .configureHelp(helpOf(command, state.layout))
    .addHelpText("after", () => notesOf(command, state.layout));
  parser.exitOverride((error) => {
    if (error.code.startsWith("commander.help")) throw error;
    throw usageError(error, { command, path, names, parser }, state.argv);
  });
  for (const word of command.words?.split(" ") ?? []) parser.addArgument(new Argument(word));
  for (const name of command.flags ?? []) parser.addOption(optionOf(name, command, state.argv));
  const { actions = [], load } = command;
  const self: Group = { path, names: actions.map(({ name }) => name) };
  for (const action of actions) {
    const isDefault = action.isDefault === true;
    const hidden = group === undefined && isDefault;
    parser.addCommand(parserOf(action, state, self), { isDefault, hidden });
  }
  if (load !== undefined) {
    parser.action(() => {
      state.command = { load, path, words: parser.args, flags: flagsOf(parser) };
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
    if (name === "output" && given === "-") {
      throw misuse(
        "-o - is not a file: results are not written to standard output",
        "Name a file: -o FILE. One that is called - is ./-",
      );
    }
    if (given.startsWith("-") && !isInline) throw flagForValue(flag, name, given);
    if (earlier !== undefined && earlier !== given) {
      throw misuse(`${flag} is given twice with different values`, "Give it once.");
    }
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

/** The width from which a name and its help stand on one line. */
const SIDE_BY_SIDE = 60;

/** Commander's help, laid out for the terminal. It includes the flags of the default subcommand. */
function helpOf(command: Command, { width, paint }: Layout): Partial<Help> {
  const plain = new Help();
  const fallback = defaultOf(command);
  return {
    helpWidth: width,
    minWidthToWrap: 20,
    visibleOptions: (parser) => [
      ...(parser.commands.find((below) => below.name() === fallback?.name)?.options ?? []),
      ...plain.visibleOptions(parser),
    ],
    subcommandTerm: (parser) => parser.name(),
    formatItem:
      width < SIDE_BY_SIDE
        ? (term, _, text) => [`  ${term}`, ...paragraph(text, width, 6)].join("\n")
        : plain.formatItem,
    styleTitle: (text) => paint("strong", text),
    styleCommandText: (text) => paint("strong", text),
  };
}

function usageOf(command: Command): string {
  const others = command.actions === undefined ? undefined : "[command]";
  return [others, (defaultOf(command) ?? command).words, "[options]"].filter(Boolean).join(" ");
}

function defaultOf({ actions }: Command): Command | undefined {
  return actions?.find(({ isDefault }) => isDefault === true);
}

function notesOf(command: Command, layout: Layout): string {
  const { notes = [], examples } = command;
  const lines = [
    ...notes.flatMap((note) => ["", ...paragraph(note, layout.width)]),
    ...["", layout.paint("strong", "Examples:"), ...examples.map((example) => `  ${example}`)],
  ];
  return `${lines.join("\n")}\n`;
}

// ---- usage errors

interface Place {
  readonly command: Command;
  readonly path: string;
  /** Names of the sibling commands, for a default command. */
  readonly names: readonly string[];
  readonly parser: Parser;
}

/** Translates an error of commander. */
function usageError(error: CommanderError, place: Place, argv: readonly string[]): CompactError {
  const { command, path } = place;
  const quoted = /'([\s\S]*?)'(?:\n|$| )/.exec(error.message)?.[1] ?? "";
  const name = ["compact", path].join(" ").trim();
  if (error.code === "commander.unknownOption") return unknownFlag(quoted, command.flags ?? []);
  if (error.code === "commander.optionMissingArgument") {
    const flag = /--([a-z-]+)/.exec(error.message)?.[1] as FlagName;
    return noValue(argv.at(-1) ?? `--${flag}`, FLAGS[flag]);
  }
  if (error.code === "commander.excessArguments") return tooMany(place);
  if (error.code === "commander.unknownCommand")
    return noCommand(
      quoted,
      path,
      (command.actions ?? []).map((action) => action.name),
    );
  if (error.code === "commander.missingArgument") {
    return misuse(
      `${name} needs ${/^[aeiou]/.test(quoted) ? "an" : "a"} ${quoted.replace("-", " ")}`,
      `Such as: ${command.examples[0] ?? name}. See ${name} --help.`,
    );
  }
  return misuse(error.message.replace(/^error: /, ""), `See ${name} --help.`);
}

function noValue(given: string, spec: FlagSpec): CompactError {
  return misuse(`${given} needs a value`, `Write ${given} ${spec.value}: ${spec.help}.`);
}

/** In `-o --json` the value is missing: no file has such a name. */
function flagForValue(given: string, name: FlagName, value: string): CompactError {
  const spec: FlagSpec = FLAGS[name];
  return misuse(
    `${given} needs a value, and ${value} starts with a dash`,
    `Write ${given} ${spec.value}; for a value with a dash, --${name}=${value}.`,
  );
}

function unknownFlag(given: string, names: readonly FlagName[]): CompactError {
  const taken: readonly FlagName[] = [...names, "help"];
  const [word = ""] = given.split("=");
  if (taken.some((name) => `--${name}` === word)) {
    return misuse(`${word} takes no value`, `Write ${word} alone.`);
  }
  const bare = word.replace(/^-+/, "");
  const longer = taken.filter((name) => bare.length > 1 && name.startsWith(bare));
  const near = closest(bare, taken) ?? (longer.length === 1 ? longer[0] : undefined);
  const isElsewhere = Object.entries<FlagSpec>(FLAGS).some(
    ([name, { short }]) => word === `--${name}` || word === `-${short}`,
  );
  const problem = isElsewhere ? "is not a flag of this command" : "is not a flag";
  return misuse(
    `${word} ${problem}`,
    `${near === undefined ? "" : `Did you mean --${near}? `}Taken here: ${taken.map((name) => `--${name}`).join(" ")}.`,
  );
}

/** A surplus argument of a default command was probably meant as a command. */
function tooMany({ command, path, names, parser }: Place): CompactError {
  const words = parser.args;
  const [first = ""] = words;
  const most = command.words?.split(" ").length ?? 0;
  if (names.length > 0 && !/[./\\]/.test(first)) return noCommand(first, path, names);
  return misuse(
    `${words[most] ?? ""} is one argument too many`,
    `Usage: ${["compact", path, command.words].filter(Boolean).join(" ")}`,
  );
}

/** The command that help is requested for: `help NAME`, `--help NAME` or `GROUP help`; undefined without such a request. */
function helpTopic(argv: readonly string[], root: Command): readonly string[] | undefined {
  const [first = "", second] = argv;
  const isGroup = root.actions?.some(({ name, actions }) => name === first && actions !== undefined);
  const isHelp = ["help", "--help", "-h"].includes(first) || (second === "help" && isGroup === true);
  return isHelp ? argv.filter((word) => word !== "help" && !word.startsWith("-")) : undefined;
}

/** The words at the start of a command line that can only be names of commands. */
function namesIn(argv: readonly string[], root: Command): string[] {
  const names: string[] = [];
  let { actions } = root;
  for (const word of argv) {
    if (actions === undefined || !/^[a-z]+$/.test(word)) break;
    names.push(word);
    actions = actions.find(({ name }) => name === word)?.actions;
  }
  return names;
}

/** Throws if help is requested for an unknown command. */
function checkNames(names: readonly string[], commands: readonly Command[], parent = ""): void {
  const [first, ...rest] = names;
  if (first === undefined) return;
  const command = commands.find(({ name }) => name === first);
  const known = commands.map(({ name }) => name);
  if (command === undefined) throw noCommand(first, parent, known);
  checkNames(rest, command.actions ?? [], first);
}

/** The error for an unknown command, with the closest name. */
function noCommand(word: string, parent: string, names: readonly string[]): CompactError {
  const [group = ""] = parent.split(" ");
  const full = `${ROOT} ${group}`.trim();
  const guess = didYouMean(word, group === "" ? [...names, "help"] : names, `${full} `);
  return misuse(
    `there is no command ${`${group} ${word}`.trimStart()}`,
    `${guess}${full} --help lists the commands.`,
  );
}
