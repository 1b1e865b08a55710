// Compiled, never run: both adapters match the types of AI SDK 6.
import {
  generateText,
  type LanguageModel,
  type LanguageModelMiddleware,
  type PrepareStepFunction,
  ToolLoopAgent,
  type ToolSet,
  tool,
  wrapLanguageModel,
} from "ai";
import { CompactManager } from "compact-context";
import {
  compactLanguageModelMiddleware,
  compactPrepareStep,
  modelFromAiSdk,
} from "compact-context/adapters/ai-sdk";
import { z } from "zod";

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
const weigh = tool({
  description: "Weighs a rope.",
  inputSchema: z.object({ rope: z.string() }),
  execute: async ({ rope }) => rope.length,
});
const counted = { tools: { weigh }, maxOutputTokens: 500 };
export const once = generateText({
  model,
  prompt: "hello",
  system: "Short.",
  ...counted,
  prepareStep: compactPrepareStep({ ...counted, system: "Short.", manager, sessionId: "typed" }),
}).then(({ toolCalls }) => toolCalls.map((call) => call.toolName === "weigh"));
export const agent: unknown = new ToolLoopAgent({
  model,
  instructions: "Short.",
  ...counted,
  prepareStep: compactPrepareStep({ ...counted, system: "Short.", manager, sessionId: "typed" }),
});
export const writer: unknown = modelFromAiSdk(model);
