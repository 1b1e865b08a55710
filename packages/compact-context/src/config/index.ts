export type { LoadConfigOptions, LoadedConfig } from "./load.ts";
export { loadConfig } from "./load.ts";
