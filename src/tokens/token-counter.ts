import { argumentsText, type Format, type Message, type Part } from "../messages/message.ts";
import type { TokenCount, TokenCounter } from "./counter.ts";
import { type EncodingName, encodingNamed, type TextEncoding } from "./encoding.ts";
import { mediaTokens } from "./media.ts";
import { createTextMemo } from "./memo.ts";
import type { ImageFormula, ModelFacts } from "./model-facts.ts";
import { DEFAULT_MODEL, lookUpModel, type ModelOverrides } from "./models.ts";
import { type CountingProfile, PROFILES } from "./profiles.ts";
import { toolJsonTokens, toolLinesTokens } from "./tool-schema.ts";

export interface TokenCounterOptions {
  /** Model name as a host writes it; see `lookUpModel`. */
  readonly model?: string;
  /** Overrides the model's encoding; alone it counts exactly, with the generic 4 tokens per message. */
  readonly encoding?: EncodingName | TextEncoding;
  /** Says which provider it is when no model is named. */
  readonly format?: Format;
  readonly models?: ModelOverrides;
  /** Told once when the encoding cannot be loaded; `console.warn` when left out. */
  readonly onWarning?: (message: string) => void;
}

/** What one counter counts with, after model, encoding and format were looked up. */
interface Plan {
  readonly encoding: TextEncoding;
  readonly profile: CountingProfile;
  readonly image: ImageFormula;
}

/** How far characters/4 was off on real text, from base64 (2.7 times as many) to rules of dashes (a third). */
const FALLBACK_RANGE = { low: 0.35, high: 2.7 };

/** The model whose way of counting stands in when only the format is known. */
const FORMAT_MODELS: Partial<Record<Format, Partial<ModelFacts>>> = {
  anthropic: { counting: "claude", encoding: "cl100k_base", image: "claude-1568" },
  gemini: { counting: "gemini", image: "gemini-resolution" },
  "openai-chat": { counting: "openai", image: "openai-patches" },
  "openai-responses": { counting: "openai", image: "openai-patches" },
  "openai-agents": { counting: "openai", image: "openai-patches" },
};

/** floor(length / 4), at least 1 for any text: what is counted when no encoding can be loaded. */
export function fallbackTokens(text: string): number {
  return text === "" ? 0 : Math.max(1, Math.floor(text.length / 4));
}

function planFor(options: TokenCounterOptions): Plan {
  const facts = factsFor(options);
  const named = typeof options.encoding === "string" ? encodingNamed(options.encoding) : options.encoding;
  const encoding = named ?? encodingNamed(facts.encoding);
  const profile = PROFILES[facts.counting];
  if (named === undefined) return { encoding, profile: guessed(profile, options), image: facts.image };
  if (options.model === undefined && options.format === undefined) {
    return { encoding, profile: { ...PROFILES.generic, exact: true, low: 1, high: 1 }, image: facts.image };
  }
  const same = named.name === facts.encoding;
  return { encoding, profile: same ? guessed(profile, options) : foreign(profile), image: facts.image };
}

function factsFor({ model, format, models }: TokenCounterOptions): ModelFacts {
  if (model !== undefined) return lookUpModel(model, models);
  return { ...DEFAULT_MODEL, ...(format && FORMAT_MODELS[format]) };
}

/** A format alone names no vocabulary, so what it suggests is never exact. */
function guessed(profile: CountingProfile, { model }: TokenCounterOptions): CountingProfile {
  if (model !== undefined || !profile.exact) return profile;
  return { ...profile, exact: false, low: PROFILES.generic.low, high: PROFILES.generic.high };
}

/** The model's overheads with an encoding that is not its own: the ratio between the two is not known. */
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

const idOf = ({ encoding, profile, image }: Plan): string => {
  const { ratio, perMessage, perCall, perResult, toolsPreamble, toolRendering } = profile;
  const overheads = [perMessage + (profile.countsRole ? 1 : 0), perCall, perResult, toolsPreamble].join("+");
  return `${encoding.name}*${Number(ratio.toFixed(4))}+${overheads}/${toolRendering}/${image}`;
};

/** Text through the encoding, each text once; from the first failure on by length, with one warning. */
function createTextCounter(encoding: TextEncoding, warn: (message: string) => void) {
  const memo = createTextMemo();
  let failed = false;
  const compute = (text: string): number => (failed ? fallbackTokens(text) : encoding.count(text));

  return {
    failed: (): boolean => failed,
    /** Tries the encoding before anything is asked about it. */
    probe(): boolean {
      this.count("a");
      return !failed;
    },
    count(text: string): number {
      if (text === "") return 0;
      try {
        return memo.get(text, compute);
      } catch (error) {
        failed = true;
        memo.clear();
        const reason = error instanceof Error ? error.message : String(error);
        warn(`compact-context: ${encoding.name} cannot be loaded, counting characters/4 instead (${reason})`);
        return memo.get(text, compute);
      }
    },
  };
}

type TextCounter = ReturnType<typeof createTextCounter>;

/** Content and overheads of one message, before and after the ratio. */
interface Tally {
  /** Tokens of the encoding, which the ratio turns into billed ones. */
  encoded: number;
  /** Billed tokens: overheads, media. */
  fixed: number;
}

function addPart(tally: Tally, part: Part, plan: Plan, text: TextCounter): void {
  if (part.type === "text") tally.encoded += text.count(part.text);
  else if (part.type === "media") tally.fixed += mediaTokens(part, plan.image);
  else if (part.type === "reasoning") {
    const hidden = Math.ceil((part.opaqueLength ?? 0) / 4);
    tally.encoded += Math.max(text.count(part.text), hidden);
  } else if (part.type === "toolCall") {
    tally.encoded += text.count(part.name) + text.count(argumentsText(part));
    tally.fixed += plan.profile.perCall;
  } else {
    tally.fixed += plan.profile.perResult;
    if (typeof part.content === "string") tally.encoded += text.count(part.content);
    else for (const piece of part.content) addPart(tally, piece, plan, text);
  }
}

/** OpenAI's chat format may name the speaker: 1 token and the name (cookbook). */
function nameTokens(message: Message, text: TextCounter): number {
  if (message.format !== "openai-chat" || message.role === "tool") return 0;
  const name = (message.native as { name?: unknown } | undefined)?.name;
  return typeof name === "string" ? 1 + text.count(name) : 0;
}

function messageTokens(message: Message, plan: Plan, text: TextCounter): number {
  const { profile } = plan;
  const tally: Tally = { encoded: nameTokens(message, text), fixed: profile.perMessage };
  if (profile.countsRole) tally.encoded += text.count(message.role);
  for (const part of message.parts) addPart(tally, part, plan, text);
  return tally.fixed + scaled(tally.encoded, profile, text);
}

const scaled = (tokens: number, profile: CountingProfile, text: TextCounter): number =>
  text.failed() ? tokens : Math.round(tokens * profile.ratio);

/** A counter and what a whole request costs beside its messages. */
export interface RequestCounter extends TokenCounter {
  /** Tokens that open the reply, once per request. */
  readonly perRequest: number;
  /** The part of a message's count that is an estimate whatever the encoding: media and unreadable reasoning. */
  countUncertain(message: Message): number;
}

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
 * Counts for one model, encoding or format, with the overheads of its provider; the generic 4 tokens per message
 * otherwise. Each message object and each text is encoded once: treat messages as immutable.
 * Throws `InvalidArgument` for an unknown encoding name; the counter itself never throws.
 */
export function createTokenCounter(options: TokenCounterOptions = {}): RequestCounter {
  const plan = planFor(options);
  const { profile } = plan;
  const text = createTextCounter(plan.encoding, options.onWarning ?? ((message) => console.warn(message)));
  let counted = new WeakMap<Message, number>();
  let countedExactly = true;

  function countMessage(message: Message): number {
    if (countedExactly !== !text.failed()) {
      counted = new WeakMap();
      countedExactly = !text.failed();
    }
    const known = counted.get(message);
    if (known !== undefined) return known;
    const tokens = messageTokens(message, plan, text);
    counted.set(message, tokens);
    return tokens;
  }

  return {
    get id() {
      return text.probe() ? idOf(plan) : `characters/4+${profile.perMessage}`;
    },
    get exact() {
      return profile.exact && text.probe();
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

function toolTokens(tools: readonly unknown[], { encoding, profile }: Plan, text: TextCounter): number {
  if (profile.toolRendering === "lines") {
    return toolLinesTokens(tools, text.count, encoding.name === "cl100k_base");
  }
  return profile.toolsPreamble + scaled(toolJsonTokens(tools, text.count), profile, text);
}

function rangeOf(tokens: number, profile: CountingProfile, text: TextCounter): TokenCount {
  const { low, high } = text.probe() ? profile : FALLBACK_RANGE;
  return {
    tokens,
    exact: profile.exact && !text.failed(),
    low: Math.floor(tokens * low),
    high: Math.ceil(tokens * high),
  };
}
