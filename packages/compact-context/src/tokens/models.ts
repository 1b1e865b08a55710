import { requireOptions, requireText } from "../errors.ts";
import type { EncodingName } from "./encoding.ts";
import type {
  CacheRules,
  CountingStyle,
  ImageFormula,
  ModelFacts,
  ModelTraits,
  Prices,
} from "./model-facts.ts";
import { isCloser, nameWords, normalizeModelName, sharedWords, withoutSnapshot } from "./model-names.ts";
import { MODEL_TABLE } from "./models-table.ts";

/** Facts that replace or complete those of the table, by model name as the caller writes it. */
export type ModelOverrides = Readonly<Record<string, Partial<ModelFacts>>>;

/** How a model was found; from `snapshot` on its prices are unknown, at `default` everything is assumed. */
export type ModelMatch = "override" | "provider" | "exact" | "normalized" | "snapshot" | "family" | "default";

export interface ModelLookup extends ModelFacts {
  /** False when nothing about this name is known and the defaults stand in. */
  readonly known: boolean;
  readonly found: ModelMatch;
  /** The table id whose facts were used; absent for defaults and for overrides of unknown models. */
  readonly matched?: string;
}

const NO_PRICES: Prices = { in: null, out: null, read: null, write: null, write1h: null };

/** What is assumed of a model that nobody knows: 128k window, 8k output, no prices. */
export const DEFAULT_MODEL: ModelFacts = {
  id: "",
  provider: "unknown",
  counting: "generic",
  encoding: "o200k_base",
  cache: { kind: "none", min: null, ttl: null },
  image: "flat",
  thinking: "free",
  limits: { bytes: null, images: null },
  window: 128_000,
  softWindow: 128_000,
  maxOutput: 8_192,
  prices: NO_PRICES,
  tier: null,
  asOf: null,
};

/** Vendors whose names are shared by all their models: one common word is enough to take a sibling's window. */
const ONE_LINE_VENDORS = new Set(["anthropic", "openai", "google", "xai"]);

const cellNumber = (cell: string | undefined): number | null =>
  cell === undefined || cell === "-" ? null : Number(cell);

function pricesOf(cell: string): Prices {
  if (cell === "-") return NO_PRICES;
  const [input, output, read, write, write1h] = cell.split("/");
  return {
    in: cellNumber(input),
    out: cellNumber(output),
    read: cellNumber(read),
    write: cellNumber(write),
    write1h: cellNumber(write1h),
  };
}

function traitsOf(line: string): ModelTraits & { asOf: string } {
  const cells = line.split(" ");
  const at = (index: number): string => cells[index] ?? "";
  const [kind = "none", min, ttl] = at(4).split("/");
  const [bytes, images] = at(7).split("/");
  return {
    provider: at(1),
    counting: at(2) as CountingStyle,
    encoding: at(3) as EncodingName,
    cache: { kind: kind as CacheRules["kind"], min: cellNumber(min), ttl: cellNumber(ttl) },
    image: at(5) as ImageFormula,
    thinking: at(6) as "bound" | "free",
    limits: { bytes: cellNumber(bytes), images: cellNumber(images) },
    asOf: at(8),
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
    softWindow: Math.min(Number(window), tier?.above ?? Number.POSITIVE_INFINITY),
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

/** `-latest` is the newest of its line: it says nothing of an older one. */
function isNoAlias({ id }: ModelFacts): boolean {
  return !id.endsWith("-latest");
}

/** The sibling with the longest common beginning: the newest that is not newer than the name, else the oldest. */
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
  const facts = { ...model, id, window, softWindow: window, prices: NO_PRICES, tier: null, asOf: null };
  return { ...facts, known: true, found, matched: model.id };
}

/** True for `claude-next-1` beside `claude-haiku-5-5`: the vendor is the same and nothing more. */
function isOtherLine(name: string, sibling: string): boolean {
  const words = nameWords(withoutSnapshot(name));
  return sharedWords(words, nameWords(sibling)) === 1 && Number.isNaN(Number(words[1] ?? "x"));
}

function overrideOf(name: string, overrides: ModelOverrides): Partial<ModelFacts> | undefined {
  if (Object.hasOwn(overrides, name)) return overrides[name];
  const normalized = normalizeModelName(name);
  return Object.entries(overrides).find(([key]) => normalizeModelName(key) === normalized)?.[1];
}

/**
 * What is known of a model. Looked up in this order: the caller's overrides (by name, then without what hosts
 * add to it), `provider/id`, the id, the id without what hosts add, the model it is a snapshot of, the nearest
 * sibling (never the prices of these two), and defaults with `known: false`.
 */
export function lookUpModel(name: string, overrides: ModelOverrides = {}): ModelLookup {
  requireText(name, "name", "Pass the model's name as its provider writes it.");
  requireOptions(overrides, "overrides");
  const listed: ModelLookup = fromTable(name) ??
    fromSnapshot(name) ??
    fromFamily(name) ?? { ...DEFAULT_MODEL, id: name, known: false, found: "default" };
  const own = overrideOf(name, overrides);
  if (own === undefined) return listed;
  const facts: ModelLookup = { ...listed, ...own, known: true, found: "override" };
  if (own.softWindow !== undefined) return facts;
  const boundary = facts.tier?.above ?? Number.POSITIVE_INFINITY;
  return { ...facts, softWindow: Math.min(facts.window, boundary) };
}

/** The overrides with one more model in them; the given map is left as it is. */
export function registerModel(
  overrides: ModelOverrides,
  name: string,
  facts: Partial<ModelFacts>,
): ModelOverrides {
  return { ...overrides, [name]: { ...overrides[name], ...facts } };
}
