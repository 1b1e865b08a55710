import type { Format } from "../core/message.ts";
import { type EncodingName, encodingNamed, type TextEncoding } from "./encoding.ts";
import type { ImageFormula, ModelFacts } from "./model-facts.ts";
import { DEFAULT_MODEL, lookUpModel, type ModelOverrides } from "./models.ts";
import { type CountingProfile, PROFILES } from "./profiles.ts";

export interface TokenCounterOptions {
  /** Model name as a host writes it; see `lookUpModel`. */
  readonly model?: string;
  /** Overrides the model's encoding; alone it counts exactly, with the generic 4 tokens per message. */
  readonly encoding?: EncodingName | TextEncoding;
  /** Says which provider it is when no model is named, or none that is known. */
  readonly format?: Format;
  readonly models?: ModelOverrides;
  /** Told once when the encoding cannot be loaded; `console.warn` when left out. */
  readonly onWarning?: (message: string) => void;
}

/** What one counter counts with, after model, encoding and format were looked up. */
export interface CountingPlan {
  readonly encoding: TextEncoding;
  readonly profile: CountingProfile;
  readonly image: ImageFormula;
}

/** The model whose way of counting stands in when only the format is known. */
const FORMAT_MODELS: Partial<Record<Format, Partial<ModelFacts>>> = {
  anthropic: { counting: "claude", encoding: "cl100k_base", image: "claude-1568" },
  gemini: { counting: "gemini", image: "gemini-resolution" },
  "openai-chat": { counting: "openai", image: "openai-patches" },
  "openai-responses": { counting: "openai", image: "openai-patches" },
  "openai-agents": { counting: "openai", image: "openai-patches" },
};

/** The encoding, ratio, overheads and image formula that the options come to; throws for an unknown encoding name. */
export function planCounting(options: TokenCounterOptions): CountingPlan {
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

/** `certain`: these facts are the model's own, not those of a sibling or of a format's usual models. */
function factsFor({
  model,
  format,
  models,
}: TokenCounterOptions): ModelFacts & { readonly certain: boolean } {
  const found = model === undefined ? undefined : lookUpModel(model, models);
  if (found?.known) return { ...found, certain: found.found !== "family" };
  return { ...DEFAULT_MODEL, ...(format && FORMAT_MODELS[format]), certain: false };
}

/** What a format or a sibling suggests is never exact. */
function guessed(profile: CountingProfile): CountingProfile {
  if (!profile.exact) return profile;
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

/** Names all that a count depends on. */
export function planId({ encoding, profile, image }: CountingPlan): string {
  const { ratio, perMessage, perCall, perResult, toolsPreamble, toolRendering } = profile;
  const overheads = [perMessage + (profile.countsRole ? 1 : 0), perCall, perResult, toolsPreamble].join("+");
  return `${encoding.name}*${Number(ratio.toFixed(4))}+${overheads}/${toolRendering}/${image}`;
}
