export { type AiSdkAgentModelOptions, agentModelFromAiSdk } from "./agent-model.ts";
export { compactLanguageModelMiddleware, type LanguageModelMiddlewareOptions } from "./middleware.ts";
export { compactCall, compactPrepareStep, type PrepareStepOptions } from "./prepare-step.ts";
export { type AiSdkTextModelOptions, textModelFromAiSdk } from "./text-model.ts";
