export { compactAnthropic } from "./client.ts";
export { type AnthropicTextModelOptions, textModelFromAnthropic } from "./text-model.ts";
