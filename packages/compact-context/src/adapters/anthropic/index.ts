export type { HostManager } from "../../host.ts";
export type { CompactFetchOptions } from "../../wire/fetch.ts";
export { compactAnthropic } from "./client.ts";
export {
  type AnthropicClient,
  type AnthropicTextModelOptions,
  textModelFromAnthropic,
} from "./text-model.ts";
