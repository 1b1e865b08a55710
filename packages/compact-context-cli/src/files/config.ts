import { resolve } from "node:path";
import { type LoadedConfig, loadConfig } from "compact-context/config";
import type { Environment } from "compact-context/internal/config/environment";
import { findConfig, readConfigFile } from "compact-context/internal/config/load";

export interface CliConfig extends Pick<LoadedConfig, "config" | "origins"> {
  /** The file that was read, if any. */
  readonly path: string | undefined;
}

export interface ConfigRequest {
  /** `--config`. */
  readonly file: string | undefined;
  readonly cwd: string;
  readonly env: Environment;
  warn(text: string): void;
}

/** Settings from `--config`, `COMPACT_CONFIG` or compact.yaml here, with the environment over them. */
export function readConfig({ file, cwd, env, warn }: ConfigRequest): CliConfig {
  const found = file === undefined && env.COMPACT_CONFIG === undefined ? findConfig(cwd) : undefined;
  const path = file ?? env.COMPACT_CONFIG ?? found;
  const text = path === undefined ? undefined : readConfigFile(resolve(cwd, path));
  const { config, warnings, origins } = loadConfig({
    env,
    path: text === undefined ? undefined : path,
    text,
    found: text !== undefined && found !== undefined,
  });
  for (const warning of warnings) warn(warning);
  return { config, origins, path };
}
