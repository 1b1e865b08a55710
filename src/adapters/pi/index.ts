export { type PiModel, type PiTextModelOptions, textModelFromPi } from "./text-model.ts";
