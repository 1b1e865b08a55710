import {
  argumentsText,
  type Format,
  type Message,
  type Part,
  type ToolCallPart,
  textHash,
} from "../core/message.ts";
import type { TokenCount, TokenCounter } from "../core/ports.ts";
import { CompactError, errorMessage } from "../errors.ts";
import { cl100kBase } from "./encodings/cl100k-base.ts";
import { o200kBase } from "./encodings/o200k-base.ts";
import { mediaTokens, toolJsonTokens, toolLinesTokens } from "./media.ts";
import {
  type CountingStyle,
  DEFAULT_MODEL,
  type EncodingName,
  type ImageFormula,
  lookUpModel,
  type ModelFacts,
  type ModelOverrides,
} from "./models.ts";
import { fallbackTokens } from "./usage.ts";

/**
 * What a counter needs from an encoding, so that callers can supply their own. `count` throws if it cannot be
 * loaded.
 */
export interface TextEncoding {
  readonly name: string;
  count(text: string): number;
}

/** The built-in encoding of that name, unpacked on its first count. */
function encodingNamed(name: string): TextEncoding {
  if (name === "o200k_base") return o200kBase;
  if (name === "cl100k_base") return cl100kBase;
  throw new CompactError("InvalidArgument", `unknown encoding "${name}"`, {
    hint: "Use o200k_base or cl100k_base, or name a model instead.",
    place: "encoding",
  });
}

/** How a model family turns text into billed tokens, relative to one of our encodings. */
interface CountingProfile {
  /** Billed tokens per token of the encoding that the model table names. */
  readonly ratio: number;
  /** Tokens around each message, excluding its role if `countsRole` is set. */
  readonly perMessage: number;
  /** Whether the role's name is part of the prompt and encoded with it. */
  readonly countsRole: boolean;
  /** Tokens around each tool call. */
  readonly perCall: number;
  /** Tokens that open the response, once per request. */
  readonly perRequest: number;
  /** Tokens of the hidden text that the provider adds if there are tools. */
  readonly toolsPreamble: number;
  /** `lines`: OpenAI's rendering of each property; `json`: the schema's JSON text. */
  readonly toolRendering: "lines" | "json";
  /** The model's own, public vocabulary is used. */
  readonly exact: boolean;
  /** Bounds of the true total, as factors of the estimate. */
  readonly low: number;
  readonly high: number;
}

const GENERIC: CountingProfile = {
  ratio: 1,
  perMessage: 4,
  countsRole: false,
  perCall: 0,
  perRequest: 0,
  toolsPreamble: 0,
  toolRendering: "json",
  exact: false,
  low: 0.8,
  high: 1.3,
};

/** OpenAI cookbook, "How to count tokens with tiktoken": 3 per message and its role, 3 that open the reply. */
const OPENAI: CountingProfile = {
  ...GENERIC,
  perMessage: 3,
  countsRole: true,
  perRequest: 3,
  toolRendering: "lines",
  exact: true,
  low: 1,
  high: 1,
};

/**
 * Fitted to the usage of real sessions: tokens per cl100k token 1.26 in all, 1.13 to 1.44 (p5 to p95) by tool result;
 * 346 is what the provider documents for the tool preamble of its fourth generation.
 */
const CLAUDE: CountingProfile = {
  ...GENERIC,
  ratio: 1.26,
  perMessage: 12,
  perCall: 7,
  toolsPreamble: 346,
  low: 0.89,
  high: 1.14,
};

/** The tokenizer from Opus 4.7 on: 1.3 times as many tokens, 1.0 (Chinese) to 1.47 (technical English) by text. */
const CLAUDE_NEW: CountingProfile = { ...CLAUDE, ratio: 1.26 * 1.3, low: 0.77, high: 1.28 };

/** The 262k vocabulary against o200k: 1.04 (JSON) to 1.35 (listings) on English and code, 0.8 on Japanese. */
const GEMINI: CountingProfile = { ...GENERIC, ratio: 1.2, low: 0.8, high: 1.2 };

/** Priors for vocabularies closely related to ours; not measured against a bill. */
const RELATIVE: CountingProfile = { ...GENERIC, low: 0.85, high: 1.25 };

/** The counting profiles that the model table names. */
export const PROFILES: Readonly<Record<CountingStyle, CountingProfile>> = {
  openai: OPENAI,
  claude: CLAUDE,
  "claude-new": CLAUDE_NEW,
  gemini: GEMINI,
  grok: RELATIVE,
  deepseek: { ...RELATIVE, ratio: 1.05 },
  mistral: { ...RELATIVE, ratio: 1.05 },
  kimi: RELATIVE,
  glm: RELATIVE,
  qwen: RELATIVE,
  minimax: RELATIVE,
  muse: RELATIVE,
  llama: RELATIVE,
  generic: GENERIC,
};

export interface TokenCounterOptions {
  /** The model's name; see `lookUpModel`. */
  readonly model?: string;
  /** Overrides the model's encoding; alone it counts exactly, with the generic 4 tokens per message. */
  readonly encoding?: EncodingName | TextEncoding;
  /** Identifies the provider if the model is omitted or unknown. */
  readonly format?: Format;
  readonly models?: ModelOverrides;
  /** Called once if the encoding cannot be loaded. Default: `console.warn`. */
  readonly onWarning?: (message: string) => void;
}

/** A counter's parameters, resolved from model, encoding and format. */
interface CountingPlan {
  readonly encoding: TextEncoding;
  readonly profile: CountingProfile;
  readonly image: ImageFormula;
}

/** The facts used if only the format is known. */
const FORMAT_MODELS: Partial<Record<Format, Partial<ModelFacts>>> = {
  anthropic: { counting: "claude", encoding: "cl100k_base", image: "claude-1568" },
  gemini: { counting: "gemini", image: "gemini-resolution" },
  "openai-chat": { counting: "openai", image: "openai-patches" },
  "openai-responses": { counting: "openai", image: "openai-patches" },
  "openai-agents": { counting: "openai", image: "openai-patches" },
};

/**
 * Resolves the options to encoding, ratio, overheads and image formula; throws for an unknown encoding name.
 */
function planCounting(options: TokenCounterOptions): CountingPlan {
  const { model, format } = options;
  const facts = factsFor(options);
  const { image } = facts;
  const named = typeof options.encoding === "string" ? encodingNamed(options.encoding) : options.encoding;
  if (named !== undefined && model === undefined && format === undefined) {
    return { encoding: named, profile: { ...PROFILES.generic, exact: true, low: 1, high: 1 }, image };
  }
  const profile = facts.certain ? PROFILES[facts.counting] : guessed(PROFILES[facts.counting]);
  if (named === undefined) return { encoding: encodingNamed(facts.encoding), profile, image };
  return { encoding: named, profile: named.name === facts.encoding ? profile : foreign(profile), image };
}

/** `certain`: these facts are the model's own, not a sibling's or a format's defaults. */
function factsFor({
  model,
  format,
  models,
}: TokenCounterOptions): ModelFacts & { readonly certain: boolean } {
  const found = model === undefined ? undefined : lookUpModel(model, models);
  if (found?.known) return { ...found, certain: found.found !== "family" };
  return { ...DEFAULT_MODEL, ...(format && FORMAT_MODELS[format]), certain: false };
}

/** A profile inferred from a format or a sibling is never exact. */
function guessed(profile: CountingProfile): CountingProfile {
  if (!profile.exact) return profile;
  return { ...profile, exact: false, low: PROFILES.generic.low, high: PROFILES.generic.high };
}

/** The model's overheads with a foreign encoding: the ratio between the two is unknown. */
function foreign(profile: CountingProfile): CountingProfile {
  const { low, high } = PROFILES.generic;
  return {
    ...profile,
    ratio: 1,
    exact: false,
    low: Math.min(low, profile.low),
    high: Math.max(high, profile.high),
  };
}

/** Identifies everything that a count depends on. */
function planId({ encoding, profile, image }: CountingPlan): string {
  const { ratio, perMessage, perCall, toolsPreamble, toolRendering } = profile;
  // The 0 is that of each tool result: ids are stored with sessions.
  const overheads = [perMessage + (profile.countsRole ? 1 : 0), perCall, 0, toolsPreamble].join("+");
  return `${encoding.name}*${Number(ratio.toFixed(4))}+${overheads}/${toolRendering}/${image}`;
}

/**
 * Counts text in one encoding, each text once; by length after the encoding's first failure. Never throws.
 */
interface TextCounter {
  count(text: string): number;
  /** False once the encoding failed to load; loading happens on the first count, not here. */
  works(): boolean;
}

/** Counts that a generation keeps, about 100 bytes each; what was not asked for during two is forgotten. */
const GENERATION = 4_096;

/** A text counter that calls `warn` once when the encoding fails. Retains fingerprints of texts, no text. */
function createTextCounter(encoding: TextEncoding, warn: (message: string) => void): TextCounter {
  let recent = new Map<number, number>();
  let older = new Map<number, number>();
  let failed = false;

  function countAnew(text: string): number {
    if (failed) return fallbackTokens(text);
    try {
      return encoding.count(text);
    } catch (error) {
      failed = true;
      recent = new Map();
      older = new Map();
      const reason = errorMessage(error);
      warn(`compact-context: ${encoding.name} cannot be loaded, counting characters/4 instead (${reason})`);
      return fallbackTokens(text);
    }
  }

  function count(text: string): number {
    if (text === "") return 0;
    const key = textHash(text);
    const known = recent.get(key);
    if (known !== undefined) return known;
    const tokens = older.get(key) ?? countAnew(text);
    if (recent.size >= GENERATION) {
      older = recent;
      recent = new Map();
    }
    recent.set(key, tokens);
    return tokens;
  }

  return { count, works: () => !failed };
}

/**
 * Measured error of characters/4 on real text, from base64 (2.7 times as many tokens) to lines of dashes (a
 * third).
 */
const FALLBACK_RANGE = { low: 0.35, high: 2.7 };

/** Content and overheads of one message, before the ratio is applied. */
interface Tally {
  /** Tokens of the encoding, to be multiplied by the ratio. */
  encoded: number;
  /** Billed tokens: overheads and media. */
  fixed: number;
}

function addPart(tally: Tally, part: Part, plan: CountingPlan, text: TextCounter): void {
  if (part.type === "text") tally.encoded += text.count(part.text);
  else if (part.type === "media") tally.fixed += mediaTokens(part, plan.image);
  else if (part.type === "reasoning") {
    const hidden = Math.ceil((part.opaqueLength ?? 0) / 4);
    tally.encoded += Math.max(text.count(part.text), hidden);
  } else if (part.type === "toolCall") {
    tally.encoded += text.count(part.name) + text.count(callText(part));
    tally.fixed += plan.profile.perCall;
  } else if (part.type === "toolResult") {
    if (typeof part.content === "string") tally.encoded += text.count(part.content);
    else for (const piece of part.content) addPart(tally, piece, plan, text);
  }
}

/** Arguments that cannot be serialized as JSON (cycles, bigints) were never sent: count their string form. */
function callText(part: ToolCallPart): string {
  try {
    return argumentsText(part);
  } catch {
    return String(part.arguments);
  }
}

/** OpenAI's chat format may name the speaker: 1 token and the name (cookbook). */
function nameTokens(message: Message, text: TextCounter): number {
  if (message.format !== "openai-chat" || message.role === "tool") return 0;
  const name = (message.native as { name?: unknown } | undefined)?.name;
  return typeof name === "string" ? 1 + text.count(name) : 0;
}

function messageTokens(message: Message, plan: CountingPlan, text: TextCounter): number {
  const { profile } = plan;
  // A message without any remaining part is not sent.
  if (message.edited === true && message.parts.length === 0) return 0;
  const tally: Tally = { encoded: nameTokens(message, text), fixed: profile.perMessage };
  if (profile.countsRole) tally.encoded += text.count(message.role);
  for (const part of message.parts) addPart(tally, part, plan, text);
  return tally.fixed + scaled(tally.encoded, profile, text);
}

const scaled = (tokens: number, profile: CountingProfile, text: TextCounter): number =>
  text.works() ? Math.round(tokens * profile.ratio) : tokens;

function uncertainTokens(parts: readonly Part[], image: ImageFormula): number {
  let total = 0;
  for (const part of parts) {
    if (part.type === "media") total += mediaTokens(part, image);
    else if (part.type === "reasoning") total += Math.ceil((part.opaqueLength ?? 0) / 4);
    else if (part.type === "toolResult" && typeof part.content !== "string") {
      total += uncertainTokens(part.content, image);
    }
  }
  return total;
}

/**
 * Counts for one model, encoding or format, with its provider's overheads; otherwise the generic 4 tokens per
 * message. Each message object and each text is encoded once: treat messages as immutable. Throws
 * `InvalidArgument` for an unknown encoding name; the counter itself never throws.
 */
export function createTokenCounter(options: TokenCounterOptions = {}): TokenCounter {
  const plan = planCounting(options);
  const { profile } = plan;
  const exactId = planId(plan);
  const text = createTextCounter(plan.encoding, options.onWarning ?? ((message) => console.warn(message)));
  let counted = new WeakMap<Message, number>();
  let countedExactly = true;

  function countMessage(message: Message): number {
    if (countedExactly !== text.works()) {
      counted = new WeakMap();
      countedExactly = text.works();
    }
    const known = counted.get(message);
    if (known !== undefined) return known;
    const tokens = messageTokens(message, plan, text);
    counted.set(message, tokens);
    return tokens;
  }

  return {
    get id() {
      return text.works() ? exactId : `characters/4+${profile.perMessage}`;
    },
    get exact() {
      return profile.exact && text.works();
    },
    perRequest: profile.perRequest,
    countText: (value) => scaled(text.count(value), profile, text),
    countMessage,
    countSystem: (system) => (system ? countMessage(systemMessage(system)) : 0),
    countTools: (tools) => (tools?.length ? toolTokens(tools, plan, text) : 0),
    countUncertain: (message) => uncertainTokens(message.parts, plan.image),
    range: (tokens) => rangeOf(tokens, profile, text),
  };
}

const systemMessage = (system: string): Message => ({
  id: "system",
  role: "system",
  parts: [{ type: "text", text: system }],
});

function toolTokens(
  tools: readonly unknown[],
  { encoding, profile }: CountingPlan,
  text: TextCounter,
): number {
  if (profile.toolRendering === "lines") {
    return toolLinesTokens(tools, text.count, encoding.name === "cl100k_base");
  }
  return profile.toolsPreamble + scaled(toolJsonTokens(tools, text.count), profile, text);
}

function rangeOf(tokens: number, profile: CountingProfile, text: TextCounter): TokenCount {
  const { low, high } = text.works() ? profile : FALLBACK_RANGE;
  return {
    tokens,
    exact: profile.exact && text.works(),
    low: Math.floor(tokens * low),
    high: Math.ceil(tokens * high),
  };
}

/** One counter for a known model; otherwise one per format, created on first use. */
export function createCounters(options: TokenCounterOptions): (format: Format | undefined) => TokenCounter {
  const known = options.model !== undefined && lookUpModel(options.model, options.models).known;
  const counters = new Map<Format | undefined, TokenCounter>();
  return (format) => {
    const key = known ? undefined : format;
    let counter = counters.get(key);
    if (counter === undefined) {
      counter = createTokenCounter({ ...options, format: key });
      counters.set(key, counter);
    }
    return counter;
  };
}
