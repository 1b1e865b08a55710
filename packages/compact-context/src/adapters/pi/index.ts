export { compactExtension, type PiExtensionOptions } from "./extension.ts";
export { type PiTextModelOptions, textModelFromPi } from "./text-model.ts";
