import { resolve } from "node:path";
import { readDocument } from "compact-context/internal/config/document";
import type { Environment } from "compact-context/internal/config/environment";
import { valueAt } from "compact-context/internal/config/layer";
import { findConfig, loadConfig, readConfigFile } from "compact-context/internal/config/load";
import type { CompactConfig } from "compact-context/internal/config/settings";

export interface CliConfig {
  readonly config: CompactConfig;
  /** The file that was read, if any. */
  readonly path: string | undefined;
  /** Whether somebody set `policy.on_overflow`: here its default is another than the library's. */
  readonly setsOverflow: boolean;
}

export interface ConfigRequest {
  /** `--config`. */
  readonly file: string | undefined;
  readonly cwd: string;
  readonly env: Environment;
  warn(text: string): void;
}

const OVERFLOW_VARIABLES = ["COMPACT_ON_OVERFLOW", "COMPACT_POLICY_ON_OVERFLOW"] as const;

/** Settings from `--config`, `COMPACT_CONFIG` or compact.yaml here, with the environment over them. */
export function readConfig({ file, cwd, env, warn }: ConfigRequest): CliConfig {
  const found = file === undefined && env.COMPACT_CONFIG === undefined ? findConfig(cwd) : undefined;
  const path = file ?? env.COMPACT_CONFIG ?? found;
  const text = path === undefined ? undefined : readConfigFile(resolve(cwd, path));
  const { config, warnings } = loadConfig({
    env,
    path: text === undefined ? undefined : path,
    text,
    found: text !== undefined && found !== undefined,
  });
  for (const warning of warnings) warn(warning);
  const inFile =
    text === undefined ? undefined : valueAt(readDocument(text, path ?? "").value, ["policy", "on_overflow"]);
  const inEnvironment = OVERFLOW_VARIABLES.some((name) => env[name] !== undefined);
  return { config, path, setsOverflow: inFile !== undefined || inEnvironment };
}
