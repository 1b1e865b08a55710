import { basename, relative, resolve } from "node:path";
import type { CompactConfig } from "compact-context";
import { describeConfig } from "compact-context/internal/config/environment";
import { formatProblem } from "compact-context/internal/config/layer";
import { checkConfig, findConfig, readConfigFile } from "compact-context/internal/config/load";
import { configSchema } from "compact-context/internal/config/schema";
import { readConfig } from "../files/config.ts";
import type { Invocation } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { plural } from "../render/numbers.ts";
import { type Cell, table } from "../render/table.ts";
import { oneLine } from "../render/width.ts";

/** Prints what is wrong with a file of settings, if there is one, and with the environment over it. */
export async function checkConfigFile({ words, flags, ports, terminal }: Invocation): Promise<number> {
  const found = words[0] ?? findConfig(ports.cwd);
  const file = words[0] ?? (found === undefined ? undefined : basename(found));
  const text = file === undefined ? "" : readConfigFile(resolve(ports.cwd, file));
  const problems = checkConfig(text, file ?? "compact.yaml", ports.env);
  const valid = problems.length === 0;
  const what = file === undefined ? "what the environment sets" : oneLine(file);
  if (flags.json === true) terminal.printJson({ file: file ?? null, valid, problems });
  else if (valid) {
    const none = file === undefined ? "there is no compact.yaml here; " : "";
    terminal.print([`${terminal.paint("good", "ok")}  ${none}${what} is valid`]);
  } else {
    for (const problem of problems) ports.stderr.write(`${oneLine(formatProblem(problem))}\n`);
    ports.stderr.write(`${plural(problems.length, "problem")} in ${what}\n`);
  }
  return valid ? 0 : 1;
}

/** Prints each setting that holds here with the place that it comes from. */
export async function showConfig(invocation: Invocation): Promise<number> {
  const { flags, ports, terminal } = invocation;
  const { config, origins, path } = readConfig(invocation);
  const shown = describeConfig().map(({ path: name, env }) => ({
    path: name,
    value: settingIn(config, name),
    origin: origins[name] === undefined ? "default" : relativePlace(origins[name], ports.cwd),
    env,
  }));
  if (flags.json === true) {
    terminal.printJson({ file: path ?? null, settings: shown });
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
  ]);
  return 0;
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
