export { type AiSdkAgentModelOptions, agentModelFromAiSdk } from "./agent-model.ts";
export {
  type CompactLanguageModelMiddleware,
  compactLanguageModelMiddleware,
  type LanguageModelMiddlewareOptions,
} from "./middleware.ts";
export { compactPrepareStep, type PrepareStep, type PrepareStepOptions } from "./prepare-step.ts";
export { type AiSdkTextModelOptions, textModelFromAiSdk } from "./text-model.ts";
