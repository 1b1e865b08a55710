export { builtinSummarizer } from "./extractive/builtin.ts";
export { createModelSummarizer } from "./llm/create.ts";
export type { ModelSummarizerOptions } from "./llm/options.ts";
