export { compactLanguageModelMiddleware, type LanguageModelMiddlewareOptions } from "./middleware.ts";
export { type AiSdkModelOptions, modelFromAiSdk } from "./model.ts";
export { compactPrepareStep, type PrepareStepOptions } from "./prepare-step.ts";
