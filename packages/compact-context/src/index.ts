export { decode, detectFormat, encode } from "./codecs/formats.ts";
export {
  type CompactOptions,
  type CountListOptions,
  compact,
  countTokens,
  type OneShotArchive,
  type PlanOptions,
  planCompaction,
} from "./compact.ts";
export {
  type CompactConfig,
  type CompactConfigInput,
  type ConfigOverrides,
  defaultConfig,
  type ModelOverride,
} from "./config/settings.ts";
export type {
  ArchiveReceipt,
  CompactionReport,
  CompactionResult,
  LayerName,
  LayerSize,
  LayerSizes,
  SummarizerFailure,
} from "./core/apply.ts";
export type { ArchiveProblem } from "./core/archive.ts";
export type { Edit } from "./core/edit.ts";
export type { CompactionNotice, ManagerState, RunningSummary } from "./core/manager.ts";
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
} from "./core/message.ts";
export type { AskFate, CompactionPlan, PlannedAction, PlannedMessage } from "./core/plan.ts";
export type { KeepCounts, Layer, Partition, Policy, TriggerReason } from "./core/policy.ts";
export type {
  AttemptFailure,
  CallOptions,
  Claim,
  ClaimedItem,
  ClaimKind,
  Codec,
  CompactEvent,
  CompactEventName,
  Exporter,
  Fence,
  ItemName,
  Leases,
  ListOptions,
  LiveConversation,
  LivePrefix,
  Outbox,
  OutboxItem,
  PutOptions,
  RequestCount,
  StorageDriver,
  StoredValue,
  SummarizeOptions,
  Summarizer,
  Summary,
  SummaryAttempt,
  SummaryCheck,
  SummaryContext,
  SummaryStrategy,
  TextModel,
  TextModelAnswer,
  TextModelMessage,
  TextModelRequest,
  TokenBreakdown,
  TokenCount,
  UnfoundClaim,
} from "./core/ports.ts";
export type { Unit } from "./core/units.ts";
export type { ManualRequest, PreflightRequest } from "./core/usage.ts";
export { CompactManager, type ManagerPorts } from "./create-manager.ts";
export { CompactError, type CompactErrorCode, type CompactErrorOptions } from "./errors.ts";
export type { MemoryFlush, MemoryFlushHook } from "./flush/delivery.ts";
export type { BeforeCompaction, CompactionMoment, Recovery } from "./flush/flush.ts";
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
export type { Expanded, ExpandOptions, Recall } from "./recall/recall.ts";
export type { Difference, Restored } from "./recall/restore.ts";
export {
  type SummarizeMessagesOptions,
  type SummarizeMessagesResult,
  summarizeMessages,
} from "./running-summary/summarize-messages.ts";
export type { FoundMessage, SearchHit } from "./search/archive-search.ts";
export { builtinSummarizer } from "./summarizers/extractive/builtin.ts";
export { createModelSummarizer } from "./summarizers/llm/create.ts";
export type { ModelSummarizerOptions } from "./summarizers/llm/options.ts";
export type { TimePorts } from "./summarizers/llm/ports.ts";
export {
  availableTokens,
  type CountTextOptions,
  countText,
  estimateResponseTokens,
} from "./tokens/count-tokens.ts";
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
