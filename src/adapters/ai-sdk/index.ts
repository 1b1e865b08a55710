export { type AiSdkLanguageModel, type AiSdkTextModelOptions, textModelFromAiSdk } from "./text-model.ts";
