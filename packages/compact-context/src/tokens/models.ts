import type { ReportedUsage, SummaryAttempt } from "../core/ports.ts";
import { defined, requireOptions, requireText } from "../errors.ts";
import { MODEL_TABLE } from "./models-table.ts";

/** Encodings with a public vocabulary, included in the package. */
export type EncodingName = "cl100k_base" | "o200k_base";
/** USD per million tokens; null if unknown. */
export interface Prices {
  readonly in: number | null;
  readonly out: number | null;
  readonly read: number | null;
  readonly write: number | null;
}

/**
 * How a prompt cache matches: at stored breakpoints, on any prefix, or not at all without an explicit cache.
 * `min` is the shortest cacheable prompt in tokens, `ttl` the seconds since the last hit until eviction;
 * null: unknown.
 */
export interface CacheRules {
  readonly kind: "breakpoints" | "prefix" | "none";
  readonly min: number | null;
  readonly ttl: number | null;
}

/** A formula of `media.ts`. */
export type ImageFormula =
  | "openai-patches"
  | "openai-patches-10000"
  | "openai-patches-1536-1.62"
  | "openai-patches-1536-1.72"
  | "openai-patches-1536-2.46"
  | "openai-tiles-70-140"
  | "openai-tiles-85-170"
  | "openai-tiles-2833-5667"
  | "claude-1568"
  | "claude-2576"
  | "gemini-tiles"
  | "gemini-resolution"
  | "flat";

/** A counting profile of `token-counter.ts`: the ratio and overheads of a model. */
export type CountingStyle =
  | "openai"
  | "claude"
  | "claude-new"
  | "gemini"
  | "grok"
  | "deepseek"
  | "mistral"
  | "kimi"
  | "glm"
  | "qwen"
  | "minimax"
  | "muse"
  | "llama"
  | "generic";

/** The facts shared by the models of one group. */
export interface ModelTraits {
  readonly provider: string;
  readonly counting: CountingStyle;
  readonly encoding: EncodingName;
  readonly cache: CacheRules;
  readonly image: ImageFormula;
  /** `bound`: signed reasoning is rejected or dropped once anything before it was edited. */
  readonly thinking: "bound" | "free";
}

/** All known facts about one model. */
export interface ModelFacts extends ModelTraits {
  readonly id: string;
  /** Context window in tokens. */
  readonly window: number;
  /** Maximum output tokens of one response. */
  readonly maxOutput: number;
  readonly prices: Prices;
  /** Prices of a request with more than `above` input tokens. */
  readonly tier: { readonly above: number; readonly prices: Prices } | null;
  /** Date of the prices, ISO 8601; null if no price is known. */
  readonly asOf: string | null;
}

/**
 * A model name without the additions of hosts: cloud regions, vendor and gateway prefixes, version suffixes,
 * release dates, `-latest`, `:free`, `[1m]`; dots become hyphens.
 */
function normalizeModelName(name: string): string {
  let rest = name.trim().toLowerCase();
  rest = rest.slice(rest.lastIndexOf("/") + 1);
  rest = withoutBrackets(rest).replace(/^~/, "");
  rest = rest.replace(/^(us-gov|us|eu|apac|au|jp|in|ca|global)\./, "");
  rest = rest.replace(
    /^(anthropic|openai|google|xai|deepseek|mistral|moonshotai?|zai|qwen|minimax|meta)\./,
    "",
  );
  rest = rest
    .replace(/@.*$/, "")
    .replace(/-v\d+(:\d+)*$/, "")
    .replace(/:[a-z0-9.-]+$/, "");
  rest = rest.replace(/-(19|20)\d{6}$/, "").replace(/-(19|20)\d\d-\d\d-\d\d$/, "");
  rest = rest.replace(/-v\d+$/, "").replace(/-latest$/, "");
  return rest.replaceAll(".", "-");
}

/**
 * No regular expression: one that searches for the closing bracket from every opening one takes quadratic
 * time.
 */
function withoutBrackets(name: string): string {
  const begin = name.indexOf("[", name.lastIndexOf("]", name.length - 2) + 1);
  return begin !== -1 && name.endsWith("]") ? name.slice(0, begin) : name;
}

/**
 * A normalized name without the suffix of a snapshot or fine-tune: `-preview`, `-0613`, `-002`, `ft:…:org`.
 */
function withoutSnapshot(name: string): string {
  return normalizeModelName(name.replace(/^ft:([^:]+):.*$/, "$1"))
    .replace(/^chatgpt-/, "gpt-")
    .replace(/-preview(-\d\d-\d{2,4})?$/, "")
    .replace(/-\d{3,4}$/, "");
}

/** The words and numbers of a normalized model name: `gpt-4o` is gpt, 4, o. */
function nameWords(name: string): string[] {
  return normalizeModelName(name).match(/[a-z]+|\d+/g) ?? [];
}

function sharedWords(left: readonly string[], right: readonly string[]): number {
  let shared = 0;
  while (shared < left.length && left[shared] === right[shared]) shared += 1;
  return shared;
}

/** True if `candidate` is closer to `name` than `best`: more shared words, then older, then newest. */
function isCloser(name: readonly string[], candidate: readonly string[], best: readonly string[]): boolean {
  const shared = sharedWords(candidate, name) - sharedWords(best, name);
  if (shared !== 0) return shared > 0;
  const older = compareWords(candidate, name) <= 0;
  if (older !== compareWords(best, name) <= 0) return older;
  const order = compareWords(candidate, best);
  return older ? order > 0 : order < 0;
}

/** Orders names like versions: numbers by value, `2411`-like dates before versions, shorter names first. */
function compareWords(left: readonly string[], right: readonly string[]): number {
  const index = sharedWords(left, right);
  const [one, two] = [left[index], right[index]];
  if (one === undefined || two === undefined) return left.length - right.length;
  const difference = versionOf(one) - versionOf(two);
  if (!Number.isNaN(difference)) return difference;
  return one < two ? -1 : 1;
}

const versionOf = (word: string): number => (word.length === 4 ? Number(word) - 10_000 : Number(word));

/** Facts that override or extend the table, keyed by model name as the caller writes it. */
export type ModelOverrides = Readonly<Record<string, Partial<ModelFacts>>>;

/** How a model was found; from `snapshot` on its prices are unknown, at `default` all facts are assumed. */
export type ModelMatch = "override" | "provider" | "exact" | "normalized" | "snapshot" | "family" | "default";

export interface ModelLookup extends ModelFacts {
  /** False if nothing is known about this name and the defaults apply. */
  readonly known: boolean;
  readonly found: ModelMatch;
  /** The table id whose facts were used; absent for defaults and overrides of unknown models. */
  readonly matched?: string;
}

const NO_PRICES: Prices = { in: null, out: null, read: null, write: null };

/** Assumptions for an unknown model: 128k window, 8k output, no prices. */
export const DEFAULT_MODEL: ModelFacts = {
  id: "",
  provider: "unknown",
  counting: "generic",
  encoding: "o200k_base",
  cache: { kind: "none", min: null, ttl: null },
  image: "flat",
  thinking: "free",
  window: 128_000,
  maxOutput: 8_192,
  prices: NO_PRICES,
  tier: null,
  asOf: null,
};

/** Vendors with one naming scheme for all models: one shared word is enough to use a sibling's window. */
const ONE_LINE_VENDORS = new Set(["anthropic", "openai", "google", "xai"]);

const cellNumber = (cell: string | undefined): number | null =>
  cell === undefined || cell === "-" ? null : Number(cell);

function pricesOf(cell: string): Prices {
  if (cell === "-") return NO_PRICES;
  const [input, output, read, write] = cell.split("/").map(cellNumber);
  return { in: input ?? null, out: output ?? null, read: read ?? null, write: write ?? null };
}

function traitsOf(line: string): ModelTraits & { asOf: string } {
  const cells = line.split(" ");
  const at = (index: number): string => cells[index] ?? "";
  const [kind = "none", min, ttl] = at(4).split("/");
  return {
    provider: at(1),
    counting: at(2) as CountingStyle,
    encoding: at(3) as EncodingName,
    cache: { kind: kind as CacheRules["kind"], min: cellNumber(min), ttl: cellNumber(ttl) },
    image: at(5) as ImageFormula,
    thinking: at(6) as "bound" | "free",
    asOf: at(7),
  };
}

function factsOf(line: string, { asOf, ...traits }: ModelTraits & { asOf: string }): ModelFacts {
  const [id = "", window, maxOutput, prices = "-", above] = line.split(" ");
  const [boundary, higher = "-"] = above?.slice(1).split(":") ?? [];
  const tier = boundary === undefined ? null : { above: Number(boundary), prices: pricesOf(higher) };
  return {
    ...traits,
    id,
    window: Number(window),
    maxOutput: Number(maxOutput),
    prices: pricesOf(prices),
    tier,
    asOf: prices === "-" ? null : asOf,
  };
}

let parsed: readonly ModelFacts[] | undefined;

/** Every model of the table, oldest generations last within a vendor. */
export function knownModels(): readonly ModelFacts[] {
  if (parsed !== undefined) return parsed;
  const models: ModelFacts[] = [];
  let traits: (ModelTraits & { asOf: string }) | undefined;
  for (const line of MODEL_TABLE.trim().split("\n")) {
    if (line.startsWith("#")) traits = traitsOf(line);
    else if (traits !== undefined) models.push(factsOf(line, traits));
  }
  parsed = models;
  return models;
}

/** `-latest` is the newest of its line and says nothing about older models. */
function isNoAlias({ id }: ModelFacts): boolean {
  return !id.endsWith("-latest");
}

/**
 * The sibling with the longest common beginning: the newest that is not newer than the name, otherwise the
 * oldest.
 */
function familyOf(name: string): ModelFacts | undefined {
  const words = nameWords(withoutSnapshot(name));
  let best: { model: ModelFacts; words: string[] } | undefined;
  for (const model of knownModels().filter(isNoAlias)) {
    const candidate = { model, words: nameWords(model.id) };
    const needed = ONE_LINE_VENDORS.has(model.provider) ? 1 : 2;
    if (sharedWords(candidate.words, words) < needed) continue;
    if (best === undefined || isCloser(words, candidate.words, best.words)) best = candidate;
  }
  return best?.model;
}

function fromTable(name: string): ModelLookup | undefined {
  const lower = name.trim().toLowerCase();
  const models = knownModels();
  const lookUp = (found: ModelMatch, test: (model: ModelFacts) => boolean): ModelLookup | undefined => {
    const model = models.find(test);
    return model && { ...model, known: true, found, matched: model.id };
  };
  const normalized = normalizeModelName(name);
  return (
    lookUp("provider", (model) => `${model.provider}/${model.id}`.toLowerCase() === lower) ??
    lookUp("exact", (model) => model.id.toLowerCase() === lower) ??
    lookUp("normalized", (model) => normalizeModelName(model.id) === normalized)
  );
}

function fromSnapshot(name: string): ModelLookup | undefined {
  const base = withoutSnapshot(name);
  const model = knownModels().find((one) => isNoAlias(one) && normalizeModelName(one.id) === base);
  return model && unpriced(name, model, "snapshot", model.window);
}

function fromFamily(name: string): ModelLookup | undefined {
  const model = familyOf(name);
  if (model === undefined) return undefined;
  const window = isOtherLine(name, model.id) ? Math.min(model.window, DEFAULT_MODEL.window) : model.window;
  return unpriced(name, model, "family", window);
}

function unpriced(id: string, model: ModelFacts, found: ModelMatch, window: number): ModelLookup {
  const facts = { ...model, id, window, prices: NO_PRICES, tier: null, asOf: null };
  return { ...facts, known: true, found, matched: model.id };
}

/** True for `claude-next-1` and `claude-haiku-5-5`: same vendor, nothing else in common. */
function isOtherLine(name: string, sibling: string): boolean {
  const words = nameWords(withoutSnapshot(name));
  return sharedWords(words, nameWords(sibling)) === 1 && Number.isNaN(Number(words[1] ?? "x"));
}

/** The caller's override for a model, by its name or by its normalized name. */
export function overrideOf<T>(name: string, overrides: Readonly<Record<string, T>>): T | undefined {
  if (Object.hasOwn(overrides, name)) return overrides[name];
  const normalized = normalizeModelName(name);
  return Object.entries(overrides).find(([key]) => normalizeModelName(key) === normalized)?.[1];
}

/**
 * The facts about a model. Lookup order: the caller's overrides (by name, then normalized name),
 * `provider/id`, the id, the normalized id, the model it is a snapshot of, the closest sibling (both without
 * prices), and defaults with `known: false`.
 */
export function lookUpModel(name: string, overrides: ModelOverrides = {}): ModelLookup {
  requireText(name, "name", "Pass the model's name as its provider writes it.");
  requireOptions(overrides, "overrides");
  const found = name === "" ? undefined : (fromTable(name) ?? fromSnapshot(name) ?? fromFamily(name));
  const listed: ModelLookup = found ?? { ...DEFAULT_MODEL, id: name, known: false, found: "default" };
  const own = overrideOf(name, overrides);
  return own === undefined ? listed : { ...listed, ...own, known: true, found: "override" };
}

/** Input tokens of one request, by cache status. */
export interface PromptUse {
  readonly cached: number;
  /** Tokens after the cached ones that were written to the cache. */
  readonly written: number;
  readonly uncached: number;
}

/** Cost of one request and its response in USD; undefined if a required price is unknown. */
export function dollarsOf(
  { cached, written, uncached }: PromptUse,
  outputTokens: number,
  { prices, tier }: Pick<ModelFacts, "prices" | "tier">,
): number | undefined {
  const total = cached + written + uncached;
  const valid = tier !== null && total > tier.above ? tier.prices : prices;
  const items: readonly (readonly [tokens: number, price: number | null])[] = [
    [cached, valid.read],
    [written, valid.write],
    [uncached, valid.in],
    [outputTokens, valid.out],
  ];
  let dollars = 0;
  for (const [tokens, price] of items) {
    if (tokens === 0) continue;
    if (price === null) return undefined;
    dollars += (tokens * price) / 1_000_000;
  }
  return dollars;
}

/** The same by the provider's report; undefined also where the cache was written for an hour, at a price of its own. */
export function costOf(usage: ReportedUsage, model: ModelFacts): number | undefined {
  const { input, cacheRead: cached, cacheWrite: written, output, write1h = 0 } = usage;
  if (write1h > 0) return undefined;
  return dollarsOf({ cached, written, uncached: Math.max(0, input - cached - written) }, output, model);
}

/** Text models are named `openai:gpt-5.4-mini`: the part before the colon is the provider. */
function modelNamed(name: string, models: ModelOverrides): ModelLookup {
  const whole = lookUpModel(name, models);
  return whole.known ? whole : lookUpModel(name.slice(name.indexOf(":") + 1), models);
}

/** Adds the model's provider to an attempt, and its cost if usage and prices are known; else the told cost stays. */
export function withCost(attempt: SummaryAttempt, models: ModelOverrides): SummaryAttempt {
  const model = modelNamed(attempt.model, models);
  const provider = model.known ? model.provider : undefined;
  const costUsd = attempt.usage && costOf(attempt.usage, model);
  return { ...attempt, provider, ...defined({ costUsd }) };
}
