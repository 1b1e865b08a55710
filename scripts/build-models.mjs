// Writes packages/compact-context/src/tokens/models-table.ts: `node scripts/build-models.mjs` (development only, run by hand; needs the
// npm registry). Windows, output limits and prices come from @earendil-works/pi-ai, prices of retired models from
// @pydantic/genai-prices, everything else from the hand table below.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const PRIMARY = { name: "@earendil-works/pi-ai", version: "1.5.2", published: "2026-11-10" };
const CHECK = { name: "@pydantic/genai-prices", version: "0.1.8", published: "2026-09-23" };
const TARGET = new URL("../packages/compact-context/src/tokens/models-table.ts", import.meta.url);

const breakpoints = (min, ttl) => ({ kind: "breakpoints", min, ttl });
const prefix = (min, ttl) => ({ kind: "prefix", min, ttl });
const NO_CACHE = { kind: "none", min: null, ttl: null };

/** A model that the primary source does not list: window and output limit by hand, price from `price` or unknown. */
const old = (id, window, maxOutput, price) => ({ id, window, maxOutput, price });

const claude = (traits, models) => ({
  provider: "anthropic",
  counting: "claude",
  encoding: "cl100k_base",
  cache: breakpoints(traits.cacheMin, 300),
  image: "claude-1568",
  thinking: "free",
  ...traits,
  models,
});
const newClaude = (traits, models) =>
  claude({ counting: "claude-new", image: "claude-2576", ...traits }, models);
const openai = (image, cache, models, encoding = "o200k_base") => ({
  provider: "openai",
  counting: "openai",
  encoding,
  cache,
  image,
  thinking: "free",
  models,
});
const gemini = (image, cache, models) => ({
  provider: "google",
  counting: "gemini",
  encoding: "o200k_base",
  cache,
  image,
  thinking: "free",
  models,
});
const other = (provider, counting, cache, models) => ({
  provider,
  counting,
  encoding: "o200k_base",
  cache,
  image: "flat",
  thinking: "free",
  models,
});
const cl100k = (...rest) => ({ ...other(...rest), encoding: "cl100k_base" });
const long = (...ids) => ids.map((id) => ({ id, window: 1_050_000 }));

const EARLY = prefix(1024, 300);
const LATE = breakpoints(1024, 1800);

const GROUPS = [
  newClaude({ thinking: "bound", cacheMin: null }, [
    "claude-haiku-5-5",
    "claude-sonnet-5-5",
    "claude-opus-5-5",
    "claude-fable-5-1",
    "claude-fable-5-2",
  ]),
  newClaude({ cacheMin: 512 }, ["claude-fable-5", "claude-opus-5"]),
  newClaude({ cacheMin: 1024 }, ["claude-opus-4-8", "claude-sonnet-5"]),
  newClaude({ cacheMin: 2048 }, ["claude-opus-4-7"]),
  claude({ cacheMin: 1024 }, ["claude-sonnet-4-6"]),
  claude({ cacheMin: 4096 }, ["claude-opus-4-6", "claude-opus-4-5", "claude-haiku-4-5"]),
  claude({ cacheMin: 1024 }, [
    "claude-sonnet-4-5",
    old("claude-opus-4-1", 200_000, 32_000, "claude-opus-4-1"),
    old("claude-opus-4", 200_000, 32_000, "claude-opus-4-0"),
    old("claude-sonnet-4", 200_000, 64_000, "claude-sonnet-4-0"),
    old("claude-3-7-sonnet", 200_000, 64_000, "claude-3-7-sonnet-latest"),
    old("claude-3-5-sonnet", 200_000, 8_192, "claude-3-5-sonnet"),
    old("claude-3-opus", 200_000, 4_096, "claude-3-opus-latest"),
    old("claude-3-sonnet", 200_000, 4_096, "claude-3-sonnet"),
  ]),
  claude({ cacheMin: 2048 }, [
    old("claude-3-5-haiku", 200_000, 8_192, "claude-3-5-haiku-latest"),
    old("claude-3-haiku", 200_000, 4_096, "claude-3-haiku"),
  ]),

  {
    ...openai(
      "openai-patches",
      LATE,
      long("gpt-6-astra", "gpt-6-sol", "gpt-6-luna", "gpt-6.1-sol", "gpt-6.1-terra"),
    ),
    thinking: "bound",
  },
  openai("openai-patches", LATE, [...long("gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"), "gpt-5.6-cyber"]),
  openai("openai-patches-10000", EARLY, [...long("gpt-5.5", "gpt-5.4"), "gpt-5.5-pro", "gpt-5.4-pro"]),
  openai("openai-patches-1536-1.62", EARLY, ["gpt-5.4-mini", "gpt-5-mini", "gpt-4.1-mini"]),
  openai("openai-patches-1536-2.46", EARLY, ["gpt-5.4-nano", "gpt-5-nano", "gpt-4.1-nano"]),
  openai("openai-patches-1536-1.72", EARLY, ["o4-mini"]),
  openai("openai-tiles-70-140", EARLY, [
    "gpt-5.3-codex",
    "gpt-5.3-codex-spark",
    "gpt-5.2",
    "gpt-5.2-pro",
    "gpt-5.1",
    "gpt-5",
    "gpt-5-pro",
    "gpt-5-chat-latest",
    old("gpt-5.2-codex", 400_000, 128_000, "gpt-5.2"),
    old("gpt-5.1-codex", 400_000, 128_000, "gpt-5.1"),
    old("gpt-5.1-codex-max", 400_000, 128_000, "gpt-5.1"),
    old("gpt-5.1-codex-mini", 400_000, 128_000, "gpt-5.1-codex-mini"),
    old("gpt-5-codex", 400_000, 128_000, "gpt-5"),
  ]),
  openai("openai-tiles-85-170", EARLY, [
    "gpt-4.1",
    "gpt-4o",
    "gpt-4o-2024-05-13",
    "o1",
    "o1-pro",
    "o3",
    "o3-pro",
    "o3-mini",
    old("o1-mini", 128_000, 65_536, "o1-mini"),
    old("o1-preview", 128_000, 32_768, "o1-preview"),
    old("codex-mini", 200_000, 100_000, "codex-mini"),
    old("gpt-4.5-preview", 128_000, 16_384, "gpt-4.5-preview"),
  ]),
  openai("openai-tiles-2833-5667", EARLY, ["gpt-4o-mini"]),
  openai(
    "openai-tiles-85-170",
    NO_CACHE,
    [
      "gpt-4-turbo",
      "gpt-4",
      old("gpt-4-1106-preview", 128_000, 4_096, null),
      old("gpt-4-0125-preview", 128_000, 4_096, null),
      old("gpt-4-32k", 32_768, 32_768, "gpt-4-32k"),
      old("gpt-3.5-turbo", 16_385, 4_096, "gpt-3.5-turbo"),
      old("gpt-3.5-turbo-0613", 4_096, 4_096, "gpt-3.5-turbo-0613"),
      old("gpt-3.5-turbo-16k", 16_385, 4_096, "gpt-3.5-turbo-16k"),
    ],
    "cl100k_base",
  ),

  gemini("gemini-resolution", prefix(4096, null), [
    "gemini-4-argon",
    "gemini-3.8-flash",
    "gemini-3.7-flash",
    "gemini-3.6-flash",
    "gemini-3.5-flash",
    "gemini-3.5-flash-lite",
    "gemini-3.1-pro-preview",
    "gemini-3.1-flash-lite",
    "gemini-3-flash-preview",
    old("gemini-3-pro-preview", 1_048_576, 65_536, "gemini-3-pro-preview"),
    "gemini-pro-latest",
    "gemini-flash-latest",
    "gemini-flash-lite-latest",
  ]),
  gemini("gemini-tiles", prefix(2048, null), ["gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite"]),
  gemini("gemini-tiles", NO_CACHE, [
    old("gemini-2.0-flash", 1_048_576, 8_192, "gemini-2.0-flash"),
    old("gemini-2.0-flash-lite", 1_048_576, 8_192, "gemini-2.0-flash-lite"),
    old("gemini-1.5-pro", 2_097_152, 8_192, "gemini-1.5-pro"),
    old("gemini-1.5-flash", 1_048_576, 8_192, "gemini-1.5-flash"),
  ]),

  {
    ...other("xai", "grok", prefix(null, null), [
      "grok-4.7",
      "grok-4.6",
      "grok-4.5",
      "grok-4.3",
      old("grok-4", 256_000, 256_000, "grok-4-0709"),
      old("grok-4-fast", 2_000_000, 30_000, "grok-4-fast-reasoning"),
      old("grok-4-1-fast", 2_000_000, 30_000, "grok-4-1-fast-reasoning"),
      old("grok-code-fast-1", 256_000, 10_000, "grok-code-fast-1"),
      old("grok-3", 131_072, 8_192, "grok-3"),
      old("grok-3-mini", 131_072, 8_192, "grok-3-mini"),
    ]),
    check: "x-ai",
  },
  other("deepseek", "deepseek", prefix(64, null), [
    "deepseek-v4-pro",
    "deepseek-flash",
    old("deepseek-v4-flash", 1_000_000, 384_000, null),
    old("deepseek-v3.2", 131_072, 65_536, null),
    old("deepseek-chat", 131_072, 8_192, null),
    old("deepseek-reasoner", 131_072, 65_536, null),
    old("deepseek-v3", 65_536, 8_192, null),
    old("deepseek-r1", 65_536, 32_768, null),
  ]),
  other("mistral", "mistral", prefix(null, null), [
    "mistral-large-4",
    "mistral-large-2512",
    "mistral-medium-3.5",
    "mistral-medium-2508",
    "mistral-medium-2505",
    "mistral-small-2603",
    "mistral-small-2506",
    "magistral-medium-latest",
    "ministral-14b-2512",
    "ministral-8b-2512",
    "ministral-3b-2512",
    "codestral-2508",
    "devstral-2512",
    "open-mistral-nemo",
    "pixtral-12b",
    old("mistral-large-2411", 131_072, 131_072, null),
    // Aliases move: the window that @mariozechner/pi-ai 0.73.1 gives them; newer models have no less.
    old("mistral-large-latest", 262_144, 262_144, null),
    old("mistral-medium-latest", 262_144, 262_144, null),
    old("mistral-small-latest", 256_000, 256_000, null),
  ]),
  other("moonshotai", "kimi", prefix(null, null), [
    "kimi-k3.1-pro",
    "kimi-k3",
    "kimi-k2.7-code",
    "kimi-k2.6",
    old("kimi-k2.5", 262_144, 98_304, "kimi-k2.5"),
    old("kimi-k2-thinking", 262_144, 98_304, "kimi-k2-thinking"),
    old("kimi-k2-0905-preview", 262_144, 98_304, "kimi-k2-0905-preview"),
    old("kimi-k2-0711-preview", 131_072, 98_304, "kimi-k2-0711-preview"),
  ]),
  cl100k("zai", "glm", prefix(null, null), [
    "glm-5.3",
    "glm-5.3-flash",
    "glm-5.2",
    "glm-5-turbo",
    "glm-4.7",
    old("glm-5.1", 202_752, 131_072, null),
    old("glm-5", 202_752, 131_072, null),
    old("glm-4.6", 202_752, 131_072, null),
    old("glm-4.5", 131_072, 98_304, null),
    old("glm-4.5-air", 131_072, 98_304, null),
  ]),
  {
    ...cl100k("qwen", "qwen", prefix(1024, null), [
      { id: "qwen3.8-max", price: null },
      { id: "qwen3.8-flash", price: null },
      { id: "qwen3.7-max", price: null },
      { id: "qwen3.7-plus", price: null },
      { id: "qwen3.6-plus", price: null },
      { id: "qwen3.6-flash", price: null },
      old("qwen3.5-plus", 1_000_000, 65_536, null),
      old("qwen3-max", 262_144, 65_536, null),
      old("qwen3-coder-plus", 1_000_000, 65_536, null),
      old("qwen3-coder", 262_144, 65_536, null),
      old("qwen3-235b-a22b", 131_072, 16_384, null),
      old("qwen3-32b", 40_960, 16_384, null),
      old("qwen2.5-72b-instruct", 32_768, 8_192, null),
    ]),
    source: "qwen-token-plan",
  },
  other("minimax", "minimax", prefix(512, null), [
    "MiniMax-M3.1-Flash",
    "MiniMax-M3",
    "MiniMax-M2.7",
    old("MiniMax-M2.5", 204_800, 131_072, "MiniMax-M2"),
    old("MiniMax-M2.1", 204_800, 131_072, "MiniMax-M2"),
    old("MiniMax-M2", 204_800, 131_072, "MiniMax-M2"),
  ]),
  other("meta", "muse", prefix(null, null), [
    "muse-wonder-1.0",
    "muse-spark-1.3",
    "muse-spark-1.1",
    "muse-ember-1.0",
  ]),
  cl100k("groq", "llama", NO_CACHE, [
    "llama-3.3-70b-versatile",
    "llama-3.1-8b-instant",
    old("llama-4-maverick", 131_072, 8_192, null),
    old("llama-4-scout", 131_072, 8_192, null),
    old("llama-3.3-70b-instruct", 131_072, 8_192, null),
    old("llama-3.1-405b-instruct", 131_072, 8_192, null),
    old("llama-3.1-70b-instruct", 131_072, 8_192, null),
    old("llama-3.1-8b-instruct", 131_072, 8_192, null),
  ]),
  {
    ...other("groq", "openai", prefix(null, 7200), ["openai/gpt-oss-120b", "openai/gpt-oss-20b"]),
    rename: true,
  },
];

/** Price differences between the two sources that are understood: the newer source has the later price. */
const EXPLAINED = new Map([["deepseek-v4-pro", "raised between September and November 2026"]]);

function unpack(source, folder) {
  const name = execFileSync("npm", ["pack", `${source.name}@${source.version}`, "--silent"], {
    cwd: folder,
    encoding: "utf8",
  }).trim();
  const into = join(folder, source.version);
  mkdirSync(into);
  execFileSync("tar", ["xzf", join(folder, name.split("\n").at(-1)), "-C", into]);
  return join(into, "package");
}

function primaryRows(root, provider) {
  const rows = new Map();
  const apis = JSON.parse(readFileSync(join(root, "dist/providers/data", `${provider}.json`), "utf8"));
  for (const api of Object.values(apis)) {
    for (const row of Object.values(api)) if (row.type === "chat") rows.set(row.id, row);
  }
  return rows;
}

/** A zero read price means "no cache price known"; a zero write price means "writing costs no extra". */
function prices(cost, group) {
  if (!cost || (cost.input === 0 && cost.output === 0)) return null;
  const read = cost.cacheRead || null;
  const write = cost.cacheWrite || (group.cache.kind === "prefix" && read ? cost.input : null);
  return [cost.input, cost.output, read, write];
}

const base = (price) => (typeof price === "object" && price !== null ? price.base : (price ?? null));

function checkedPrices(check, group, wanted) {
  if (wanted === null || wanted === undefined) return null;
  const usage = { input_tokens: 1, output_tokens: 1 };
  const provider = group.check ?? group.provider;
  const found = check.calcPrice(usage, wanted, { providerId: provider });
  if (found?.model.id !== wanted) throw new Error(`${wanted}: ${CHECK.name} knows it as ${found?.model.id}`);
  const table = found.model_price;
  const read = base(table.cache_read_mtok);
  const cost = {
    input: base(table.input_mtok),
    output: base(table.output_mtok),
    cacheRead: read,
    cacheWrite: base(table.cache_write_mtok),
  };
  const tier = tierOf(table, group);
  return { prices: prices(cost, group), tier };
}

function tierOf(table, group) {
  const input = table.input_mtok;
  if (typeof input !== "object" || !input.tiers?.length) return null;
  const at = (price) =>
    typeof price === "object" && price !== null ? (price.tiers[0]?.price ?? null) : null;
  const cost = { input: at(input), output: at(table.output_mtok), cacheRead: at(table.cache_read_mtok) };
  return [input.tiers[0].start, ...prices(cost, group)];
}

function rowOf(wanted, group, sources) {
  const entry = typeof wanted === "string" ? { id: wanted } : wanted;
  const known = sources.primary(group.source ?? group.provider).get(entry.id);
  const id = group.rename ? entry.id.split("/").at(-1) : entry.id;
  if (!known) {
    if (!entry.window) throw new Error(`${entry.id} is not in ${PRIMARY.name} and has no hand row`);
    const checked = checkedPrices(sources.check, group, entry.price);
    return {
      asOf: CHECK.published,
      row: [id, entry.window, entry.maxOutput, checked?.prices ?? null, checked?.tier ?? null],
    };
  }
  const cost = entry.price === null ? null : prices(known.cost, group);
  const tier = known.cost.tiers?.[0];
  const tierPrices = tier && cost ? [tier.inputTokensAbove, ...prices({ ...tier }, group)] : null;
  if (cost) compare(id, cost, group, sources.check);
  return {
    asOf: PRIMARY.published,
    row: [
      id,
      entry.window ?? known.contextWindow,
      Math.min(known.maxTokens, known.contextWindow),
      cost,
      tierPrices,
    ],
  };
}

function compare(id, cost, group, check) {
  const found = check.calcPrice({ input_tokens: 1, output_tokens: 1 }, id, {
    providerId: group.check ?? group.provider,
  });
  if (found?.model.id !== id) return;
  const table = found.model_price;
  for (const [index, key] of ["input_mtok", "output_mtok"].entries()) {
    const theirs = base(table[key]);
    if (theirs === null || Math.abs(theirs - cost[index]) <= 0.01 * cost[index]) continue;
    const text = `${id} ${key}: ${cost[index]} in ${PRIMARY.name}, ${theirs} in ${CHECK.name}`;
    if (EXPLAINED.get(id)) continue;
    differences.push(text);
  }
}

const differences = [];

const cell = (value) => (value === null ? "-" : String(value));
const priceCell = (row) => (row === null ? "-" : row.map(cell).join("/"));

function groupLine({ provider, counting, encoding, cache, image, thinking, asOf }) {
  const rules = [cache.kind, cell(cache.min), cell(cache.ttl)].join("/");
  return ["#", provider, counting, encoding, rules, image, thinking, asOf].join(" ");
}

function modelLine([id, window, maxOutput, cost, tier]) {
  const line = [id, window, maxOutput, priceCell(cost)];
  if (tier) line.push(`>${tier[0]}:${priceCell(tier.slice(1))}`);
  return line.join(" ");
}

function render(groups) {
  const lines = [
    `// Generated by scripts/build-models.mjs on ${new Date().toISOString().slice(0, 10)}. Do not edit by hand.`,
    `// Sources: ${PRIMARY.name} ${PRIMARY.version} (windows, output limits, prices), ${CHECK.name} ${CHECK.version}`,
    "// (prices of retired models), and the hand table of the script.",
    "",
    "/**",
    " * What is known of each model, one a line under the line of its group; `-` is not known.",
    " * group: # provider, counting style, encoding, cache kind/min tokens/ttl seconds, image formula, thinking, date of the prices",
    " * model: id, window, max output, USD per million tokens in/out/read/write, >tokens:the same above that many input tokens",
    " */",
    "export const MODEL_TABLE: string = `",
  ];
  for (const group of groups) lines.push(groupLine(group), ...group.models.map(modelLine));
  lines.push("`;", "");
  return lines.join("\n");
}

const folder = mkdtempSync(join(tmpdir(), "compact-models-"));
try {
  const root = unpack(PRIMARY, folder);
  const check = await import(pathToFileURL(join(unpack(CHECK, folder), "dist/index.js")).href);
  const cache = new Map();
  const primary = (provider) => {
    if (!cache.has(provider)) cache.set(provider, primaryRows(root, provider));
    return cache.get(provider);
  };
  const groups = [];
  for (const { models, ...group } of GROUPS) {
    const byDate = new Map();
    for (const wanted of models) {
      const { asOf, row } = rowOf(wanted, group, { primary, check });
      byDate.set(asOf, [...(byDate.get(asOf) ?? []), row]);
    }
    for (const [asOf, rows] of byDate) groups.push({ ...group, asOf, models: rows });
  }
  if (differences.length > 0) throw new Error(`prices differ by more than 1 %:\n${differences.join("\n")}`);
  writeFileSync(TARGET, render(groups));
  const count = groups.reduce((sum, group) => sum + group.models.length, 0);
  console.error(`${count} models, ${readFileSync(TARGET).length} bytes`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
