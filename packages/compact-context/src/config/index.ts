export type { Environment, SettingDescription } from "./environment.ts";
export { describeConfig } from "./environment.ts";
export type { ConfigProblem } from "./layer.ts";
export { formatProblem } from "./layer.ts";
export type { LoadConfigOptions, LoadedConfig } from "./load.ts";
export { checkConfig, findConfig, loadConfig, readConfigFile } from "./load.ts";
export { configSchema } from "./schema.ts";
export type { CompactConfig, CompactConfigInput } from "./settings.ts";
export { defaultConfig } from "./settings.ts";
