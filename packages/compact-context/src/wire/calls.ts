import type { Format } from "../core/message.ts";
import type { ProviderCompaction } from "../core/ports.ts";
import { sha256Hex } from "../core/records.ts";
import type { PreflightRequest } from "../core/request.ts";
import { typedText } from "../core/units.ts";
import { type Json, objectOf, objectsIn, positiveOf, textOf, wordsOf } from "../providers/request.ts";

// Model calls of the providers' HTTP interfaces: where each keeps its list and its settings.

/** A kind of call, identified by the path of its URL. */
export interface CallKind {
  readonly provider: "anthropic" | "openai" | "gemini";
  readonly format: Format;
  /** The end of the URL's path. */
  readonly path: RegExp;
  /** The body's field with the list. */
  readonly field: "messages" | "input" | "contents";
  /** Only counts tokens. */
  readonly counts?: true;
  /** Content that is sent next to the list. */
  beside(body: Json): Pick<PreflightRequest, "system" | "tools" | "maxOutputTokens">;
  /** Fields by which the provider itself stores or compacts the conversation; empty if it does not. */
  serverManaged(body: Json): readonly string[];
  /** The body for a complete list, without asking the provider to keep the conversation. */
  keptHere?(body: Json): Json;
  /** How the provider compacts on demand, if it does. */
  readonly compaction?: CompactionCall;
  /** The usage record in an answer or in an event of a stream. */
  usageOf(piece: Json): unknown;
  /** Changes made to the list before the model read it, as an answer or a stream event reports them. */
  changesOf?(piece: Json): unknown;
  /** The body of the provider's own answer to a request that is too long. */
  tooLong(said: Exceeded): Json;
}

/** A call by which a provider compacts a given list. */
export interface CompactionCall {
  /** Suffix for the path of the current call. Default: the same address. */
  readonly path?: string;
  /** Header and value for this call, and for every later call whose list begins with its result. */
  readonly beta?: {
    readonly header: readonly [name: string, value: string];
    opens(list: readonly unknown[]): boolean;
  };
  /** The body of the compaction call, derived from the current call's. */
  bodyOf(body: Json, list: readonly unknown[]): Json;
  /** The resulting compaction; undefined if there is none. */
  read(answer: Json): Omit<ProviderCompaction, "model"> | undefined;
}

/** A request that is over its budget. */
export interface Exceeded {
  /** Tokens of the request, and the maximum. */
  readonly tokens: number;
  readonly limit: number;
  readonly message: string;
}

const anthropic: Omit<CallKind, "path"> = {
  provider: "anthropic",
  format: "anthropic",
  field: "messages",
  beside: ({ system, tools, max_tokens: limit }) => ({
    tools: listOf(tools),
    system: wordsOf(system) || undefined,
    maxOutputTokens: positiveOf(limit),
  }),
  // Edits that clear thinking or tool results work on the list that is sent; only `compact_*` replaces it.
  // A continued thread sends new messages only.
  serverManaged: ({ context_management: managed, compaction, thread }) => {
    const edits = objectsIn(objectOf(managed).edits);
    const compacts = edits.some(({ type }) => textOf(type).startsWith("compact"));
    const continues = objectOf(thread).type === "continue";
    return present({
      context_management: compacts ? managed : undefined,
      compaction,
      thread: continues ? thread : undefined,
    });
  },
  // If a thread is not found, clients resend the whole list, or continue without one.
  keptHere: (body) => {
    const { thread, ...others } = body;
    return thread === undefined ? body : others;
  },
  usageOf: ({ usage, message }) => usage ?? objectOf(message).usage,
  changesOf: ({ input_transformations: changes, message }) =>
    changes ?? objectOf(message).input_transformations,
  tooLong: ({ tokens, limit, message: why }) => {
    const message = `prompt is too long: ${tokens} tokens > ${limit} maximum (${why})`;
    return { type: "error", error: { type: "invalid_request_error", message } };
  },
};

function openAiTooLong({ tokens, limit, message: why }: Exceeded): Json {
  const message = `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${tokens} tokens (${why})`;
  const code = "context_length_exceeded";
  return { error: { message, type: "invalid_request_error", param: "messages", code } };
}

const gemini: Omit<CallKind, "path"> = {
  provider: "gemini",
  format: "gemini",
  field: "contents",
  beside: ({ systemInstruction, system_instruction: snake, tools, generationConfig }) => ({
    tools: listOf(tools),
    system: wordsOf(systemInstruction ?? snake) || undefined,
    maxOutputTokens: positiveOf(objectOf(generationConfig).maxOutputTokens),
  }),
  serverManaged: ({ cachedContent }) => present({ cachedContent }),
  usageOf: ({ usageMetadata }) => usageMetadata,
  tooLong: ({ tokens, limit, message: why }) => {
    const message = `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${limit}). ${why}`;
    return { error: { code: 400, message, status: "INVALID_ARGUMENT" } };
  },
};

/** Minimum tokens for the provider's summary, including its thinking. */
const MIN_ANSWER = 8_192;

/**
 * Compaction on demand, with the same model, system prompt, tools and thinking: kept thinking would otherwise
 * become invalid.
 */
const onDemand: CompactionCall = {
  beta: {
    header: ["anthropic-beta", "compact-2026-09-04"],
    opens: ([first]) => {
      const [block] = objectsIn(objectOf(first).content);
      return block?.type === "compaction" && typeof block.signature === "string";
    },
  },
  bodyOf: ({ model, max_tokens: limit, system, tools, thinking }, messages) => ({
    model,
    max_tokens: Math.max(MIN_ANSWER, positiveOf(limit) ?? 0),
    system,
    tools,
    thinking,
    messages,
    compaction: { type: "summarize" },
  }),
  read({ stop_reason: stop, content, usage }) {
    const [block] = objectsIn(content);
    if (stop !== "compaction" || block?.type !== "compaction" || typeof block.content !== "string")
      return undefined;
    const record = objectsIn(objectOf(usage).iterations).find(({ type }) => type === "compaction") ?? usage;
    return { entry: { role: "assistant", content }, text: block.content, usage: record };
  },
};

/**
 * Compaction of Responses. The answer repeats the user messages before its item, and an item of an earlier
 * compaction replaces earlier content. Only the newest item is used, since the kept user messages are chosen
 * here.
 */
const compactResponse: CompactionCall = {
  path: "/compact",
  bodyOf: ({ model, instructions, prompt_cache_key, service_tier }, input) => {
    return { model, input, instructions, prompt_cache_key, service_tier };
  },
  read({ object, output, usage }) {
    const item = objectsIn(output).findLast(({ type }) => type === "compaction");
    if (object !== "response.compaction" || textOf(item?.encrypted_content) === "") return undefined;
    return { entry: item, text: "", usage };
  },
};

const KINDS: readonly CallKind[] = [
  { ...anthropic, path: /\/messages$/, compaction: onDemand },
  { ...anthropic, path: /\/publishers\/anthropic\/.*:(?:streamR|r)awPredict$/ },
  { ...anthropic, path: /\/messages\/count_tokens$/, counts: true, compaction: onDemand },
  {
    provider: "openai",
    format: "openai-chat",
    path: /\/chat\/completions$/,
    field: "messages",
    beside: ({ tools, max_completion_tokens: limit, max_tokens: old }) => ({
      tools: listOf(tools),
      maxOutputTokens: positiveOf(limit, old),
    }),
    serverManaged: () => [],
    usageOf: ({ usage }) => usage,
    tooLong: openAiTooLong,
  },
  {
    provider: "openai",
    format: "openai-responses",
    path: /\/responses$/,
    field: "input",
    beside: ({ tools, instructions, max_output_tokens: limit }) => ({
      tools: listOf(tools),
      system: wordsOf(instructions) || undefined,
      maxOutputTokens: positiveOf(limit),
    }),
    serverManaged: ({ previous_response_id, conversation, context_management }) =>
      present({ previous_response_id, conversation, context_management }),
    usageOf: ({ usage, response }) => usage ?? objectOf(response).usage,
    changesOf: ({ input_transformations: changes, response }) =>
      changes ?? objectOf(response).input_transformations,
    compaction: compactResponse,
    tooLong: openAiTooLong,
  },
  { ...gemini, path: /:(?:streamG|g)enerateContent$/ },
  { ...gemini, path: /:countTokens$/, counts: true },
];

/** The kind of a call by its URL; undefined for calls without a conversation. */
export function callKind(url: string | URL): CallKind | undefined {
  const pathname = pathOf(url);
  return KINDS.find(({ path }) => path.test(pathname));
}

/** The path of a URL, which may be relative to a page. */
export function pathOf(url: string | URL): string {
  return new URL(url, "http://page").pathname;
}

/** The same URL with a suffix added to its path. */
export function below(url: string | URL, path: string): string {
  const [address = "", ...query] = String(url).split(/(?=[?#])/);
  return `${address}${path}${query.join("")}`;
}

/** The model of a call, from its body or its path. */
export function modelOf(url: string | URL, body: Json): string | undefined {
  const inPath = /\/models\/([^/:]+)(?::|$)/.exec(pathOf(url))?.[1];
  return textOf(body.model) || (inPath === undefined ? undefined : decodeURIComponent(inPath));
}

/** The list of a call. A text counts as one user message; undefined if there is neither. */
export function listIn(kind: CallKind, body: Json): readonly unknown[] | undefined {
  const list = body[kind.field];
  if (kind.format === "openai-responses" && typeof list === "string")
    return [{ role: "user", content: list }];
  return Array.isArray(list) ? list : undefined;
}

/** Whether a body holds a conversation in a field that some provider uses for it. */
export function hasConversation(body: Json): boolean {
  const { messages, input, contents } = body;
  return [messages, input, contents].some((list) =>
    objectsIn(list).some(({ role }) => typeof role === "string"),
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function present(fields: Json): string[] {
  return Object.keys(fields).filter((name) => fields[name] !== undefined && fields[name] !== null);
}

// The session of a request, if the caller does not name one.

/** Headers that name a conversation, by priority. */
const SESSION_HEADERS = [
  "x-compact-session",
  "x-claude-code-session-id",
  "session-id",
  "session_id",
  "thread-id",
  "x-session-id",
  "x-session-affinity",
];
/** Headers that name an agent within a conversation. */
const AGENT_HEADERS = ["x-compact-agent", "x-claude-code-agent-id", "x-agent-id"];
const KEY_HEADERS = ["x-api-key", "authorization", "x-goog-api-key", "api-key"];
/** Login tokens are renewed during a session: unlike a key, they do not identify the caller. */
const LOGIN = /^bearer (?:sk-ant-oat|ey)/i;

/**
 * The name of a request's session: who calls (a hash of the key), the conversation that the client names, the agent
 * in it, and a hash of what the user typed first. The first message is always part of it: clients send other calls
 * under the same name (titles, sub-agents), and a list that the client itself has compacted begins anew. The system
 * prompt is no part of it, since it changes within a conversation.
 */
export function sessionName(headers: Headers, body: Json, list: readonly unknown[]): string {
  const key = firstOf(headers, KEY_HEADERS) ?? "";
  const caller = sha256Hex(LOGIN.test(key) ? "" : key).slice(0, 8);
  const named =
    firstOf(headers, SESSION_HEADERS) ??
    (textOf(body.prompt_cache_key) || textOf(objectOf(body.metadata).session_id));
  const agent = firstOf(headers, AGENT_HEADERS) ?? "";
  const root = sha256Hex(firstTyped(list)).slice(0, 12);
  return [caller, plain(named), plain(agent), root].filter((part) => part !== "").join("-");
}

function firstOf(headers: Headers, names: readonly string[]): string | undefined {
  return names.map((name) => headers.get(name)).find((value) => value !== null && value !== "") ?? undefined;
}

/** Limits a name to characters and a length that are valid in file names. */
function plain(name: string): string {
  const safe = name.replace(/[^\w.-]+/g, "_");
  return safe.length <= 64 ? safe : sha256Hex(name).slice(0, 16);
}

/** The text that the user typed first; hosts change the text around it from call to call. */
function firstTyped(list: readonly unknown[]): string {
  const first = list.map(objectOf).find(({ role }) => role === "user") ?? objectOf(list[0]);
  const { content = first.parts } = first;
  if (typeof content === "string") return typedText(content) || content;
  const words = objectsIn(content).map(({ text }) => textOf(text));
  const typed = words.map((text) => typedText(text)).join("\n");
  if (typed.trim() !== "") return typed;
  return words.join("\n") || JSON.stringify(content ?? first, withoutMarks);
}

function withoutMarks(key: string, value: unknown): unknown {
  return key === "cache_control" ? undefined : value;
}
