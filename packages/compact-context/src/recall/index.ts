export type { ArchivedMessage, ArchivedTranscript, ArchiveEntry } from "../archive/transcript.ts";
export type { SessionOwner } from "../core/records.ts";
export type { Archive, SearchOptions, SearchResult } from "../search/archive.ts";
export type { Deleted, Retention, Swept } from "../search/deletion.ts";
export type { Expanded, ExpandOptions, Restored, RestoreOptions } from "./recall.ts";
export { formatTools, type ToolShapes } from "./shapes.ts";
export { type RecallTool, type RecallToolsOptions, recallTools } from "./tools.ts";
