import type { CompactionHead, Fate, LayerKey, MessageKind } from "../session-view.ts";
import { count, percent } from "./text.ts";

/** What each layer is called, and what it holds. */
export const LAYERS: Readonly<Record<LayerKey, { readonly name: string; readonly holds: string }>> = {
  tools: { name: "tools", holds: "the schemas of the tools that the model may call" },
  system: { name: "system", holds: "the system prompt" },
  developer: { name: "developer", holds: "the developer's instructions" },
  pinned: { name: "pinned", holds: "messages that a compaction never changes" },
  summary: { name: "summary", holds: "the running summary of what left the window" },
  remainder: { name: "remainder", holds: "older messages that still fit" },
  toolPairs: { name: "tool pairs", holds: "the newest tool calls with their results" },
  recent: { name: "recent", holds: "the messages of the newest turns" },
  messages: { name: "messages", holds: "messages whose layer is not known" },
};

/** The fates in the order of their filters; the sign tells them apart without colour. */
export const FATES: Readonly<
  Record<Fate, { readonly word: string; readonly sign: string; readonly means: string }>
> = {
  kept: { word: "kept", sign: "●", means: "stays as it was" },
  cleared: { word: "cleared", sign: "○", means: "the tool's output left, its call and a note stay" },
  cut: { word: "cut", sign: "◐", means: "the beginning and the end of its text stay" },
  summarized: { word: "summarized", sign: "≡", means: "left the window; the summary speaks of it" },
  unknown: { word: "unknown", sign: "?", means: "nobody wrote down what became of it" },
};

export const KINDS: Readonly<Record<MessageKind, string>> = {
  text: "",
  toolCall: "calls",
  toolResult: "result",
  reasoning: "reasoning",
  media: "media",
  summary: "summary",
};

/** Plain words for the terms of the page: shown where the pointer rests, and all together under “Keys and words”. */
export const GLOSSARY: Readonly<Record<string, string>> = {
  window: "The most tokens that the model can read in one call.",
  trigger: "From this many tokens on, a request is compacted before it is sent.",
  "kept free": "Tokens at the end of the window that no request may use, so that the answer has room.",
  compaction:
    "Older messages leave the request and a summary takes their place; the archive keeps the originals.",
  strategy: "What a compaction does first: summarize, or only clear old tool output.",
  "recent turns": "The newest turns stay word for word; a turn is a user message and all that answers it.",
  "tool pairs": "A tool call with its result; the newest of them stay together.",
  "never pruned": "Messages of these roles always stay.",
  target: "Where a compaction aims; it may be missed.",
  counted: "Tokens as Compact counts them.",
  reported: "Tokens as the provider reported them for the call.",
  "without compaction": "Tokens that the whole history would have taken.",
  ...Object.fromEntries(Object.values(LAYERS).map(({ name, holds }) => [name, `Holds ${holds}.`])),
  ...Object.fromEntries(Object.values(FATES).map(({ word, means }) => [word, `The message ${means}.`])),
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

/** A compaction in one sentence, for a label. */
export function sentence({ index, step, tokensBefore, tokensAfter, reason }: CompactionHead): string {
  const why = reason === undefined ? "" : `: ${reasonWords(reason)}`;
  const saved = percent(tokensBefore - tokensAfter, tokensBefore);
  return `Compaction ${index + 1}, before call ${count(step + 1)}${why}. ${count(tokensBefore)} to ${count(tokensAfter)} tokens, ${saved} less.`;
}
