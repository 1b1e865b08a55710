export type { HostManager } from "../../compaction/host.ts";
export type { ClientManager, ClientOptions } from "../../compaction/host-client.ts";
export { compactOpenAi } from "./client.ts";
export {
  type OpenAiClient,
  type OpenAiCreate,
  type OpenAiTextModelOptions,
  textModelFromOpenAi,
} from "./text-model.ts";
