export { compactOpenAi } from "./client.ts";
export { type OpenAiTextModelOptions, textModelFromOpenAi } from "./text-model.ts";
