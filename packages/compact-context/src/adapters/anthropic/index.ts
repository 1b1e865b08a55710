export type { HostManager } from "../../compaction/host.ts";
export type { ClientManager, ClientOptions } from "../../compaction/host-client.ts";
export { compactAnthropic } from "./client.ts";
export {
  type AnthropicClient,
  type AnthropicTextModelOptions,
  textModelFromAnthropic,
} from "./text-model.ts";
