import { argumentsText, type Message, type Part, type ToolCallPart } from "../core/message.ts";
import type { TokenCount, TokenCounter } from "../core/ports.ts";
import { type CountingPlan, planCounting, planId, type TokenCounterOptions } from "./counting-plan.ts";
import { mediaTokens } from "./media.ts";
import type { ImageFormula } from "./model-facts.ts";
import type { CountingProfile } from "./profiles.ts";
import { createTextCounter, type TextCounter } from "./text-counter.ts";
import { toolJsonTokens, toolLinesTokens } from "./tool-schema.ts";

/** How far characters/4 was off on real text, from base64 (2.7 times as many) to rules of dashes (a third). */
const FALLBACK_RANGE = { low: 0.35, high: 2.7 };

/** Content and overheads of one message, before and after the ratio. */
interface Tally {
  /** Tokens of the encoding, which the ratio turns into billed ones. */
  encoded: number;
  /** Billed tokens: overheads, media. */
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
    tally.fixed += plan.profile.perResult;
    if (typeof part.content === "string") tally.encoded += text.count(part.content);
    else for (const piece of part.content) addPart(tally, piece, plan, text);
  }
}

/** Arguments that cannot be written as JSON (cycles, bigints) were never sent: they count as they print. */
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
  // A message whose every part was taken out has no entry on the wire.
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
 * Counts for one model, encoding or format, with the overheads of its provider; the generic 4 tokens per message
 * otherwise. Each message object and each text is encoded once: treat messages as immutable.
 * Throws `InvalidArgument` for an unknown encoding name; the counter itself never throws.
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
