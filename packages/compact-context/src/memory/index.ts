export type { MemoryCandidate, MemorySource, SectionKind } from "./candidates.ts";
export { type BuildMemoryCandidatesOptions, buildMemoryCandidates } from "./candidates.ts";
export type { ChangedFile } from "./changes/apply.ts";
export type { FileChange, LoggedOperation, MemoryChange, ReadLog } from "./changes/change-log.ts";
export type { ChannelFolder } from "./changes/channel-files.ts";
export {
  type CheckOptions,
  checkMemory,
  type MemoryOverviewFile,
  type MemoryProblem,
  readMemory,
} from "./changes/check.ts";
export type { MemoryDocument, MemoryItem, MemorySection } from "./changes/document.ts";
export type { UndoLeft, UndoResult } from "./changes/journal.ts";
export type {
  AddItem,
  AddSection,
  ChangeNote,
  DoneOperation,
  FoldSections,
  ForgetItem,
  ForgottenIn,
  InvalidateItem,
  MemoryAuthor,
  MemoryChangeResult,
  MemoryFileName,
  MemoryOperation,
  MemoryOrigin,
  MemoryTrust,
  RefusalReason,
  RefusedOperation,
  ReplaceFile,
  SupersedeItem,
} from "./changes/operation.ts";
export {
  createMemoryWriter,
  type MemoryWriter,
  type MemoryWriterOptions,
  rewriteChannelSession,
} from "./changes/writer.ts";
export {
  type ChannelMemory,
  type ChannelMemoryOptions,
  createChannelMemory,
  type MemoryBoundary,
  type MemoryBoundaryOptions,
  type MemorySettingsInput,
  type MemoryTurn,
} from "./channel-memory.ts";
export { type BuildColdCandidatesOptions, buildColdCandidates } from "./cold.ts";
export {
  ensureChannel,
  ensureChannelSessionFile,
  ensureChannelSessionFileSync,
  ensureWorkspace,
  getChannelSessionPath,
  readChannelSession,
} from "./files/ensure.ts";
export { type MemoryFile, readMemoryFile } from "./files/write-file.ts";
export type { MemoryTaskRecord } from "./memory-task.ts";
export { type Packable, type Packed, type PackedItem, type PackLimits, packMemories } from "./pack.ts";
export type { Precedence } from "./precedence.ts";
export {
  createRecallIndex,
  type RankingWeights,
  type RecallHit,
  type RecallIndex,
} from "./ranking/recall-index.ts";
export type { RecallCandidate } from "./ranking/units.ts";
export {
  type RecallDecision,
  type RecalledMemory,
  type RecallOutcome,
  type RecallRequest,
  type RecallResult,
  type RerankModel,
  recallRelevantMemory,
} from "./recall.ts";
export type { RerankMemories } from "./rerank.ts";
export {
  escapeRuntimeTags,
  injectRuntimeContext,
  renderRuntimeContext,
  stripRuntimeContext,
} from "./runtime-context.ts";
export { type MemoryScope, type MemoryScopeRequest, openMemoryScope } from "./scope.ts";
export type { SessionMemoryState } from "./session-memory.ts";
export {
  emptySessionMemory,
  parseSessionMemory,
  renderSessionMemory,
  type SessionMemoryLimits,
} from "./session-memory.ts";
export { type SessionMemoryUpdateOptions, updateChannelSessionMemory } from "./session-update/update.ts";
export type { JsonShape } from "./sidecar/answer-json.ts";
export { createSidecar, runSidecarTask } from "./sidecar/sidecar.ts";
export type { Sidecar, SidecarOutcome, SidecarPorts, SidecarRecord, SidecarTask } from "./sidecar/task.ts";
