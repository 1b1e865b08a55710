export type { SavedTranscript, SessionOwner } from "../core/archive.ts";
export type { ArchivedMessage, ArchivedTranscript, ArchiveEntry } from "../core/transcript.ts";
export type { Archive, SearchOptions, SearchProblem, SearchResult } from "../search/archive.ts";
export type { Deleted, Retention, Swept } from "../search/deletion.ts";
export { type CompactionSource, compactTool } from "./compact-tool.ts";
export type { Difference, Restored, RestoreOptions } from "./recall.ts";
export { createRecall, type Expanded, type ExpandOptions, type Recall, type RecallPorts } from "./recall.ts";
export {
  type AiSdkTool,
  type AnthropicTool,
  asAiSdkTools,
  asAnthropicTools,
  asLangChainTools,
  asOpenAiAgentsTools,
  asOpenAiChatTools,
  asOpenAiResponsesTools,
  asPiTools,
  type LangChainTool,
  type OpenAiAgentsTool,
  type OpenAiChatTool,
  type OpenAiResponsesTool,
  type PiTool,
} from "./shapes.ts";
export {
  type RecallTool,
  type RecallToolsOptions,
  recallTools,
  runRecallTool,
} from "./tools.ts";
