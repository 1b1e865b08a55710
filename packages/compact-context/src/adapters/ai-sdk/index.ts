export type { HostOptions } from "../../host.ts";
export {
  type AiSdkAgentModelOptions,
  type AiSdkStreamingModel,
  agentModelFromAiSdk,
} from "./agent-model.ts";
export {
  type CallParams,
  type CompactLanguageModelMiddleware,
  compactLanguageModelMiddleware,
  type LanguageModelMiddlewareOptions,
} from "./middleware.ts";
export {
  type CallSettings,
  compactCall,
  compactPrepareStep,
  type PrepareStep,
  type PrepareStepOptions,
  type Step,
} from "./prepare-step.ts";
export { type AiSdkLanguageModel, type AiSdkTextModelOptions, textModelFromAiSdk } from "./text-model.ts";
