export const EXPAND_TOOL = "compact_expand";
export const SEARCH_TOOL = "compact_search";
export const SESSIONS_TOOL = "compact_sessions";

/** The tools with which a model brings back what left its prompt. */
export const RECALL_TOOL_NAMES: ReadonlySet<string> = new Set([EXPAND_TOOL, SEARCH_TOOL]);
