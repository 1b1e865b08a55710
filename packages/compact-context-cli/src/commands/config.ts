import { basename, relative, resolve } from "node:path";
import type { CompactConfig } from "compact-context";
import { loadConfig } from "compact-context/config";
import { type ConfigProblem, formatProblem } from "compact-context/internal/config/layer";
import { findConfig, readConfigFile } from "compact-context/internal/config/load";
import { configSchema } from "compact-context/internal/config/schema";
import { describeConfig, environmentLayer } from "compact-context/internal/config/sources";
import { postgresDdl } from "compact-context/internal/storage/postgres/client";
import { type CliConfig, configProblems, readConfig } from "../files/config.ts";
import { type Invocation, misuse, printResult } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { type Cell, table } from "../render/table.ts";
import { oneLine, paragraph, plural } from "../render/text.ts";

/** Prints the problems of a configuration file, if any, and of the environment. */
export async function checkConfigFile({ words, flags, ports, terminal }: Invocation): Promise<number> {
  const { cwd, env } = ports;
  const named = words[0] ?? env.COMPACT_CONFIG;
  const file = named ?? fileHere(cwd);
  const text = file === undefined ? "" : readConfigFile(resolve(cwd, file));
  const problems = await configProblems(text, file ?? "compact.yaml", { env, found: named === undefined });
  const valid = problems.length === 0;
  // The file's warnings need valid settings.
  const { warnings } = valid ? loadConfig({ env, text, path: file }) : environmentLayer(env);
  const code = valid ? 0 : 1;
  if (flags.json === true) {
    terminal.printJson({ file: file ?? null, valid, problems, warnings });
    return code;
  }
  if (valid) terminal.print([validLine(file, terminal)]);
  else ports.stderr.write(`${problemLines(problems, file).join("\n")}\n`);
  for (const warning of warnings) terminal.warn(warning);
  return code;
}

function fileHere(cwd: string): string | undefined {
  const found = findConfig(cwd);
  return found === undefined ? undefined : basename(found);
}

function validLine(file: string | undefined, { paint }: Terminal): string {
  const what = file === undefined ? "there is no compact.yaml here; the environment" : oneLine(file);
  return `${paint("good", "ok")}  ${what} is valid`;
}

/** The problems, then their number in the file and in the environment. */
function problemLines(problems: readonly ConfigProblem[], file: string | undefined): string[] {
  const inFile = problems.filter(({ place }) => place === file || place.startsWith(`${file}:`)).length;
  const outside = problems.length - inFile;
  const counted = [
    ...(inFile > 0 ? [`${plural(inFile, "problem")} in ${oneLine(file ?? "")}`] : []),
    ...(outside > 0 ? [`${plural(outside, "problem")} in the environment`] : []),
  ];
  return [...problems.map((problem) => oneLine(formatProblem(problem))), counted.join(", ")];
}

/** Prints each effective setting with its origin. */
export async function showConfig(invocation: Invocation): Promise<number> {
  const { ports, terminal } = invocation;
  const loaded = readConfig(invocation);
  const { config, origins, path } = loaded;
  const defaults = await commandDefaults(invocation, loaded);
  const shown = describeConfig().map(({ path: name, env }) => ({
    path: name,
    value: settingIn(config, name),
    origin: origins[name] === undefined ? "default" : relativePlace(origins[name], ports.cwd),
    env,
  }));
  const rows = shown.map(({ path: name, value, origin }): Cell[] => {
    const text = value === null ? "–" : oneLine(typeof value === "string" ? value : JSON.stringify(value));
    const isDefault = origin === "default";
    return [
      { text: name, style: isDefault ? "faint" : undefined },
      { text, style: isDefault ? "faint" : "strong" },
      { text: oneLine(origin), style: isDefault ? "faint" : "good" },
    ];
  });
  printResult(invocation, { file: path ?? null, settings: shown, commandDefaults: defaults }, () => [
    "",
    `  ${terminal.paint("strong", path === undefined ? "No configuration file here" : oneLine(path))}`,
    "",
    ...settingLines(rows, terminal),
    "",
    ...defaultLines(defaults, terminal),
  ]);
  return 0;
}

interface CommandDefault {
  readonly path: string;
  readonly value: string;
}

/** The defaults of the command that differ from the library's. */
async function commandDefaults(invocation: Invocation, loaded: CliConfig): Promise<CommandDefault[]> {
  // Imported here because `config check` needs neither.
  const [{ driverOf }, { overflowOf }] = await Promise.all([
    import("../archive.ts"),
    import("../settings.ts"),
  ]);
  const { config, origins } = loaded;
  const defaults: CommandDefault[] = [];
  if (origins["storage.root"] === undefined && config.storage.kind === "fs") {
    const { location } = await driverOf(invocation, loaded);
    if (location !== resolve(invocation.ports.cwd, config.storage.root)) {
      defaults.push({ path: "storage.root", value: location });
    }
  }
  const onOverflow = overflowOf(invocation.flags, loaded);
  if (onOverflow !== config.policy.onOverflow)
    defaults.push({ path: "policy.on_overflow", value: onOverflow });
  return defaults;
}

function defaultLines(defaults: readonly CommandDefault[], terminal: Terminal): string[] {
  if (defaults.length === 0) return [];
  return [
    ...paragraph("The defaults above are the library's. By default this command takes:", terminal.width),
    ...defaults.flatMap(({ path, value }) => [
      `  ${terminal.paint("strong", path)}`,
      `      ${oneLine(value)}`,
    ]),
    "",
  ];
}

/** Columns from which a setting fits on one line. */
const WIDE = 100;

/** On a narrow screen the name is on one line, value and origin on the next. */
function settingLines(rows: readonly (readonly Cell[])[], terminal: Terminal): string[] {
  if (terminal.width >= WIDE) return table(rows, ["left", "flexible", "left"], terminal);
  const values = rows.map(([, ...rest]) => rest);
  const lines = table(values, ["flexible", "left"], terminal, 6);
  return rows.flatMap(([name], index) => [`  ${name?.text ?? ""}`, lines[index] ?? ""]);
}

/** The value of a setting; `null` if it has none. */
function settingIn(config: CompactConfig, path: string): unknown {
  const names = path
    .split(".")
    .map((name) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()));
  return (
    names.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], config) ??
    null
  );
}

/** Paths below the working folder become relative to it. */
function relativePlace(place: string, cwd: string): string {
  const near = place.startsWith("/") ? relative(cwd, place) : place;
  return near.startsWith("..") ? place : near;
}

/** Prints the schema without `printJson`, which would change its keys. */
export async function printSchema({ ports }: Invocation): Promise<number> {
  ports.stdout.write(`${JSON.stringify(configSchema(), undefined, 2)}\n`);
  return 0;
}

/** Prints the statements that create or migrate the Postgres tables. */
export async function printDdl(invocation: Invocation): Promise<number> {
  const { config } = readConfig(invocation);
  const [role, version = "0"] = invocation.words;
  if (!/^\d+$/.test(version)) {
    const hint = "Write compact storage ddl ROLE 2, or omit it if there are no tables yet.";
    throw misuse(`the version of the tables must be a whole number, not ${oneLine(version)}`, hint);
  }
  invocation.ports.stdout.write(postgresDdl({ schema: config.storage.schema, from: Number(version), role }));
  return 0;
}
