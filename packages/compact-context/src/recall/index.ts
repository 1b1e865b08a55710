export type { SessionOwner } from "../core/archive.ts";
export type { ArchivedMessage, ArchivedTranscript, ArchiveEntry } from "../core/transcript.ts";
export type { Archive, SearchOptions, SearchResult } from "../search/archive.ts";
export type { Deleted, Retention, Swept } from "../search/deletion.ts";
export type { Expanded, ExpandOptions, Restored, RestoreOptions } from "./recall.ts";
export { formatTools, type ToolShapes } from "./shapes.ts";
export { type RecallTool, type RecallToolsOptions, recallTools } from "./tools.ts";
