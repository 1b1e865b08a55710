export type { MemoryCandidate, MemorySource } from "./candidates.ts";
export { type BuildMemoryCandidatesOptions, buildMemoryCandidates } from "./candidates.ts";
export type { MemoryChangeResult, MemoryOperation } from "./changes/document.ts";
export type { MemoryChange } from "./changes/store.ts";
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
  openMemoryScope,
  readChannelSession,
} from "./files/folders.ts";
export { injectRuntimeContext } from "./pack.ts";
export { createRecallIndex, type RecallHit, type RecallIndex } from "./ranking/recall-index.ts";
export type { RecallCandidate } from "./ranking/units.ts";
export type { RerankMemories } from "./recall.ts";
export {
  type RecalledMemory,
  type RecallRequest,
  type RecallResult,
  recallRelevantMemory,
} from "./recall.ts";
export type { SessionMemoryState } from "./session-memory.ts";
export { renderSessionMemory } from "./session-memory.ts";
export { type SessionMemoryUpdateOptions, updateChannelSessionMemory } from "./session-update/update.ts";
export type { SidecarOutcome, SidecarTask } from "./sidecar.ts";
export { runSidecarTask } from "./sidecar.ts";
