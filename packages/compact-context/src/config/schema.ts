import { CompactError } from "../errors.ts";
import { compilePatterns } from "../redaction/custom-patterns.ts";
import type { CompactConfig, ModelOverride } from "./settings.ts";

// The single schema of all settings, used by files, environment, code and documentation.

/** How an environment variable encodes a setting. */
export type SettingKind = "text" | "number" | "boolean" | "list" | "json";

/**
 * Restricts a setting in a file that was discovered rather than named by the user, since its author may be
 * untrusted: `inside` must be a path below the working directory, `never` cannot be set at all, `default`
 * only to its default, and `narrow` allows only patterns that leave ordinary text alone.
 */
export type Guard = "inside" | "never" | "default" | "narrow";

/** A setting's metadata for error messages and documentation. */
export interface SettingNote {
  /** What it does, in one sentence. */
  readonly description: string;
  /** The values allowed, such as `0.0-1.0`. */
  readonly values: string;
  readonly kind: SettingKind;
  /** The values allowed as a JSON schema for editors, as far as it can express them. */
  readonly schema: JsonSchema;
  readonly guard?: Guard;
}

/** A part of a JSON schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One setting, as seen by files, environment and documentation. */
export interface Setting extends SettingNote {
  /** File names: section and name, or the name alone. */
  readonly path: readonly string[];
}

/** A problem below a value; `unknown` if the last segment of the path is not a setting. */
export interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly unknown?: boolean;
}

/** The validation of a value; `T` is its type in code. */
interface Shape<T> {
  readonly note: SettingNote | undefined;
  faultsOf(value: unknown): readonly Fault[];
  /** Never set: ties the type to the shape. */
  readonly example?: T;
}

const valid: readonly Fault[] = [];
const wrong = (message: string): readonly Fault[] => [{ path: [], message }];

function shape<T>(note: SettingNote, faultsOf: (value: unknown) => readonly Fault[]): Shape<T> {
  return { note, faultsOf };
}

/** A number above 0 and at most 1. */
function share(description: string): Shape<number> {
  const values = "0.0-1.0";
  const schema = { type: "number", exclusiveMinimum: 0, maximum: 1 };
  return shape({ description, values, kind: "number", schema }, (value) => {
    if (typeof value !== "number" || !(value >= 0 && value <= 1)) return wrong(`must be ${values}`);
    return value === 0 ? wrong("must be more than 0") : valid;
  });
}

/** A whole number of at least `least`. */
function whole(least: number, description: string, guard?: Guard): Shape<number> {
  const values = `a whole number, ${least} or more`;
  const schema = { type: "integer", minimum: least };
  return shape({ description, values, kind: "number", schema, guard }, (value) =>
    Number.isSafeInteger(value) && (value as number) >= least ? valid : wrong(`must be ${values}`),
  );
}

/** A number from 0 to 2. */
function temperature(description: string): Shape<number> {
  const values = "0.0-2.0";
  const schema = { type: "number", minimum: 0, maximum: 2 };
  return shape({ description, values, kind: "number", schema }, (value) =>
    typeof value === "number" && value >= 0 && value <= 2 ? valid : wrong(`must be ${values}`),
  );
}

function flag(description: string, guard?: Guard): Shape<boolean> {
  const values = "true or false";
  return shape({ description, values, kind: "boolean", schema: { type: "boolean" }, guard }, (value) =>
    typeof value === "boolean" ? valid : wrong(`must be ${values}`),
  );
}

/** Non-empty text. */
function words(description: string, guard?: Guard): Shape<string> {
  const values = "a non-empty string";
  const schema = { type: "string", minLength: 1 };
  return shape({ description, values, kind: "text", schema, guard }, (value) =>
    typeof value === "string" && value !== "" ? valid : wrong(`must be ${values}`),
  );
}

function oneOf<const T extends readonly string[]>(
  allowed: T,
  description: string,
  guard?: Guard,
): Shape<T[number]> {
  const values = `one of ${allowed.join(", ")}`;
  return shape({ description, values, kind: "text", schema: { enum: allowed }, guard }, (value) =>
    allowed.some((one) => one === value) ? valid : wrong(`must be ${values}`),
  );
}

/** A list; at most one fault per entry. */
function list<T>(
  note: Omit<SettingNote, "kind">,
  faultOf: (entry: unknown) => string | undefined,
): Shape<readonly T[]> {
  return shape({ ...note, kind: "list" }, (value) => {
    if (!Array.isArray(value)) return wrong("must be a list");
    return value.flatMap((entry: unknown, index): Fault[] => {
      const message = faultOf(entry);
      return message === undefined ? [] : [{ path: [index], message }];
    });
  });
}

function listOf<const T extends readonly string[]>(
  allowed: T,
  description: string,
): Shape<readonly T[number][]> {
  const values = `one of ${allowed.join(", ")}`;
  const schema = { type: "array", items: { enum: allowed } };
  return list({ description, values: `a list, each ${values}`, schema }, (entry) =>
    allowed.some((one) => one === entry) ? undefined : `must be ${values}`,
  );
}

function namesOf(description: string): Shape<readonly string[]> {
  const schema = { type: "array", items: { type: "string", minLength: 1 } };
  return list({ description, values: "a list of names", schema }, (entry) =>
    typeof entry === "string" && entry !== "" ? undefined : "must be a non-empty string",
  );
}

/** Regular expressions that the redactor accepts. */
function patterns(description: string): Shape<readonly (string | RegExp)[]> {
  const schema = { type: "array", items: { type: "string", minLength: 1 } };
  return list(
    { description, values: "a list of regular expressions", schema, guard: "narrow" },
    patternFault,
  );
}

/** Typical session content: prose, code, output. */
const ORDINARY_TEXT = `Please look at why the retry test fails, then mend it. I read the file: the queue waits for its worker.
const worker = createWorker({ name: "ledger", retries: 3 }); // see docs/retry.md, line 42
{"role":"user","content":"run npm test","id":"call_1","arguments":{"path":"src/queue.ts"}}
FAIL test/queue.test.ts > waits for the worker, 12 passed, 1 failed (3.4 s) at 2026-05-01 10:20:30`;
const MOST_ORDINARY = 0.1;

/** True for patterns that match much of any text: redacted text can no longer be found. */
export function takesOrdinaryText(patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    let taken = 0;
    for (const { start, end } of compilePatterns([pattern])(ORDINARY_TEXT)) taken += end - start;
    return taken > ORDINARY_TEXT.length * MOST_ORDINARY;
  });
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

/** A group of these settings, all optional; others are rejected. */
function group<T>(fields: Fields<T>): Shape<T> {
  const known: ReadonlyMap<string, Shape<unknown>> = new Map(Object.entries(fields));
  return {
    note: undefined,
    faultsOf: (value) => {
      if (!isGroup(value)) return wrong("must be a group of settings");
      return Object.entries(value).flatMap(([key, inner]): readonly Fault[] => {
        if (inner === undefined) return valid;
        const field = known.get(key);
        if (field === undefined) return [{ path: [key], message: "is not a setting", unknown: true }];
        return below(key, field.faultsOf(inner));
      });
    },
  };
}

/** Groups under user-chosen names. */
function named<T>(fields: Fields<T>, description: string): Shape<Readonly<Record<string, T>>> {
  const entry = group<T>(fields);
  const values = "a group of names";
  const schema = { type: "object", additionalProperties: schemaOf(fields) };
  return shape({ description, values, kind: "json", schema }, (value) => {
    if (!isGroup(value)) return wrong(`must be ${values}`);
    return Object.entries(value).flatMap(([key, inner]) =>
      key === "__proto__" ? wrong("cannot hold `__proto__`") : below(key, entry.faultsOf(inner)),
    );
  });
}

/** A group's JSON schema, with descriptions. */
function schemaOf(fields: Readonly<Record<string, Shape<unknown>>>): JsonSchema {
  const entries = Object.entries(fields).flatMap(([name, { note }]) =>
    note === undefined ? [] : [[name, { description: note.description, ...note.schema }]],
  );
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(entries) };
}

function below(key: string, faults: readonly Fault[]): readonly Fault[] {
  return faults.map((fault) => ({ ...fault, path: [key, ...fault.path] }));
}

/** Exactly one shape per field of `T`, under its file name; keeps schema and type in sync. */
type Fields<T> = {
  readonly [K in keyof T & string as SnakeCase<K>]-?: Shape<Exclude<T[K], undefined>>;
};

const policy: Fields<CompactConfig["policy"]> = {
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
  max_messages: whole(1, "Trigger in messages of the list; the target does not apply to such a compaction."),
  target_context_tokens: whole(
    1,
    "Tokens that a compaction aims for; at or above the trigger, only the keep counts apply.",
  ),
  on_overflow: oneOf(
    ["error", "elide"],
    "What happens if kept messages alone exceed the budget: `error` fails the call, `elide` cuts the largest to head and tail.",
  ),
  clear_tool_results: flag("Clears old tool results in place before anything is summarized."),
  clear_tool_inputs: flag("Also clears long texts in the arguments of those calls."),
  exclude_tools: namesOf("Tools whose results are never cleared, and not cut by max_tool_result_tokens."),
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
};

const summarizer: Fields<CompactConfig["summarizer"]> = {
  kind: oneOf(
    ["builtin", "provider"],
    "Who writes summaries: `builtin` needs no model, `provider` uses the compaction of each call's provider, where it has one.",
  ),
  max_summary_tokens: whole(1, "Maximum tokens of a summary. Default: a tenth of the window, at most 8,192."),
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
  deadline_seconds: whole(1, "Seconds for one request; proportionally more if it reads over 25,000 tokens."),
  temperature: temperature("Temperature of a model's requests. Default: 0."),
  seed: whole(0, "Seed of a model's requests, if its provider accepts one."),
};

const storage: Fields<CompactConfig["storage"]> = {
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
};

const redaction: Fields<CompactConfig["redaction"]> = {
  enabled: flag("Removes secrets from everything that is archived, traced or logged.", "default"),
  patterns: patterns("More regular expressions whose matches are removed; `(?i)…` and `/…/i` ignore case."),
  personal: flag("Also removes e-mail addresses, telephone numbers, payment cards and bank accounts."),
};

const retention: Fields<CompactConfig["retention"]> = {
  days: whole(1, "Archived sessions without a write for this many days are deleted.", "never"),
  max_bytes: whole(
    1,
    "While the archive has more bytes, the least recently used session is deleted.",
    "never",
  ),
};

const tracing: Fields<CompactConfig["tracing"]> = {
  console: flag("Writes events to stderr."),
  jsonl: words("File that events are appended to, one JSON object per line.", "inside"),
  ariadne: words("URL of Ariadne's /ingest, which receives the events.", "never"),
  opentelemetry: flag(
    "Sends events as spans and metrics to the OpenTelemetry SDK that the program registered.",
  ),
};

const memory: Fields<CompactConfig["memory"]> = {
  automatic_writes: flag("Lets the program write memory files on its own; nothing is written otherwise."),
  use_model: flag(
    "Lets a memory ask the model that it was given (in a chat, the chat's own) in the background; otherwise no model is used.",
  ),
};

const memoryRecall: Fields<CompactConfig["memoryRecall"]> = {
  enabled: flag("Inserts relevant memories before the user's message."),
  max_candidates: whole(1, "Maximum sections that are considered, best first."),
  max_injected: whole(0, "Maximum sections that are inserted before a message."),
  max_chars: whole(0, "Maximum characters of all inserted sections, including tags."),
  rerank_with_model: flag("Lets the memory's model rank the sections; otherwise no model is used."),
};

const sessionMemory: Fields<CompactConfig["sessionMemory"]> = {
  enabled: flag("Keeps the state of the work in SESSION.md."),
  min_turns_between_update: whole(1, "Turns since the last update after which the next one is due."),
  min_tool_calls_between_update: whole(
    1,
    "Tool calls since the last update after which the next one is due.",
  ),
  force_refresh_before_compact: flag("Updates SESSION.md before a compaction."),
  force_refresh_before_new_session: flag("Updates SESSION.md before a new session."),
};

const model: Fields<ModelOverride> = {
  window: whole(1, "Tokens of prompt and answer together."),
  max_output: whole(1, "Maximum tokens of one answer."),
  encoding: oneOf(["cl100k_base", "o200k_base"], "Encoding that counts its tokens."),
  max_context_tokens: whole(1, "Instead of max_context_tokens."),
  trigger_pct: share("Instead of policy.trigger_pct."),
  target_context_tokens: whole(1, "Instead of policy.target_context_tokens."),
};

const top: Fields<CompactConfig> = {
  model: words("Model that decides the window and the encoding."),
  max_context_tokens: whole(1, "Tokens of the window. Default: the model's own."),
  policy: group<CompactConfig["policy"]>(policy),
  summarizer: group<CompactConfig["summarizer"]>(summarizer),
  storage: group<CompactConfig["storage"]>(storage),
  redaction: group<CompactConfig["redaction"]>(redaction),
  retention: group<CompactConfig["retention"]>(retention),
  tracing: group<CompactConfig["tracing"]>(tracing),
  memory: group<CompactConfig["memory"]>(memory),
  memory_recall: group<CompactConfig["memoryRecall"]>(memoryRecall),
  session_memory: group<CompactConfig["sessionMemory"]>(sessionMemory),
  models: named<ModelOverride>(
    model,
    "Settings by model name: window, max_output, encoding, max_context_tokens, trigger_pct, target_context_tokens.",
  ),
};

/** All problems with settings under their file names; all are optional, unknown ones are rejected. */
export function faultsOf(value: unknown): readonly Fault[] {
  return group(top).faultsOf(value);
}

const sections: Readonly<Record<string, Readonly<Record<string, Shape<unknown>>>>> = {
  policy,
  summarizer,
  storage,
  redaction,
  retention,
  tracing,
  memory,
  memory_recall: memoryRecall,
  session_memory: sessionMemory,
};

/** All settings, in documentation order. */
export const settings: readonly Setting[] = Object.entries(top).flatMap(([name, schema]) => {
  const section = sections[name];
  if (section === undefined) return settingOf([name], schema);
  return Object.entries(section).flatMap(([field, inner]) => settingOf([name, field], inner));
});

/**
 * The specifications' names for settings with another name or place here: `storage.adapter` of specification
 * 001, the flat `ContextConfig` of specification 002.
 */
export const specifiedNames: readonly {
  readonly path: readonly string[];
  readonly setting: readonly string[];
}[] = [
  { path: ["storage", "adapter"], setting: ["storage", "kind"] },
  { path: ["summary_trigger_ratio"], setting: ["policy", "trigger_pct"] },
  { path: ["target_context_tokens"], setting: ["policy", "target_context_tokens"] },
  { path: ["keep_recent_messages"], setting: ["policy", "keep_recent_messages"] },
];

/** Specification 002's flag for the list `policy.roles_never_prune`. */
export const KEEP_SYSTEM_PROMPT = "keep_system_prompt";

/** Names known directly below a path; empty if the user chooses them. */
export function namesBelow(path: readonly (string | number)[]): readonly string[] {
  const [first, second] = path;
  if (first === undefined) return Object.keys(top);
  if (first === "models") return second === undefined ? [] : Object.keys(model);
  return Object.keys(sections[first] ?? {});
}

/** JSON schema of a configuration file, including the specifications' names. */
export function configSchema(): JsonSchema {
  const groups = Object.entries(sections).map(([name, fields]) => [name, schemaOf(fields)] as const);
  const whole = schemaOf(top);
  const properties: Record<string, unknown> = {
    ...(whole.properties as object),
    ...Object.fromEntries(groups),
  };
  for (const { path, setting } of specifiedNames) {
    const found = settings.find((one) => one.path.join() === setting.join());
    const [first = "", second] = path;
    const schema = { description: `Another name of ${setting.join(".")}.`, ...found?.schema };
    if (second === undefined) properties[first] = schema;
    else {
      const section = properties[first] as { readonly properties: object };
      properties[first] = { ...section, properties: { ...section.properties, [second]: schema } };
    }
  }
  properties[KEEP_SYSTEM_PROMPT] = {
    description: "If false, the system prompt may be pruned, as without system in policy.roles_never_prune.",
    type: "boolean",
  };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Settings of Compact",
    ...whole,
    properties,
  };
}

function settingOf(path: readonly string[], { note }: Shape<unknown>): Setting[] {
  return note === undefined ? [] : [{ ...note, path }];
}

/** Type-level `keepRecentTurns` to `keep_recent_turns`. */
export type SnakeCase<Name extends string> = Name extends `${infer Head}${infer Rest}`
  ? Head extends Lowercase<Head>
    ? `${Head}${SnakeCase<Rest>}`
    : `_${Lowercase<Head>}${SnakeCase<Rest>}`
  : Name;

/** No settings are nested below this level: `models.<name>.window` is the deepest. */
const DEEPEST = 3;

/** Converts `keepRecentTurns` to `keep_recent_turns`; names without capitals are unchanged. */
export function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Converts `keep_recent_turns` to `keepRecentTurns`; names without underscores are unchanged. */
export function toCamelCase(name: string): string {
  return name.replace(/(?<=[a-z0-9])_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Renames the keys of nested settings, except model names. Keys with undefined values are dropped. */
export function renameKeys(
  value: unknown,
  rename: (key: string, path: readonly string[]) => string,
  path: readonly string[] = [],
): unknown {
  if (!isGroup(value) || path.length > DEEPEST) return value;
  const renamed: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    if (inner === undefined) continue;
    const below = [...path, key];
    const name = path.length === 1 && path[0] === "models" ? key : rename(key, below);
    // Defined, not assigned: assigning `__proto__` would set the prototype.
    Object.defineProperty(renamed, name, {
      value: renameKeys(inner, rename, below),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return renamed;
}

/** True for an object, as opposed to a list or a scalar. */
export function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
