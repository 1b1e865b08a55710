import { MANY, optional, type Properties, property } from "./property-schema.ts";

/** Why a compaction was made or not: the policy's reasons. */
export const reasons: Readonly<Record<string, string>> = {
  below_trigger: "no threshold is reached",
  trigger_pct: "the share of the window",
  max_tokens: "the absolute number of tokens",
  max_tokens_before_summary: "the absolute number of tokens of the messages alone",
  hard_cap: "the window less its buffer",
  manual: "somebody asked for it",
  max_bytes: "too many bytes for the wire",
  cold_cache: "over the lower threshold, and the provider's cache is cold anyway",
  tool_output: "a tool result was cut before it was first sent",
  just_compacted: "not yet: another compaction would gain nothing",
  nothing_eligible: "not possible: all of it must stay",
  in_background: "not yet: one is being prepared",
  fixed_over_trigger: "not possible: what is never pruned is over the trigger by itself",
  attempts_failed: "not now: the last attempts failed, the next waits until the list has grown",
};

/** What was done instead of what failed; another summarizer's or model's name as well. */
export const fallbacks: Readonly<Record<string, string>> = {
  builtin: "the built-in summarizer",
  "pruning-only": "no summary",
  shorter: "the model was asked for a shorter text",
  thinking: "the model was given room to think",
  brief: "the model was asked with the short prompt",
  none: "nothing: the call failed",
  "nothing is pruned": "the compaction came to nothing, the list stays as it was",
  "the session is read again": "another worker was quicker; the call goes on from what it stored",
  "compacted without an archive": "the policy allows it",
  "not handed to memory": "the policy allows it",
  "a compaction when it is due": "the one that was being prepared is given up",
  "kept or summarized as they are": "a malformed list is no reason to lose anything",
  "the summary is in the list and the state, not in the archive": "only the summary's file is missing",
};

export const warningCodes: Readonly<Record<string, string>> = {
  redaction_off: "secrets are stored and exported as they are",
  history_changed: "the list no longer goes on from what was summarized",
  fixed_over_trigger: "what is never pruned is over the trigger by itself",
  ask_cut: "the user's newest request does not fit whole and keeps its head and tail",
  passed_as_given: "an adapter passed the list on without a look",
  server_managed_history: "the provider keeps the history, there is nothing to compact here",
  too_long: "the provider refused the request as too long; it is compacted harder and sent once more",
  session_not_compacted: "a stored session stays as it is",
};

/** One request to a model for a summary. */
export const attempt: Properties = {
  model: property("string", "Who was asked"),
  provider: optional("string", "Whose model it is, where it is known"),
  prompt: property("string", "Id and version of the prompt"),
  input: property("string", "What was read", {
    values: { text: "the messages written out", prefix: "the agent's own conversation" },
  }),
  part: property("integer", "Which part of the input, from 1", MANY),
  parts: property("integer", "How many there are", MANY),
  max_tokens: property("integer", "Most that were asked for", { unit: "token" }),
  outcome: property("string", "`accepted`, or why not"),
  detail: optional("string", "What went wrong, in words"),
  fallback: optional("string", "What was done next"),
  duration_ms: property("integer", "The request, its answer included", { unit: "ms" }),
  input_tokens: property("integer", "By our count", { unit: "token" }),
  output_tokens: property("integer", "By our count", { unit: "token" }),
  usage: optional("object", "As the provider reported it", {
    properties: {
      input: property("integer", "All that was read", { unit: "token" }),
      cache_read: property("integer", "From the prompt cache", { unit: "token" }),
      cache_write: property("integer", "Into the prompt cache", { unit: "token" }),
      output: property("integer", "All that was generated", { unit: "token" }),
    },
  }),
  cost_usd: optional("number", "Where usage and prices are known", { unit: "USD" }),
};
