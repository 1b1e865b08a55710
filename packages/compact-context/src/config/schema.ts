import { CompactError } from "../errors.ts";
import { compilePatterns } from "../redaction/custom-patterns.ts";
import type { CompactConfig, ModelOverride } from "./settings.ts";

// All settings in one table, used by files, environment, code and documentation.

/**
 * Restricts a setting in a file that was discovered rather than named by the user, since its author may be
 * untrusted: `inside` must be a path below the working directory, `never` cannot be set at all, `default`
 * only to its default, and `narrow` allows only patterns that leave ordinary text alone.
 */
export type Guard = "inside" | "never" | "default" | "narrow";

/** The values allowed, as a JSON schema, draft 2020-12, as far as it can express them. */
export interface JsonSchema {
  readonly type?: "number" | "integer" | "boolean" | "string" | "array" | "object";
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly items?: JsonSchema;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly description?: string;
}

/** One setting, for checks, error messages and documentation; `T` is its type in code. */
export interface SettingNote<T = unknown> {
  /** What it does, in one sentence. */
  readonly description: string;
  readonly schema: JsonSchema;
  /** The values allowed in words, such as `0.0-1.0`. */
  readonly values: string;
  readonly guard: Guard | undefined;
  /** Never set: ties the type to the setting. */
  readonly example?: T;
}

/** Settings by their names in a file, and groups of them. */
export interface Group {
  readonly [name: string]: SettingNote | Group;
}

/** One setting, as seen by files, environment and documentation. */
export interface Setting extends SettingNote {
  /** File names: section and name, or the name alone. */
  readonly path: readonly string[];
}

function note<T>(
  description: string,
  schema: JsonSchema,
  guard?: Guard,
  values: string = valuesOf(schema),
): SettingNote<T> {
  return { description, schema, values, guard };
}

/** A number above 0 and at most 1. */
const share = (description: string): SettingNote<number> =>
  note(description, { type: "number", exclusiveMinimum: 0, maximum: 1 });

/** A whole number of at least `least`. */
const whole = (least: number, description: string, guard?: Guard): SettingNote<number> =>
  note(description, { type: "integer", minimum: least }, guard);

const flag = (description: string, guard?: Guard): SettingNote<boolean> =>
  note(description, { type: "boolean" }, guard);

/** Non-empty text. */
const TEXT: JsonSchema = { type: "string", minLength: 1 };

const words = (description: string, guard?: Guard): SettingNote<string> => note(description, TEXT, guard);

const oneOf = <const T extends readonly string[]>(
  allowed: T,
  description: string,
  guard?: Guard,
): SettingNote<T[number]> => note(description, { enum: allowed }, guard);

const listOf = <const T extends readonly string[]>(
  allowed: T,
  description: string,
): SettingNote<readonly T[number][]> => note(description, { type: "array", items: { enum: allowed } });

/** The values that a schema allows, in words. */
function valuesOf({ type, enum: allowed, minimum = 0, maximum = 0, items = TEXT }: JsonSchema): string {
  if (allowed !== undefined) return `one of ${allowed.join(", ")}`;
  if (type === "number") return `${minimum.toFixed(1)}-${maximum.toFixed(1)}`;
  if (type === "integer") return `a whole number, ${minimum} or more`;
  if (type === "boolean") return "true or false";
  if (type === "array")
    return items.enum === undefined ? "a list of names" : `a list, each ${valuesOf(items)}`;
  return type === "object" ? "a group of names" : "a non-empty string";
}

/** A problem below a value. */
export interface Fault {
  readonly path: readonly number[];
  readonly message: string;
}

/** What is wrong with the value of a setting; at most one fault per entry of a list. */
export function faultsOf({ schema, guard }: SettingNote, value: unknown): Fault[] {
  const faultAt = (path: readonly number[], message: string | undefined): Fault[] =>
    message === undefined ? [] : [{ path, message }];
  if (schema.type !== "array") return faultAt([], faultOf(schema, value));
  if (!Array.isArray(value)) return faultAt([], "must be a list");
  const { items = TEXT } = schema;
  const entryFault = (entry: unknown) => (guard === "narrow" ? patternFault(entry) : faultOf(items, entry));
  return value.flatMap((entry: unknown, index) => faultAt([index], entryFault(entry)));
}

function faultOf(schema: JsonSchema, value: unknown): string | undefined {
  const { type, enum: allowed, minimum = 0, maximum = Number.POSITIVE_INFINITY } = schema;
  if (schema.exclusiveMinimum === value) return "must be more than 0";
  let fits: boolean;
  if (allowed !== undefined) fits = allowed.some((one) => one === value);
  else if (type === "boolean") fits = typeof value === "boolean";
  else if (type === "string") fits = typeof value === "string" && value !== "";
  else {
    fits = typeof value === "number" && value >= minimum && value <= maximum;
    if (type === "integer") fits &&= Number.isSafeInteger(value);
  }
  return fits ? undefined : `must be ${valuesOf(schema)}`;
}

/** Why the redactor would reject a pattern. */
function patternFault(pattern: unknown): string | undefined {
  if (typeof pattern !== "string" && !(pattern instanceof RegExp)) return "must be text";
  if (pattern === "") return "must not be empty";
  try {
    compilePatterns([pattern]);
    return undefined;
  } catch (error) {
    if (!CompactError.isInstance(error)) throw error;
    // The message starts with a place that the problem already has.
    const fault = error.message.slice(error.message.indexOf(" ") + 1);
    return error.cause instanceof Error ? `${fault}: ${error.cause.message}` : fault;
  }
}

/** The JSON schema of a group, with descriptions. */
function schemaOf(group: Group): JsonSchema {
  const properties = Object.entries(group).map(([name, one]) => [
    name,
    isSetting(one) ? { description: one.description, ...one.schema } : schemaOf(one),
  ]);
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(properties) };
}

/** Exactly one note per field of `T`, under its file name; keeps table and type in sync. */
type Fields<T> = { readonly [K in keyof T & string as SnakeCase<K>]-?: Field<Exclude<T[K], undefined>> };
type Field<V> = [V] extends [string | number | boolean | readonly unknown[]]
  ? SettingNote<V>
  : string extends keyof V
    ? SettingNote<V>
    : Fields<V>;

/** The settings of one model. */
export const ofModel: Fields<ModelOverride> = {
  window: whole(1, "Tokens of prompt and answer together."),
  encoding: oneOf(["cl100k_base", "o200k_base"], "Encoding that counts its tokens."),
  max_context_tokens: whole(1, "Instead of max_context_tokens."),
  trigger_pct: share("Instead of policy.trigger_pct."),
  target_context_tokens: whole(1, "Instead of policy.target_context_tokens."),
};

/** All settings, in documentation order. */
export const allSettings: Fields<CompactConfig> = {
  model: words("Model that decides the window and the encoding."),
  max_context_tokens: whole(1, "Tokens of the window. Default: the model's own."),
  policy: {
    trigger_pct: share("Share of the window at which a compaction starts, as a ratio: 0.85 is 85 %."),
    hard_cap_buffer: whole(0, "Tokens of the window reserved for the next input and tool results."),
    keep_recent_turns: whole(1, "Number of newest turns that stay unchanged."),
    keep_tool_io_pairs: whole(0, "Number of newest tool calls that stay unchanged, with their results."),
    keep_recent_messages: whole(1, "Number of newest messages that stay; replaces keep_recent_turns."),
    roles_never_prune: listOf(
      ["system", "developer", "user", "assistant", "tool"],
      "Roles whose messages always stay.",
    ),
    strategy: oneOf(
      ["task_state", "decision_log", "code_delta", "brief", "step_ledger", "requirements_ledger"],
      "Purpose that summaries are written for.",
    ),
    max_tokens: whole(1, "Trigger in tokens of the whole request, and upper limit of a compacted list."),
    max_tokens_before_summary: whole(1, "Trigger in tokens of the messages alone."),
    max_messages: whole(
      1,
      "Trigger in messages of the list; the target does not apply to such a compaction.",
    ),
    target_context_tokens: whole(
      1,
      "Tokens that a compaction aims for; at or above the trigger, only the keep counts apply.",
    ),
    on_overflow: oneOf(
      ["error", "elide"],
      "What happens if kept messages alone exceed the budget: `error` fails the call, `elide` cuts the largest to head and tail.",
    ),
    clear_tool_results: flag(
      "With target_context_tokens, empties the tool results of older messages, so that more of these stay.",
    ),
    clear_tool_inputs: flag("Also clears long texts in the arguments of those calls."),
    exclude_tools: note("Tools whose results are never cleared, and not cut by max_tool_result_tokens.", {
      type: "array",
      items: TEXT,
    }),
    max_tool_result_tokens: whole(
      64,
      "Larger tool results are cut to head and tail before they are first sent.",
    ),
    max_request_bytes: whole(
      1,
      "Maximum bytes of a request; above it, images are removed first, starting with the oldest.",
    ),
    cold_trigger_pct: share("Trigger, as a share of the window, while the provider's cache is cold."),
    background_trigger_pct: share(
      "Share of the window at which a compaction is prepared in the background, to be ready at the trigger.",
    ),
    cache_ttl_seconds: whole(0, "Seconds without a call after which the provider's cache counts as cold."),
    before_cache_lapse: whole(
      1,
      "Seconds before the cache turns cold at which a compaction is prepared for the next call, if the list is over cold_trigger_pct or, without it, half of trigger_pct.",
    ),
  },
  summarizer: {
    kind: oneOf(
      ["builtin", "provider"],
      "Who writes summaries: `builtin` needs no model, `provider` uses the compaction of each call's provider, where it has one.",
    ),
    max_summary_tokens: whole(
      1,
      "Maximum tokens of a summary. Default: a tenth of the window, at most 8,192.",
    ),
    summary_role: oneOf(["assistant", "user", "system"], "Role of the summary message.", "default"),
    fallback: oneOf(
      ["builtin", "pruning-only"],
      "What happens if the summarizer fails: the built-in one writes the summary, or there is none.",
    ),
    verify: oneOf(
      ["flag", "remove", "off"],
      "What happens to claims of a model's summary that are not in the messages: `flag` lists them below it, `remove` deletes them, `off` does not check.",
    ),
    input: oneOf(
      ["text", "prefix"],
      "What a model reads: `text` is the messages as text, `prefix` the agent's own conversation, which the provider has in its cache.",
    ),
    deadline_seconds: whole(
      1,
      "Seconds for one request; proportionally more if it reads over 25,000 tokens.",
    ),
    temperature: note("Temperature of a model's requests. Default: 0.", {
      type: "number",
      minimum: 0,
      maximum: 2,
    }),
    seed: whole(0, "Seed of a model's requests, if its provider accepts one."),
  },
  storage: {
    kind: oneOf(
      ["fs", "memory", "s3", "postgres"],
      "Where the archive is stored: on disk, in memory until the program ends, in an S3 bucket, or in a Postgres database. `adapter` is another name of this setting.",
      "default",
    ),
    root: words("Folder of the archive, relative to the working directory.", "inside"),
    bucket: words("Bucket of the archive, for s3.", "never"),
    prefix: words("Folder of the archive inside the bucket.", "never"),
    region: words("Region of the bucket. Default: the region that the AWS SDK finds.", "never"),
    endpoint: words("URL of an S3 server other than AWS.", "never"),
    kms_key_id: words("KMS key that the server encrypts the archive with.", "never"),
    force_path_style: flag(
      "Puts the bucket into the path of requests; required by most servers other than AWS.",
      "never",
    ),
    schema: words("Schema of the tables, for postgres; the URL is in COMPACT_POSTGRES_URL.", "never"),
    timeout_ms: whole(
      1,
      "Maximum wait for one storage call while the list fits without a compaction, in milliseconds.",
    ),
    on_failure: oneOf(
      ["stop", "continue"],
      "What happens if the archive cannot be written: `stop` keeps the messages in the prompt, `continue` removes them without an archive.",
    ),
  },
  redaction: {
    enabled: flag("Removes secrets from everything that is archived, traced or logged.", "default"),
    patterns: note(
      "More regular expressions whose matches are removed; `(?i)…` and `/…/i` ignore case.",
      { type: "array", items: TEXT },
      "narrow",
      "a list of regular expressions",
    ),
    personal: flag("Also removes e-mail addresses, telephone numbers, payment cards and bank accounts."),
  },
  retention: {
    days: whole(1, "Archived sessions without a write for this many days are deleted.", "never"),
    max_bytes: whole(
      1,
      "While the archive has more bytes, the least recently used session is deleted.",
      "never",
    ),
  },
  tracing: {
    console: flag("Writes events to stderr."),
    jsonl: words("File that events are appended to, one JSON object per line.", "inside"),
    ariadne: words("URL of Ariadne's /ingest, which receives the events.", "never"),
    opentelemetry: flag(
      "Sends events as spans and metrics to the OpenTelemetry SDK that the program registered.",
    ),
  },
  memory: {
    automatic_writes: flag("Lets the program write memory files on its own; nothing is written otherwise."),
    use_model: flag(
      "Lets a memory ask the model that it was given (in a chat, the chat's own) in the background; otherwise no model is used.",
    ),
  },
  memory_recall: {
    enabled: flag("Inserts relevant memories before the user's message."),
    max_candidates: whole(1, "Maximum sections that are considered, best first."),
    max_injected: whole(0, "Maximum sections that are inserted before a message."),
    max_chars: whole(0, "Maximum characters of all inserted sections, including tags."),
    rerank_with_model: flag("Lets the memory's model rank the sections; otherwise no model is used."),
  },
  session_memory: {
    enabled: flag("Keeps the state of the work in SESSION.md."),
    min_turns_between_update: whole(1, "Turns since the last update after which the next one is due."),
    min_tool_calls_between_update: whole(
      1,
      "Tool calls since the last update after which the next one is due.",
    ),
    force_refresh_before_compact: flag("Updates SESSION.md before a compaction."),
    force_refresh_before_new_session: flag("Updates SESSION.md before a new session."),
  },
  models: note(
    "Settings by model name: window, encoding, max_context_tokens, trigger_pct, target_context_tokens.",
    {
      type: "object",
      additionalProperties: schemaOf(ofModel),
    },
  ),
};

/** True for a setting, as opposed to a group of them. */
export function isSetting(one: SettingNote | Group): one is SettingNote {
  return typeof one.description === "string";
}

/** All settings, in documentation order. */
export const settings: readonly Setting[] = settingsIn(allSettings, []);

function settingsIn(group: Group, above: readonly string[]): Setting[] {
  return Object.entries(group).flatMap(([name, one]): Setting[] => {
    const path = [...above, name];
    return isSetting(one) ? [{ ...one, path }] : settingsIn(one, path);
  });
}

/** Specification 002's flag for the list `policy.roles_never_prune`. */
export const KEEP_SYSTEM_PROMPT = "keep_system_prompt";

/** A name that a specification uses for a setting with another name or place here. */
export interface SpecifiedName {
  readonly path: readonly string[];
  readonly setting: readonly string[];
  readonly note: SettingNote;
}

/** `storage.adapter` of specification 001, the flat `ContextConfig` of specification 002. */
export const specifiedNames: readonly SpecifiedName[] = [
  anotherName(["storage", "adapter"], ["storage", "kind"]),
  anotherName(["summary_trigger_ratio"], ["policy", "trigger_pct"]),
  anotherName(["target_context_tokens"], ["policy", "target_context_tokens"]),
  anotherName(["keep_recent_messages"], ["policy", "keep_recent_messages"]),
  {
    path: [KEEP_SYSTEM_PROMPT],
    setting: ["policy", "roles_never_prune"],
    note: flag("If false, the system prompt may be pruned, as without system in policy.roles_never_prune."),
  },
];

function anotherName(path: readonly string[], setting: readonly string[]): SpecifiedName {
  const found = settings.find((one) => one.path.join() === setting.join());
  return { path, setting, note: note(`Another name of ${setting.join(".")}.`, found?.schema ?? {}) };
}

/** JSON schema of a configuration file, including the specifications' names. */
export function configSchema(): object {
  const whole = schemaOf(allSettings);
  const properties: Record<string, JsonSchema> = { ...whole.properties };
  for (const { path, note } of specifiedNames) {
    const [first = "", second] = path;
    const schema = { description: note.description, ...note.schema };
    const section = properties[first];
    properties[first] =
      second === undefined
        ? schema
        : { ...section, properties: { ...section?.properties, [second]: schema } };
  }
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Settings of Compact",
    ...whole,
    properties,
  };
}

/** Type-level `keepRecentTurns` to `keep_recent_turns`. */
type SnakeCase<Name extends string> = Name extends `${infer Head}${infer Rest}`
  ? Head extends Lowercase<Head>
    ? `${Head}${SnakeCase<Rest>}`
    : `_${Lowercase<Head>}${SnakeCase<Rest>}`
  : Name;

/** Converts `keepRecentTurns` to `keep_recent_turns`; names without capitals are unchanged. */
export function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Converts `keep_recent_turns` to `keepRecentTurns`; names without underscores are unchanged. */
export function toCamelCase(name: string): string {
  return name.replace(/(?<=[a-z0-9])_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
