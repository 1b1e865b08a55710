import { resolve } from "node:path";
import { type LoadedConfig, loadConfig } from "compact-context/config";
import { findConfig, readConfigFile } from "compact-context/internal/config/load";
import type { Flags } from "../flags.ts";
import type { CliPorts, Terminal } from "../ports.ts";

export interface CliConfig extends Pick<LoadedConfig, "config" | "origins"> {
  /** The file that was read, if any. */
  readonly path: string | undefined;
}

/** What decides the settings, and who is told what is odd about them; every `Invocation` is one. */
export interface ConfigRequest {
  readonly flags: Pick<Flags, "config">;
  readonly ports: Pick<CliPorts, "cwd" | "env">;
  readonly terminal: Pick<Terminal, "warn">;
}

/** Settings from `--config`, `COMPACT_CONFIG` or compact.yaml here, with the environment over them. */
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
