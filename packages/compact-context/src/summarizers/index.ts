export { createModelSummarizer } from "./llm/create.ts";
export type { ModelSummarizerOptions } from "./llm/options.ts";
