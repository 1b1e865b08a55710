export { type OpenAiClient, type OpenAiTextModelOptions, textModelFromOpenAi } from "./text-model.ts";
