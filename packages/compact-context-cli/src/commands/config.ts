import { basename, relative, resolve } from "node:path";
import type { CompactConfig } from "compact-context";
import { loadConfig } from "compact-context/config";
import { describeConfig, environmentLayer } from "compact-context/internal/config/environment";
import { type ConfigProblem, formatProblem } from "compact-context/internal/config/layer";
import { findConfig, readConfigFile } from "compact-context/internal/config/load";
import { configSchema } from "compact-context/internal/config/schema";
import { CompactError } from "compact-context/internal/errors";
import { postgresDdl } from "compact-context/internal/storage/postgres/client";
import { type CliConfig, configProblems, readConfig } from "../files/config.ts";
import type { Invocation } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { type Cell, table } from "../render/table.ts";
import { oneLine, paragraph, plural } from "../render/text.ts";

/** Prints what is wrong with a file of settings, if there is one, and with the environment over it. */
export async function checkConfigFile({ words, flags, ports, terminal }: Invocation): Promise<number> {
  const file = words[0] ?? fileHere(ports.cwd);
  const text = file === undefined ? "" : readConfigFile(resolve(ports.cwd, file));
  const problems = await configProblems(text, file ?? "compact.yaml", ports.env);
  const valid = problems.length === 0;
  // What is only odd is told in full where the settings hold.
  const { warnings } = valid ? loadConfig({ env: ports.env, text, path: file }) : environmentLayer(ports.env);
  if (flags.json === true) {
    terminal.printJson({ file: file ?? null, valid, problems, warnings });
    return valid ? 0 : 1;
  }
  if (valid) terminal.print([validLine(file, terminal)]);
  else for (const line of problemLines(problems, file)) ports.stderr.write(`${line}\n`);
  for (const warning of warnings) terminal.warn(warning);
  return valid ? 0 : 1;
}

function fileHere(cwd: string): string | undefined {
  const found = findConfig(cwd);
  return found === undefined ? undefined : basename(found);
}

function validLine(file: string | undefined, { paint }: Terminal): string {
  const what =
    file === undefined ? "there is no compact.yaml here; what the environment sets" : oneLine(file);
  return `${paint("good", "ok")}  ${what} is valid`;
}

/** Each problem, then how many are in the file, and how many in the environment over it. */
function problemLines(problems: readonly ConfigProblem[], file: string | undefined): string[] {
  const inFile = problems.filter(({ place }) => place === file || place.startsWith(`${file}:`)).length;
  const outside = problems.length - inFile;
  const counted = [
    ...(inFile > 0 ? [`${plural(inFile, "problem")} in ${oneLine(file ?? "")}`] : []),
    ...(outside > 0 ? [`${plural(outside, "problem")} in what the environment sets`] : []),
  ];
  return [...problems.map((problem) => oneLine(formatProblem(problem))), counted.join(", ")];
}

/** Prints each setting that holds here with the place that it comes from. */
export async function showConfig(invocation: Invocation): Promise<number> {
  const { flags, ports, terminal } = invocation;
  const settled = readConfig(invocation);
  const { config, origins, path } = settled;
  const own = await ownDefaults(invocation, settled);
  const shown = describeConfig().map(({ path: name, env }) => ({
    path: name,
    value: settingIn(config, name),
    origin: origins[name] === undefined ? "default" : relativePlace(origins[name], ports.cwd),
    env,
  }));
  if (flags.json === true) {
    terminal.printJson({ file: path ?? null, settings: shown, commandDefaults: own });
    return 0;
  }
  const rows = shown.map(({ path: name, value, origin }): Cell[] => {
    const text = value === null ? "–" : oneLine(typeof value === "string" ? value : JSON.stringify(value));
    const isDefault = origin === "default";
    return [
      { text: name, style: isDefault ? "faint" : undefined },
      { text, style: isDefault ? "faint" : "strong" },
      { text: oneLine(origin), style: isDefault ? "faint" : "good" },
    ];
  });
  terminal.print([
    "",
    `  ${terminal.paint("strong", path === undefined ? "No configuration file here" : oneLine(path))}`,
    "",
    ...settingLines(rows, terminal),
    "",
    ...ownLines(own, terminal),
  ]);
  return 0;
}

interface OwnDefault {
  readonly path: string;
  readonly value: string;
}

/** What the command takes where nobody set it and the library has another default. */
async function ownDefaults(invocation: Invocation, settled: CliConfig): Promise<OwnDefault[]> {
  // Loaded here: a check of settings needs neither.
  const [{ driverOf }, { overflowOf }] = await Promise.all([
    import("../archive.ts"),
    import("../settings.ts"),
  ]);
  const { config, origins } = settled;
  const own: OwnDefault[] = [];
  if (origins["storage.root"] === undefined && config.storage.kind === "fs") {
    const { location } = driverOf(invocation, settled);
    if (location !== resolve(invocation.ports.cwd, config.storage.root)) {
      own.push({ path: "storage.root", value: location });
    }
  }
  const onOverflow = overflowOf(invocation.flags, settled);
  if (onOverflow !== config.policy.onOverflow) own.push({ path: "policy.on_overflow", value: onOverflow });
  return own;
}

function ownLines(own: readonly OwnDefault[], terminal: Terminal): string[] {
  if (own.length === 0) return [];
  return [
    ...paragraph("Defaults are the library's. Where nothing is set, this command takes:", terminal.width),
    ...own.flatMap(({ path, value }) => [`  ${terminal.paint("strong", path)}`, `      ${oneLine(value)}`]),
    "",
  ];
}

/** Columns from which on a setting fits on one line. */
const WIDE = 100;

/** On a narrow screen a name has a line of its own, the value and its origin one below. */
function settingLines(rows: readonly (readonly Cell[])[], terminal: Terminal): string[] {
  if (terminal.width >= WIDE) return table(rows, ["left", "flexible", "left"], terminal);
  const values = rows.map(([, ...rest]) => rest);
  const lines = table(values, ["flexible", "left"], terminal, 6);
  return rows.flatMap(([name], index) => [`  ${name?.text ?? ""}`, lines[index] ?? ""]);
}

/** `null` where a setting has no value. */
function settingIn(config: CompactConfig, path: string): unknown {
  const names = path
    .split(".")
    .map((name) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()));
  return (
    names.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], config) ??
    null
  );
}

/** Files below the working folder are told as they are called from there. */
function relativePlace(place: string, cwd: string): string {
  const near = place.startsWith("/") ? relative(cwd, place) : place;
  return near.startsWith("..") ? place : near;
}

/** Names of a JSON schema are its own: they stay as they are. */
export async function printSchema({ ports }: Invocation): Promise<number> {
  ports.stdout.write(`${JSON.stringify(configSchema(), undefined, 2)}\n`);
  return 0;
}

/** Prints the statements that make or bring up to date the tables of Postgres. */
export async function printDdl(invocation: Invocation): Promise<number> {
  const { config } = readConfig(invocation);
  const [role, version = "0"] = invocation.words;
  if (!/^\d+$/.test(version)) {
    throw new CompactError(
      "InvalidUsage",
      `the version of the tables must be a whole number, not ${oneLine(version)}`,
      {
        hint: "Write compact storage ddl ROLE 2, or leave it out where there are no tables yet.",
      },
    );
  }
  invocation.ports.stdout.write(postgresDdl({ schema: config.storage.schema, from: Number(version), role }));
  return 0;
}
