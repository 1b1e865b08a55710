export type { MemoryCandidate, MemorySource } from "./candidates.ts";
export { type BuildMemoryCandidatesOptions, buildMemoryCandidates } from "./candidates.ts";
export type { MemoryChange } from "./changes/change-log.ts";
export type { MemoryChangeResult, MemoryOperation } from "./changes/operation.ts";
export { type MemoryWriter, rewriteChannelSession } from "./changes/writer.ts";
export {
  type ChannelMemory,
  type ChannelMemoryOptions,
  createChannelMemory,
  type MemoryBoundaryOptions,
  type MemoryTurn,
} from "./channel-memory.ts";
export {
  ensureChannelSessionFile,
  ensureChannelSessionFileSync,
  getChannelSessionPath,
  readChannelSession,
} from "./files/ensure.ts";
export { createRecallIndex, type RecallHit, type RecallIndex } from "./ranking/recall-index.ts";
export type { RecallCandidate } from "./ranking/units.ts";
export type { RerankMemories } from "./recall.ts";
export {
  type RecalledMemory,
  type RecallRequest,
  type RecallResult,
  recallRelevantMemory,
} from "./recall.ts";
export { injectRuntimeContext, openMemoryScope } from "./scope.ts";
export type { SessionMemoryState } from "./session-memory.ts";
export { renderSessionMemory } from "./session-memory.ts";
export { type SessionMemoryUpdateOptions, updateChannelSessionMemory } from "./session-update/update.ts";
export type { SidecarOutcome, SidecarTask } from "./sidecar/sidecar.ts";
export { runSidecarTask } from "./sidecar/sidecar.ts";
