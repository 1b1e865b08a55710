export { decode, detectFormat, encode } from "./codecs/formats.ts";
export {
  type CompactOptions,
  type CountListOptions,
  compact,
  countTokens,
  type PlanOptions,
  planCompaction,
} from "./compact.ts";
export { type CompactConfig, type CompactConfigInput, defaultConfig } from "./config/settings.ts";
export type { Format, Message, Part, Role } from "./core/message.ts";
export type { CompactionPlan, PlannedMessage } from "./core/plan.ts";
export type { Policy, TriggerReason } from "./core/policy.ts";
export type {
  StorageDriver,
  StoredValue,
  SummarizeOptions,
  Summarizer,
  Summary,
  SummaryAttempt,
  SummaryStrategy,
  TextModel,
  TextModelAnswer,
  TextModelRequest,
} from "./core/ports.ts";
export { ownedSession } from "./core/records.ts";
export type {
  CompactEvent,
  CompactionNotice,
  CompactionReport,
  CompactionResult,
  Exporter,
  ManagerState,
  RefusalReason,
  RunningSummary,
} from "./core/report.ts";
export type { ManualRequest, PreflightRequest } from "./core/request.ts";
export { CompactManager, type ManagerPorts } from "./create-manager.ts";
export { CompactError, type CompactErrorCode } from "./errors.ts";
export type { BeforeCompaction, MemoryFlushHook } from "./flush/flush.ts";
export { lint, repair, type Violation } from "./lint/index.ts";
export type { Recall } from "./recall/recall.ts";
export {
  type SummarizeMessagesOptions,
  summarizeMessages,
} from "./summarize-messages.ts";
export { builtinSummarizer } from "./summarizers/extractive/builtin.ts";
export { countText } from "./tokens/count-tokens.ts";
