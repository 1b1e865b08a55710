export const EXPAND_TOOL = "compact_expand";
export const SEARCH_TOOL = "compact_search";
export const SESSIONS_TOOL = "compact_sessions";
/** Reads the notes of a memory; see `memoryTool` of the MCP adapter. */
export const MEMORY_TOOL = "compact_recall";
