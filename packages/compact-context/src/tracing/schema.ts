import { type CompactEventName, EVENT_VERSION } from "../core/ports.ts";
import { isObject } from "../errors.ts";

export type PropertyType = "string" | "integer" | "number" | "boolean" | "object" | "strings" | "objects";

/** One property of an event, or of an object inside of it. */
export interface PropertySchema {
  readonly type: PropertyType;
  /** Of a number: `token`, `message`, `ms`, `USD`, `ratio` (0 to 1 unless told otherwise), `count`. */
  readonly unit?: string;
  readonly meaning: string;
  /** Left out where it has no value. */
  readonly optional?: true;
  /** Words that it may be, with what they mean. */
  readonly values?: Readonly<Record<string, string>>;
  /** Whether other words may come as well. */
  readonly open?: true;
  /** What an object, or each object of a list, holds. */
  readonly properties?: Properties;
}

export type Properties = Readonly<Record<string, PropertySchema>>;

type Rest = Omit<PropertySchema, "type" | "meaning">;

const OPTIONAL: Rest = { optional: true };
const MANY: Rest = { unit: "count" };

function property(type: PropertyType, meaning: string, rest: Rest = {}): PropertySchema {
  return { type, meaning, ...rest };
}

function optional(type: PropertyType, meaning: string, rest: Rest = {}): PropertySchema {
  return { type, meaning, ...rest, optional: true };
}

// ---- words and parts that several events share

/** Why a compaction was started or not: the policy's reasons. */
export const reasons: Readonly<Record<string, string>> = {
  below_trigger: "no threshold is reached",
  trigger_pct: "the share of the window is reached",
  max_tokens: "the absolute number of tokens is reached",
  max_tokens_before_summary: "the absolute number of tokens of the messages alone is reached",
  max_messages: "the number of messages is reached",
  hard_cap: "the request is larger than the window less its buffer",
  manual: "a person or program asked for it",
  requested: "the model asked for it with its own tool",
  max_bytes: "the request has too many bytes",
  cold_cache: "the lower threshold is reached, and the provider's cache has expired anyway",
  tool_output: "a tool result is over its limit and was not sent yet",
  just_compacted: "not yet: another compaction would gain nothing",
  undone: "not yet: the last one was undone",
  nothing_eligible: "not possible: everything must stay",
  in_background: "not yet: one is being prepared",
  fixed_over_trigger: "not possible: what is never pruned is over the trigger by itself",
  attempts_failed: "not now: the last attempts failed; the next one waits until the list has grown",
};

/** What was done instead of what failed; the name of another summarizer or model as well. */
const fallbacks: Readonly<Record<string, string>> = {
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

const warningCodes: Readonly<Record<string, string>> = {
  redaction_off: "secrets are stored and exported as they are",
  history_changed: "messages that were already summarized have changed",
  fixed_over_trigger: "what is never pruned is over the trigger by itself",
  ask_cut: "the user's newest request does not fit whole; its head and tail are kept",
  passed_as_given: "an adapter passed the list on unchecked",
  server_managed_history: "the provider keeps the history, so there is nothing to compact here",
  too_long: "the provider refused the request as too long; it is compacted further and sent once more",
  session_not_compacted: "a stored session is left as it is",
  compacts_often: "compactions follow each other after few calls",
  list_mended: "the list broke a rule of its provider and was mended",
  malformed_list: "the list breaks a rule of its provider",
  events_dropped: "events did not reach an exporter or the file beside the archive",
};

const outcomes: Readonly<Record<string, string>> = {
  compacted: "the list was made smaller",
  failed: "the list is as it was; `compact.error` says more",
};

const layerTokens: Properties = {
  fixed: property("integer", "System prompt, tools and pending input", { unit: "token" }),
  pinned: property("integer", "Never pruned", { unit: "token" }),
  summary: property("integer", "The new summary; an earlier one counts where its message stood", {
    unit: "token",
  }),
  recent: property("integer", "Newest turns", { unit: "token" }),
  tool_pairs: property("integer", "Newest tool calls with their results", { unit: "token" }),
  remainder: property("integer", "Everything else", { unit: "token" }),
};

/** Neighbouring messages that one thing happened to. */
const action: Properties = {
  from: property("integer", "The first message, counted from 0 as in the archive's transcript", {
    unit: "message",
  }),
  to: property("integer", "The last message", { unit: "message" }),
  action: property("string", "What happened to them", {
    values: {
      keep: "stay as they were",
      clear: "stay, their tool output emptied",
      elide: "stay, cut to head and tail",
      summarize: "left the list, the summary stands for them",
    },
  }),
  layer: property("string", "Where they stood", {
    values: { pinned: "", recent: "", tool_pairs: "", remainder: "" },
  }),
  tokens_before: property("integer", "All of them", { unit: "token" }),
  tokens_after: property("integer", "All of them, without the summary", { unit: "token" }),
};

/** One request to a model for a summary. */
const attempt: Properties = {
  model: property("string", "The model that was asked"),
  provider: optional("string", "The provider of the model, where it is known"),
  prompt: property("string", "Id and version of the prompt"),
  input: property("string", "What was read", {
    values: { text: "the messages written out", prefix: "the agent's own conversation" },
  }),
  part: property("integer", "Which part of the input, from 1", MANY),
  parts: property("integer", "How many there are", MANY),
  max_tokens: property("integer", "The limit that was asked for", { unit: "token" }),
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

// ---- the events

export interface EventSchema {
  readonly when: string;
  readonly properties: Properties;
  /** What the payload is, where there is one. */
  readonly payload?: string;
  readonly status: "ok" | "error";
}

const model: PropertySchema = optional("string", "The model of the configuration, where it names one");

const step: PropertySchema = property(
  "integer",
  "Which compaction of the session it is part of, from 1; the archive's files have the same number",
  OPTIONAL,
);

/** Every event with all that it holds: the one place that says so. Checked by `recordProblems`, printed in OBSERVABILITY.md. */
export const eventSchema: Readonly<Record<CompactEventName, EventSchema>> = {
  "compact.token_estimate": {
    when: "at every preflight",
    status: "ok",
    properties: {
      model: property("string", "The model of the configuration; `unknown` without one"),
      t_est: property("integer", "Tokens of the whole request, by our count", { unit: "token" }),
      max_tokens: property("integer", "The model's window", { unit: "token" }),
      usage_pct: property("number", "`t_est` ÷ `max_tokens`: 0.85 is 85 %; over 1 where it does not fit", {
        unit: "ratio",
      }),
      breakdown: property("object", "The parts of `t_est`; they add up to it", {
        properties: {
          system: property("integer", "System prompt", { unit: "token" }),
          developer: property("integer", "Developer messages", { unit: "token" }),
          tools_schema: property("integer", "Descriptions of the tools", { unit: "token" }),
          messages: property("integer", "History and pending input", { unit: "token" }),
        },
      }),
    },
  },
  "compact.trigger_decision": {
    when: "at every preflight, either way; for a compaction once it is done or has failed, with the time when it was decided",
    status: "ok",
    properties: {
      triggered: property("boolean", "Whether a compaction was started; `outcome` says how it ended"),
      reason: property("string", "Why, or why not", { values: reasons }),
      outcome: optional("string", "What became of it, when triggered", { values: outcomes }),
      error_type: optional("string", "Why it failed, when it did: as in `compact.error`"),
      model,
      policy: property("object", "The settings that decided", {
        properties: {
          trigger_pct: property("number", "Share of the window that starts a compaction", { unit: "ratio" }),
          hard_cap_buffer: property("integer", "Left free for the next input", { unit: "token" }),
          strategy: property("string", "The kind of summary"),
        },
      }),
      kept: optional("object", "What stays, when triggered", {
        properties: {
          pinned: property("integer", "Messages that are never pruned", { unit: "message" }),
          recent_turns: property("integer", "Newest turns that were kept", { unit: "count" }),
          tool_pairs: property("integer", "Newest tool calls that were kept with their results", {
            unit: "count",
          }),
        },
      }),
      pruned_count: optional("integer", "Messages that left the list, when triggered", { unit: "message" }),
      step,
      note: optional("string", "The note of a manual compaction"),
    },
  },
  "compact.archival": {
    when: "once the originals are stored, before anything is pruned; its times are those of writing them",
    status: "ok",
    properties: {
      session_id: property("string", "The session"),
      step: property("integer", "The number of the compaction, as in the names of the archive's files"),
      storage_adapter: property("string", "`fs`, `memory`, `s3`, `postgres`, or the kind of another driver"),
      location: property("string", "File or URL of the transcript"),
      messages: optional("integer", "Messages that were saved", { unit: "message" }),
    },
  },
  "compact.summary_created": {
    when: "when a compaction put a summary in the list; its times are those of making it",
    status: "ok",
    payload: "the summary's text",
    properties: {
      strategy: property("string", "The kind of summary"),
      input_messages: property("integer", "Messages that it stands for", { unit: "message" }),
      summary_tokens: property("integer", "Of the whole summary message", { unit: "token" }),
      compression_ratio: property("number", "Summary ÷ what it stands for: 0.05 is one twentieth", {
        unit: "ratio",
      }),
      summarizer: optional("string", "What wrote it: `builtin`, or a model's name"),
      coverage: optional("number", "Share of the input that the summarizer read", { unit: "ratio" }),
      checked_count: optional("integer", "Claims of a model's text that were looked up in its source", MANY),
      unfound_count: optional("integer", "Those of them that are not in the source", MANY),
      unfound: optional("strings", "Those claims, with their kind"),
      attempts: optional("objects", "Requests to models, in order, the accepted one last", {
        properties: attempt,
      }),
      cost_usd: optional("number", "All requests together, where usage and prices of each are known", {
        unit: "USD",
      }),
      step,
    },
  },
  "compact.pruned_messages": {
    when: "when the list was made smaller, as the last event of a compaction",
    status: "ok",
    properties: {
      layers: property("object", "What the list now holds", {
        properties: {
          pinned: property("integer", "Never pruned", { unit: "message" }),
          summary: property("integer", "1, or 0 without a summary", { unit: "message" }),
          recent: property("integer", "Everything else", { unit: "message" }),
        },
      }),
      layer_tokens: optional("object", "Tokens by layer; each side adds up to the whole request", {
        properties: {
          before: property("object", "Before the compaction", { properties: layerTokens }),
          after: property("object", "After it", { properties: layerTokens }),
        },
      }),
      model,
      pruned_count: property("integer", "Left the list for the archive", { unit: "message" }),
      cleared_count: optional("integer", "Stay, with their tool output emptied", { unit: "message" }),
      elided_count: optional("integer", "Stay, cut to head and tail", { unit: "message" }),
      kept_count: optional("integer", "Stay as they were", { unit: "message" }),
      actions: optional(
        "objects",
        "What became of each message: neighbours with the same action and layer share an entry, 200 entries at most",
        { properties: action },
      ),
      actions_left_out: optional("integer", "Messages at the end of the list beyond those entries", {
        unit: "message",
      }),
      tokens_before: optional("integer", "Of the whole request", { unit: "token" }),
      tokens_after: optional("integer", "Of the whole request", { unit: "token" }),
      step,
      elapsed_ms: optional(
        "number",
        "Work on the compaction by a steady clock; preparing it beside the run counts, waiting to be taken over does not",
        { unit: "ms" },
      ),
    },
  },
  "compact.undone": {
    when: "when a compaction was undone",
    status: "ok",
    properties: {
      model,
      step: property("integer", "The number of the compaction that was undone; its archive files stay"),
      tokens_before: property("integer", "Of the request with it", { unit: "token" }),
      tokens_after: property("integer", "Of the request without it", { unit: "token" }),
    },
  },
  "compact.error": {
    when: "when something failed, also where something else was done instead",
    status: "error",
    properties: {
      error_type: property(
        "string",
        "A code of `CompactError`, `MalformedMessages`, or another error's name",
      ),
      message: property("string", "What went wrong"),
      fallback: property("string", "What was done instead", { values: fallbacks, open: true }),
      attempt: optional("object", "The request to a model that failed", { properties: attempt }),
      step,
    },
  },
  "compact.warning": {
    when: "when something works less well than it could",
    status: "ok",
    properties: {
      severity: property("string", "How much it matters", { values: { low: "", medium: "", high: "" } }),
      code: property("string", "The kind of warning", { values: warningCodes, open: true }),
      message: property("string", "What a person should know"),
      count: optional("integer", "Of what the warning counts, such as dropped events", MANY),
    },
  },
};

/** What every record has beside its event's properties, as in `events.jsonl`. */
export const recordSchema: Properties = {
  version: property(
    "integer",
    "Of this schema. It rises when a property changes its meaning or is removed, not when one is added",
  ),
  name: property("string", "Which event it is"),
  session_id: property("string", "The session, as the caller names it"),
  trace_id: optional("string", "The host's trace that was current, where an exporter knows it"),
  span_id: optional("string", "The host's span that was current"),
  started_at: property("string", "ISO 8601 in UTC with milliseconds: when the step began"),
  ended_at: property("string", "When it ended; the same for a moment"),
  status: property("string", "How it ended", { values: { ok: "", error: "" } }),
  properties: property("object", "By event"),
};

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * What keeps a value from being the record of an event of this version, as `events.jsonl` holds them: one line for
 * each problem with its place, none for a record that is right.
 */
export function recordProblems(record: unknown): string[] {
  if (!isObject(record)) return ["not an object"];
  const { payload, properties, ...fields } = record;
  const problems = problemsIn({ ...fields, properties }, recordSchema, "");
  if (fields.version !== EVENT_VERSION) problems.push(`version: not ${EVENT_VERSION}`);
  for (const name of ["started_at", "ended_at"]) {
    if (!TIME.test(String(fields[name]))) problems.push(`${name}: not a time`);
  }
  if (String(fields.ended_at) < String(fields.started_at)) problems.push("ended_at: before started_at");
  const schema = Object.entries(eventSchema).find(([name]) => name === fields.name)?.[1];
  if (schema === undefined) return [...problems, "name: no such event"];
  if (schema.status !== fields.status) problems.push(`status: not ${schema.status}`);
  if ((schema.payload === undefined) !== (payload === undefined))
    problems.push("payload: there, or not there");
  return isObject(properties)
    ? [...problems, ...problemsIn(properties, schema.properties, "properties.")]
    : problems;
}

function problemsIn(value: Record<string, unknown>, schema: Properties, place: string): string[] {
  const unknown = Object.keys(value)
    .filter((name) => !Object.hasOwn(schema, name))
    .map((name) => `${place}${name}: not in the schema`);
  const known = Object.entries(schema).flatMap(([name, rule]) =>
    problemsOf(value[name], rule, `${place}${name}`),
  );
  return [...unknown, ...known];
}

function problemsOf(value: unknown, rule: PropertySchema, place: string): string[] {
  if (value === undefined) return rule.optional === true ? [] : [`${place}: missing`];
  if (!isOfType(value, rule)) return [`${place}: not of type ${rule.type}`];
  if (rule.values !== undefined && rule.open !== true && !Object.hasOwn(rule.values, String(value))) {
    return [`${place}: ${String(value)} is no such word`];
  }
  const inner = rule.properties;
  if (inner === undefined) return [];
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      problemsIn(item as Record<string, unknown>, inner, `${place}[${index}].`),
    );
  }
  return problemsIn(value as Record<string, unknown>, inner, `${place}.`);
}

function isOfType(value: unknown, { type }: PropertySchema): boolean {
  if (type === "integer") return Number.isSafeInteger(value) && Number(value) >= 0;
  if (type === "number") return Number.isFinite(value) && Number(value) >= 0;
  if (type === "object") return isObject(value);
  if (type === "strings") return Array.isArray(value) && value.every((item) => typeof item === "string");
  if (type === "objects") return Array.isArray(value) && value.every(isObject);
  return typeof value === type;
}
