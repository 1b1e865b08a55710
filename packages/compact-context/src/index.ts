export type { SummarizerFailure } from "./compaction/apply.ts";
export type { BeforeCompaction, CompactionMoment } from "./compaction/before-compaction.ts";
export {
  type CompactConfig,
  type CompactConfigInput,
  type CompactPolicy,
  type ConfigOverrides,
  defaultConfig,
  type ModelOverride,
} from "./compaction/config.ts";
export { type CountListOptions, countTokens } from "./compaction/count-list.ts";
export type { Edit } from "./compaction/edit.ts";
export type { MemoryFlush, MemoryFlushHook } from "./compaction/flush-delivery.ts";
export { CompactManager } from "./compaction/manager.ts";
export type { Recovery } from "./compaction/memory-flush.ts";
export {
  type CompactOptions,
  compact,
  type OneShotArchive,
  type PlanOptions,
  planCompaction,
} from "./compaction/one-shot.ts";
export type { AskFate, CompactionPlan, PlannedAction, PlannedMessage } from "./compaction/plan.ts";
export type {
  CompactionNotice,
  ManagerPorts,
  ManagerState,
  ManualRequest,
  PreflightRequest,
  RunningSummary,
} from "./compaction/ports.ts";
export type { Expanded, ExpandOptions, Recall } from "./compaction/recall/recall.ts";
export type { Difference, Restored } from "./compaction/recall/restore.ts";
export type {
  ArchiveReceipt,
  CompactionReport,
  CompactionResult,
  LayerName,
  LayerSize,
  LayerSizes,
} from "./compaction/report.ts";
export {
  type SummarizeMessagesOptions,
  type SummarizeMessagesResult,
  summarizeMessages,
} from "./compaction/running-summary.ts";
export { CompactError, type CompactErrorCode, type CompactErrorOptions } from "./errors.ts";
export {
  describeRules,
  type LintOptions,
  lint,
  type Mend,
  type Repaired,
  type RuleInfo,
  repair,
  type Severity,
  type Violation,
} from "./lint/index.ts";
export type { Codec } from "./messages/codec.ts";
export { decode, detectFormat, encode } from "./messages/codecs.ts";
export type { Unit } from "./messages/exchanges.ts";
export type {
  Format,
  MediaPart,
  Message,
  MessageMeta,
  Part,
  ReasoningPart,
  Role,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "./messages/message.ts";
export type {
  LivePrefix,
  TextModel,
  TextModelAnswer,
  TextModelMessage,
  TextModelRequest,
} from "./model.ts";
export type { KeepCounts, Layer, Partition } from "./policy/partition.ts";
export type { Policy } from "./policy/policy.ts";
export type { TriggerReason } from "./policy/trigger.ts";
export type { ArchiveProblem } from "./storage/archive-reader.ts";
export type { FoundMessage, SearchHit } from "./storage/archive-search.ts";
export type { ChunkedStorageDriver } from "./storage/chunked.ts";
export type { StorageDriver, StoredValue } from "./storage/driver.ts";
export type { Claim, ClaimedItem, ItemName, Outbox, OutboxItem } from "./storage/outbox.ts";
export type { Fence, Leases, SharedStorageDriver } from "./storage/shared.ts";
export type { AttemptFailure, SummaryAttempt } from "./summarizers/attempt.ts";
export { builtinSummarizer } from "./summarizers/builtin.ts";
export type { ClaimKind, SummaryCheck, UnfoundClaim } from "./summarizers/check.ts";
export { createModelSummarizer } from "./summarizers/model/create.ts";
export type { ModelSummarizerOptions } from "./summarizers/model/options.ts";
export type { TimePorts } from "./summarizers/model/ports.ts";
export type {
  LiveConversation,
  SummarizeOptions,
  Summarizer,
  Summary,
  SummaryStrategy,
  Surroundings,
} from "./summarizers/summarizer.ts";
export {
  availableTokens,
  type CountTextOptions,
  countText,
  estimateResponseTokens,
} from "./tokens/count-tokens.ts";
export type { RequestCount, TokenBreakdown, TokenCount } from "./tokens/counter.ts";
export type { EncodingName } from "./tokens/encoding.ts";
export type { Encoding } from "./tokens/encodings/encoding.ts";
export type {
  CacheRules,
  CountingStyle,
  ImageFormula,
  ModelFacts,
  ModelTraits,
  Prices,
  WireLimits,
} from "./tokens/model-facts.ts";
export { lookUpModel, type ModelLookup, type ModelMatch, type ModelOverrides } from "./tokens/models.ts";
export { contextTokens, normalizeUsage, type Usage, type UsageSource } from "./tokens/usage.ts";
export type { CompactEvent, CompactEventName, Exporter } from "./tracing/event.ts";
