import type { z } from "zod";
import type { SnakeCase } from "./names.ts";
import {
  flag,
  group,
  listOf,
  named,
  noteOf,
  oneOf,
  patterns,
  type SettingNote,
  share,
  whole,
  words,
} from "./setting.ts";
import type { CompactConfig, ModelOverride } from "./settings.ts";

/** One schema per field of `T`, no more and no fewer, under its file name; this keeps schema and type the same. */
type Fields<T> = {
  readonly [K in keyof T & string as SnakeCase<K>]-?: z.ZodType<Exclude<T[K], undefined>>;
};

const policy: Fields<CompactConfig["policy"]> = {
  trigger_pct: share("Share of the window at which a compaction starts."),
  hard_cap_buffer: whole(0, "Tokens of the window left free for the next input and tool results."),
  keep_recent_turns: whole(1, "Newest turns that stay unchanged."),
  keep_tool_io_pairs: whole(0, "Newest tool calls that stay unchanged with their results."),
  keep_recent_messages: whole(1, "Newest messages that stay, counted instead of turns."),
  roles_never_prune: listOf(
    ["system", "developer", "user", "assistant", "tool"],
    "Roles whose messages always stay.",
  ),
  strategy: oneOf(
    ["task_state", "decision_log", "code_delta", "brief", "step_ledger", "requirements_ledger"],
    "What a summary is shaped for.",
  ),
  max_tokens: whole(1, "Absolute trigger in tokens, and ceiling of a compacted list."),
  max_tokens_before_summary: whole(1, "Absolute trigger in tokens of the messages alone."),
  target_context_tokens: whole(1, "Tokens that a compaction aims for."),
  on_overflow: oneOf(
    ["error", "elide"],
    "What happens when kept messages alone exceed the budget: an error, or the largest keep only head and tail.",
  ),
  clear_tool_results: flag("Empties old tool results in place before anything is summarized."),
  max_tool_result_tokens: whole(
    64,
    "Tool results of more tokens keep only head and tail, from the first time they are sent.",
  ),
  max_request_bytes: whole(
    1,
    "Most bytes of a request; images over it leave, oldest first, before text does.",
  ),
  cold_trigger_pct: share("Trigger, as a share of the window, while the provider's cache is cold anyway."),
  background_trigger_pct: share(
    "Share of the window at which a compaction is prepared beside the run, to be ready at the trigger.",
  ),
  cache_ttl_seconds: whole(0, "Seconds after which the provider's cache is taken to be cold."),
};

const summarizer: Fields<CompactConfig["summarizer"]> = {
  kind: oneOf(["builtin"], "Who writes summaries; `builtin` needs no model."),
  max_summary_tokens: whole(1, "Most tokens that a summary may have; a tenth of the window when left out."),
  summary_role: oneOf(["assistant", "user", "system"], "Role of the summary message."),
  fallback: oneOf(
    ["builtin", "pruning-only"],
    "What follows a failed summarizer: the built-in one, or no summary at all.",
  ),
  verify: oneOf(
    ["flag", "remove", "off"],
    "What happens to claims of a model's summary that the messages do not hold: listed below it, taken out, or not looked for.",
  ),
  input: oneOf(
    ["text", "prefix"],
    "What a model reads: the messages written out, or the agent's own conversation, which the provider's cache serves.",
  ),
  deadline_seconds: whole(1, "Seconds that a model's summary may take, all attempts together."),
  seed: whole(0, "Seed of a model's requests, where its provider takes one."),
};

const storage: Fields<CompactConfig["storage"]> = {
  kind: oneOf(
    ["fs", "memory", "s3", "postgres"],
    "Where the archive lies: on disk, in memory until the program ends, in a bucket of S3, or in a Postgres database.",
  ),
  root: words("Folder of the archive, relative to the working directory.", "inside"),
  bucket: words("Bucket of the archive, for s3.", "never"),
  prefix: words("Folder of the archive inside the bucket.", "never"),
  region: words("Region of the bucket; when left out, what the AWS SDK finds.", "never"),
  endpoint: words("URL of an S3 server other than AWS.", "never"),
  kms_key_id: words("KMS key that the server encrypts the archive with.", "never"),
  force_path_style: flag(
    "Puts the bucket into the path of requests; most servers other than AWS need it.",
    "never",
  ),
  schema: words("Schema of the tables, for postgres; its URL is COMPACT_POSTGRES_URL.", "never"),
  on_failure: oneOf(
    ["stop", "continue"],
    "Whether messages may leave the prompt when they could not be archived.",
  ),
};

const redaction: Fields<CompactConfig["redaction"]> = {
  enabled: flag("Takes secrets out of everything that is archived, traced or logged."),
  patterns: patterns("More regular expressions whose matches are taken out."),
  personal: flag("Also takes out e-mail addresses, telephone numbers, payment cards and bank accounts."),
};

const tracing: Fields<CompactConfig["tracing"]> = {
  console: flag("Writes events to stderr."),
  jsonl: words("File that events are appended to, one JSON object a line.", "inside"),
  ariadne: words("URL of Ariadne's /ingest, which events are sent to.", "never"),
  opentelemetry: flag(
    "Events as spans and metrics to the OpenTelemetry SDK that the program has registered.",
  ),
};

const memory: Fields<CompactConfig["memory"]> = {
  automatic_writes: flag("Lets the program write memory files; nothing is written by itself otherwise."),
};

const memoryRecall: Fields<CompactConfig["memoryRecall"]> = {
  enabled: flag("Puts what the memory knows before the user's message."),
  max_candidates: whole(1, "Best sections that are looked at."),
  max_injected: whole(0, "Most sections that are put before a message."),
  max_chars: whole(0, "Most characters of them together, tags included."),
  rerank_with_model: flag("Lets the memory's model order them; no model is asked otherwise."),
};

const sessionMemory: Fields<CompactConfig["sessionMemory"]> = {
  enabled: flag("Keeps the state of the work in SESSION.md."),
  min_turns_between_update: whole(1, "Turns since the last update that make the next one due."),
  min_tool_calls_between_update: whole(1, "Tool calls since the last update that make the next one due."),
  force_refresh_before_compact: flag("Brings SESSION.md up to date before a compaction."),
  force_refresh_before_new_session: flag("Brings SESSION.md up to date before a new session."),
};

const model: Fields<ModelOverride> = {
  window: whole(1, "Tokens of prompt and answer together."),
  max_output: whole(1, "Most tokens of one answer."),
  encoding: oneOf(["cl100k_base", "o200k_base"], "Encoding that its tokens are counted with."),
};

const top: Fields<CompactConfig> = {
  model: words("Model whose window and encoding are used."),
  max_context_tokens: whole(1, "Tokens of the window; when left out, the model's own."),
  policy: group<CompactConfig["policy"]>(policy),
  summarizer: group<CompactConfig["summarizer"]>(summarizer),
  storage: group<CompactConfig["storage"]>(storage),
  redaction: group<CompactConfig["redaction"]>(redaction),
  tracing: group<CompactConfig["tracing"]>(tracing),
  memory: group<CompactConfig["memory"]>(memory),
  memory_recall: group<CompactConfig["memoryRecall"]>(memoryRecall),
  session_memory: group<CompactConfig["sessionMemory"]>(sessionMemory),
  models: named(group<ModelOverride>(model), "Facts about models by name: window, max_output, encoding."),
};

/** Checks one layer of settings in file names; everything may be left out, nothing unknown may be in. */
export const configSchema: z.ZodType = group(top);

/** One setting as files, environment and documentation see it. */
export interface Setting extends SettingNote {
  /** In file names: section and name, or the name alone. */
  readonly path: readonly string[];
}

const sections: Readonly<Record<string, Readonly<Record<string, z.ZodType>>>> = {
  policy,
  summarizer,
  storage,
  redaction,
  tracing,
  memory,
  memory_recall: memoryRecall,
  session_memory: sessionMemory,
};

/** Every setting in the order of the documentation. */
export const settings: readonly Setting[] = Object.entries(top).flatMap(([name, schema]) => {
  const section = sections[name];
  if (section === undefined) return settingOf([name], schema);
  return Object.entries(section).flatMap(([field, inner]) => settingOf([name, field], inner));
});

/** Names that are known right below a path; nothing where the user chooses them. */
export function namesBelow(path: readonly (string | number)[]): readonly string[] {
  const [first, second] = path;
  if (first === undefined) return Object.keys(top);
  if (first === "models") return second === undefined ? [] : Object.keys(model);
  return Object.keys(sections[first] ?? {});
}

function settingOf(path: readonly string[], schema: z.ZodType): Setting[] {
  const note = noteOf(schema);
  return note === undefined ? [] : [{ ...note, path }];
}
