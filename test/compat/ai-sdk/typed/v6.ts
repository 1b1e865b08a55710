// Compiled, never run: both adapters fit the types of AI SDK 6.
import {
  generateText,
  type LanguageModel,
  type LanguageModelMiddleware,
  type PrepareStepFunction,
  type ToolSet,
  wrapLanguageModel,
} from "ai";
import { CompactManager } from "compact-context";
import {
  compactLanguageModelMiddleware,
  compactPrepareStep,
  textModelFromAiSdk,
} from "compact-context/adapters/ai-sdk";

declare const model: Extract<LanguageModel, { specificationVersion: "v3" }>;
declare const tools: ToolSet;
const manager = new CompactManager({ model: "gpt-4o" });
export const prepareStep: PrepareStepFunction = compactPrepareStep({ manager, sessionId: "typed" });
export const middleware: LanguageModelMiddleware = compactLanguageModelMiddleware({
  manager,
  sessionId: ({ providerOptions }) => String(providerOptions),
});
export const wrapped: unknown = wrapLanguageModel({ model, middleware });
export const answer: unknown = generateText({
  model,
  tools,
  prompt: "hello",
  prepareStep: compactPrepareStep({ manager, sessionId: "typed", tools }),
});
export const writer: unknown = textModelFromAiSdk(model);
