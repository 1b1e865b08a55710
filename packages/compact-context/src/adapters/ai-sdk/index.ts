export {
  compactLanguageModelMiddleware,
  compactPrepareStep,
  type LanguageModelMiddlewareOptions,
  type PrepareStepOptions,
} from "./middleware.ts";
export { type AiSdkModelOptions, modelFromAiSdk } from "./model.ts";
