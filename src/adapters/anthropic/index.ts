export {
  type AnthropicClient,
  type AnthropicTextModelOptions,
  textModelFromAnthropic,
} from "./text-model.ts";
