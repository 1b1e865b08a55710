import type { Fate, LayerKey, MessageKind } from "../session-view.ts";

/** What each layer is called, and what it holds. */
export const LAYERS: Readonly<Record<LayerKey, { readonly name: string; readonly holds: string }>> = {
  tools: { name: "tools", holds: "the schemas of the tools" },
  system: { name: "system", holds: "the system prompt" },
  developer: { name: "developer", holds: "the developer's instructions" },
  pinned: { name: "pinned", holds: "what is never pruned" },
  summary: { name: "summary", holds: "the running summary of what left" },
  remainder: { name: "remainder", holds: "older messages that still fit" },
  toolPairs: { name: "tool pairs", holds: "the newest tool calls with their results" },
  recent: { name: "recent", holds: "the newest turns" },
  messages: { name: "messages", holds: "the whole list" },
};

/** The fates in the order of their filters; the sign tells them apart without colour. */
export const FATES: Readonly<Record<Fate, { readonly word: string; readonly sign: string }>> = {
  kept: { word: "kept", sign: "●" },
  cleared: { word: "cleared", sign: "○" },
  cut: { word: "cut", sign: "◐" },
  summarized: { word: "summarized", sign: "≡" },
  unknown: { word: "unknown", sign: "?" },
};

export const KINDS: Readonly<Record<MessageKind, string>> = {
  text: "",
  toolCall: "calls",
  toolResult: "result",
  reasoning: "reasoning",
  media: "media",
  summary: "summary",
};

const REASONS: Readonly<Record<string, string>> = {
  trigger_pct: "the trigger was reached",
  hard_cap: "the hard cap was reached",
  max_tokens: "the token limit was reached",
  max_tokens_before_summary: "the limit before a summary was reached",
  manual: "asked for",
  max_bytes: "too many bytes for one request",
  cold_cache: "the cache had lapsed anyway",
  tool_output: "a tool's output was over its limit",
};

/** Why a compaction happened, in words. */
export function reasonWords(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll("_", " ");
}
