import { lstat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { type LoadedConfig, loadConfig } from "compact-context/config";
import type { ConfigProblem, WindowOf } from "compact-context/internal/config/layer";
import {
  checkConfig,
  findConfig,
  type LoadConfigOptions,
  readConfigFile,
} from "compact-context/internal/config/load";
import { defaultConfig } from "compact-context/internal/config/settings";
import { CompactError } from "compact-context/internal/errors";
import { type Flags, type Invocation, misuse } from "../flags.ts";
import type { CliPorts, Terminal } from "../ports.ts";
import { oneLine } from "../render/text.ts";

export interface CliConfig extends Pick<LoadedConfig, "config" | "origins"> {
  /** The configuration file, if any. */
  readonly path: string | undefined;
}

/** The part of an `Invocation` that reading the settings needs. */
export interface ConfigRequest {
  readonly flags: Pick<Flags, "config">;
  readonly ports: Pick<CliPorts, "cwd" | "env">;
  readonly terminal: Pick<Terminal, "warn">;
}

/** Settings from `--config`, `COMPACT_CONFIG` or compact.yaml here, overridden by the environment. Warns about them. */
export function readConfig({ flags: { config: file }, ports, terminal }: ConfigRequest): CliConfig {
  const { cwd, env } = ports;
  const found = file === undefined && env.COMPACT_CONFIG === undefined ? findConfig(cwd) : undefined;
  const path = file ?? env.COMPACT_CONFIG ?? found;
  const text = path === undefined ? undefined : readConfigFile(resolve(cwd, path));
  const { config, warnings, origins } = loadConfig({
    env,
    path: text === undefined ? undefined : path,
    text,
    found: text !== undefined && found !== undefined,
  });
  for (const warning of warnings) terminal.warn(warning);
  return { config, origins, path };
}

/** Problems of a file's settings and the environment, measured against the model that they name. */
export async function configProblems(
  text: string,
  name: string,
  from: Pick<LoadConfigOptions, "env" | "found">,
): Promise<readonly ConfigProblem[]> {
  const problems = checkConfig(text, name, from);
  if (problems.length > 0) return problems;
  const { policy } = loadConfig({ text, path: name, ...from }).config;
  const isDefault = policy.hardCapBuffer === defaultConfig.policy.hardCapBuffer;
  // Only these two depend on the window; loading the table of models is slow.
  if (isDefault && policy.targetContextTokens === undefined) return [];
  const { lookUpModel } = await import("compact-context/internal/tokens/models");
  const windowOf: WindowOf = ({ model, models }) => lookUpModel(model ?? "", models).window;
  return checkConfig(text, name, { ...from, windowOf });
}

/**
 * The folders of `--channel` and `--workspace` for a command. Rejects with `InvalidUsage` without `--channel`, and with
 * `NotFound` if it is not a folder.
 */
export async function channelFolders(
  command: string,
  { flags, ports: { cwd } }: Pick<Invocation, "flags" | "ports">,
) {
  const { channel, user } = flags;
  if (channel === undefined) {
    const hint = `Write compact ${command} … --channel DIR, the folder with SESSION.md and MEMORY.md.`;
    throw misuse(`compact ${command} needs a channel`, hint);
  }
  const channelDir = resolve(cwd, channel);
  const isFolder = await lstat(channelDir).then(
    (stats) => stats.isDirectory() || stats.isSymbolicLink(),
    () => false,
  );
  const workspaceDir = resolve(cwd, flags.workspace ?? dirname(channelDir));
  if (isFolder) return { channelDir, workspaceDir, user };
  throw new CompactError("NotFound", `there is no folder ${oneLine(channel)}`, {
    place: oneLine(channel),
    hint: "Name the folder of a channel, with SESSION.md and MEMORY.md in it.",
  });
}
