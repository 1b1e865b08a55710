// What every event and record contains, in words: OBSERVABILITY.md is generated from it, and tests check records
// against it.

function property(type, meaning, rest = {}) {
  return { type, meaning, ...rest };
}

function optional(schema) {
  return { ...schema, optional: true };
}

const text = (meaning, rest) => property("string", meaning, rest);
const words = (meaning, values) => text(meaning, { values });
const counted = (unit) => (meaning) => property("integer", meaning, { unit });
const [tokens, messages, count] = [counted("token"), counted("message"), counted("count")];
const ratio = (meaning) => property("number", meaning, { unit: "ratio" });
const object = (meaning, properties) => property("object", meaning, { properties });

// ---- values and parts shared by several events

/** The policy's reasons to compact or not. */
export const reasons = {
  below_trigger: "no threshold is reached",
  trigger_pct: "the share of the window is reached",
  max_tokens: "the absolute number of tokens is reached",
  max_tokens_before_summary: "the absolute number of tokens of the messages alone is reached",
  max_messages: "the number of messages is reached",
  hard_cap: "the request is larger than the window less its buffer",
  manual: "a person or program asked for it",
  requested: "the model asked for it with its own tool",
  max_bytes: "the request has too many bytes",
  max_images: "the request has too many images",
  cold_cache: "the lower threshold is reached, and the provider's cache has expired anyway",
  tool_output: "a tool result is over its limit and was not sent yet",
  just_compacted: "not yet: another compaction would gain nothing",
  undone: "not yet: the last one was undone",
  nothing_eligible: "not possible: everything must stay",
  in_background: "not yet: one is being prepared",
  fixed_over_trigger: "not possible: what is never pruned is over the trigger by itself",
  attempts_failed: "not now: the last attempts failed; the next one waits until the list has grown",
};

/** The fallback used after a failure; also the name of another summarizer or model. */
const fallbacks = {
  builtin: "the built-in summarizer",
  "pruning-only": "no summary",
  shorter: "the model was asked for a shorter text",
  thinking: "the model was given room to think",
  brief: "the model was asked with the short prompt",
  none: "nothing: the call failed",
  "nothing is pruned": "the compaction was given up, the list is as it was",
  "the session is read again": "another worker compacted the session; the call continues from its result",
  "compacted without an archive": "as `storage.onFailure` allows",
  "not handed to memory": "as `storage.onFailure` allows",
  "compacted at the trigger": "the compaction that was being prepared is given up",
  "kept or summarized as they are": "malformed messages are not dropped",
  "the summary is in the list and the state, not in the archive": "only the summary's file is missing",
};

const warningCodes = {
  redaction_off: "secrets are stored and exported as they are",
  history_changed: "messages that were already summarized have changed",
  fixed_over_trigger: "what is never pruned is over the trigger by itself",
  ask_cut: "the user's newest request does not fit whole; its head and tail are kept",
  passed_as_given: "an adapter passed the list on unchecked",
  no_session_id: "an adapter got no session id, so that nothing is compacted",
  server_managed_history: "the provider keeps the history, so there is nothing to compact here",
  too_long: "the provider refused the request as too long; it is compacted further and sent once more",
  session_not_compacted: "a stored session is left as it is",
  compacts_often: "compactions follow each other after few calls",
  list_mended: "the list broke a rule of its provider and was mended",
  malformed_list: "the list breaks a rule of its provider",
  events_dropped: "events did not reach an exporter or the file beside the archive",
};

const outcomes = {
  compacted: "the list was made smaller",
  failed: "the list is as it was; `compact.error` says more",
};

const layerTokens = {
  fixed: tokens("System prompt, tools and pending input"),
  pinned: tokens("Never pruned"),
  summary: tokens("The new summary; an earlier one counts where its message stood"),
  recent: tokens("Newest turns"),
  tool_pairs: tokens("Newest tool calls with their results"),
  remainder: tokens("Everything else"),
};

/** Adjacent messages with the same action. */
const action = {
  from: messages("The first message, counted from 0 as in the archive's transcript"),
  to: messages("The last message"),
  action: words("What happened to them", {
    keep: "stay as they were",
    clear: "stay, their tool output emptied",
    elide: "stay, cut to head and tail",
    summarize: "left the list, the summary stands for them",
  }),
  layer: words("Where they stood", { pinned: "", recent: "", tool_pairs: "", remainder: "" }),
  tokens_before: tokens("All of them"),
  tokens_after: tokens("All of them, without the summary"),
};

/** One model request for a summary. */
const attempt = {
  model: text("The model that was asked"),
  provider: optional(text("The provider of the model, where it is known")),
  prompt: text("Id and version of the prompt"),
  input: words("What was read", { text: "the messages written out", prefix: "the agent's own conversation" }),
  part: count("Which part of the input, from 1"),
  parts: count("How many there are"),
  max_tokens: tokens("The limit that was asked for"),
  outcome: text("`accepted`, or why not"),
  detail: optional(text("What went wrong, in words")),
  fallback: optional(text("What was done next")),
  duration_ms: property("integer", "The request, its answer included", { unit: "ms" }),
  input_tokens: tokens("By our count"),
  output_tokens: tokens("By our count"),
  usage: optional(
    object("As the provider reported it", {
      input: tokens("All that was read"),
      cache_read: tokens("From the prompt cache"),
      cache_write: tokens("Into the prompt cache"),
      output: tokens("All that was generated"),
    }),
  ),
  cost_usd: optional(property("number", "Where usage and prices are known", { unit: "USD" })),
};

// ---- the events

const model = optional(text("The model of the configuration, where it names one"));

const step = optional(
  property(
    "integer",
    "Which compaction of the session it is part of, from 1; the archive's files have the same number",
  ),
);

/** Every event. */
export const eventSchema = {
  "compact.token_estimate": {
    when: "at every preflight",
    status: "ok",
    properties: {
      model: text("The model of the configuration; `unknown` without one"),
      t_est: tokens("Tokens of the whole request, by our count"),
      max_tokens: tokens("The model's window"),
      usage_pct: ratio("`t_est` ÷ `max_tokens`: 0.85 is 85 %; over 1 where it does not fit"),
      breakdown: object("The parts of `t_est`; they add up to it", {
        system: tokens("System prompt"),
        developer: tokens("Developer messages"),
        tools_schema: tokens("Descriptions of the tools"),
        messages: tokens("History and pending input"),
      }),
    },
  },
  "compact.trigger_decision": {
    when: "at every preflight, either way; for a compaction once it is done or has failed, with the time when it was decided",
    status: "ok",
    properties: {
      triggered: property("boolean", "Whether a compaction was started; `outcome` says how it ended"),
      reason: words("Why, or why not", reasons),
      outcome: optional(words("What became of it, when triggered", outcomes)),
      error_type: optional(text("Why it failed, when it did: as in `compact.error`")),
      model,
      policy: object("The settings that decided", {
        trigger_pct: ratio("Share of the window that starts a compaction"),
        hard_cap_buffer: tokens("Left free for the next input"),
        strategy: text("The kind of summary"),
      }),
      kept: optional(
        object("What stays, when triggered", {
          pinned: messages("Messages that are never pruned"),
          recent_turns: count("Newest turns that were kept"),
          tool_pairs: count("Newest tool calls that were kept with their results"),
        }),
      ),
      pruned_count: optional(messages("Messages that left the list, when triggered")),
      step,
      note: optional(text("The note of a manual compaction")),
    },
  },
  "compact.archival": {
    when: "once the originals are stored, before anything is pruned; its times are those of writing them",
    status: "ok",
    properties: {
      session_id: text("The session"),
      step: property("integer", "The number of the compaction, as in the names of the archive's files"),
      storage_adapter: text("`fs`, `memory`, `s3`, `postgres`, or the kind of another driver"),
      location: text("File or URL of the transcript"),
      messages: optional(messages("Messages that were saved")),
    },
  },
  "compact.summary_created": {
    when: "when a compaction put a summary in the list; its times are those of making it",
    status: "ok",
    payload: "the summary's text",
    properties: {
      strategy: text("The kind of summary"),
      input_messages: messages("Messages that it stands for"),
      summary_tokens: tokens("Of the whole summary message"),
      compression_ratio: ratio("Summary ÷ what it stands for: 0.05 is one twentieth"),
      summarizer: optional(text("What wrote it: `builtin`, or a model's name")),
      coverage: optional(ratio("Share of the input that the summarizer read")),
      checked_count: optional(count("Claims of a model's text that were looked up in its source")),
      unfound_count: optional(count("Those of them that are not in the source")),
      unfound: optional(property("strings", "Those claims, with their kind")),
      attempts: optional(
        property("objects", "Requests to models, in order, the accepted one last", {
          properties: attempt,
        }),
      ),
      cost_usd: optional(
        property("number", "All requests together, where usage and prices of each are known", {
          unit: "USD",
        }),
      ),
      step,
    },
  },
  "compact.pruned_messages": {
    when: "when the list was made smaller, as the last event of a compaction",
    status: "ok",
    properties: {
      layers: object("What the list now holds", {
        pinned: messages("Never pruned"),
        summary: messages("1, or 0 without a summary"),
        recent: messages("Everything else"),
      }),
      layer_tokens: optional(
        object("Tokens by layer; each side adds up to the whole request", {
          before: object("Before the compaction", layerTokens),
          after: object("After it", layerTokens),
        }),
      ),
      model,
      pruned_count: messages("Left the list for the archive"),
      cleared_count: optional(messages("Stay, with their tool output emptied")),
      elided_count: optional(messages("Stay, cut to head and tail")),
      kept_count: optional(messages("Stay as they were")),
      actions: optional(
        property(
          "objects",
          "What became of each message: neighbours with the same action and layer share an entry, 200 entries at most",
          { properties: action },
        ),
      ),
      actions_left_out: optional(messages("Messages at the end of the list beyond those entries")),
      tokens_before: optional(tokens("Of the whole request")),
      tokens_after: optional(tokens("Of the whole request")),
      step,
      elapsed_ms: optional(
        property(
          "number",
          "Work on the compaction by a steady clock; preparing it beside the run counts, waiting to be taken over does not",
          { unit: "ms" },
        ),
      ),
    },
  },
  "compact.undone": {
    when: "when a compaction was undone",
    status: "ok",
    properties: {
      model,
      step: property("integer", "The number of the compaction that was undone; its archive files stay"),
      tokens_before: tokens("Of the request with it"),
      tokens_after: tokens("Of the request without it"),
    },
  },
  "compact.error": {
    when: "when something failed, also where something else was done instead",
    status: "error",
    properties: {
      error_type: text("A code of `CompactError`, `MalformedMessages`, or another error's name"),
      message: text("What went wrong"),
      fallback: text("What was done instead", { values: fallbacks, open: true }),
      attempt: optional(object("The request to a model that failed", attempt)),
      step,
    },
  },
  "compact.warning": {
    when: "when something works less well than it could",
    status: "ok",
    properties: {
      severity: words("How much it matters", { low: "", medium: "", high: "" }),
      code: text("The kind of warning", { values: warningCodes, open: true }),
      message: text("What a person should know"),
      count: optional(count("Of what the warning counts, such as dropped events")),
    },
  },
};

/** The fields of every record in addition to its event's properties, as in `events.jsonl`. */
export const recordSchema = {
  version: property(
    "integer",
    "Of this schema. It rises when a property changes its meaning or is removed, not when one is added",
  ),
  name: text("Which event it is"),
  session_id: text("The session, as the caller names it"),
  trace_id: optional(text("The host's trace that was current, where an exporter knows it")),
  span_id: optional(text("The host's span that was current")),
  started_at: text("ISO 8601 in UTC with milliseconds: when the step began"),
  ended_at: text("When it ended; the same for a moment"),
  status: words("How it ended", { ok: "", error: "" }),
  properties: property("object", "By event"),
};
