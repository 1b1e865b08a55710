export type { HostOptions } from "../../host.ts";
export { compactExtension, type PiExtensionOptions } from "./extension.ts";
export type { PiCommand, PiContext, PiExtensionApi } from "./sdk.ts";
export { type PiModel, type PiTextModelOptions, textModelFromPi } from "./text-model.ts";
