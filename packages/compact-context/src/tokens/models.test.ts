import { describe, expect, it } from "vitest";
import { knownModels, lookUpModel, type ModelMatch, withCost } from "./models.ts";
import { PROFILES } from "./token-counter.ts";

describe("the model table", () => {
  it("is readable: every row has whole numbers, known styles and sane prices", () => {
    const models = knownModels();
    expect(models.length).toBeGreaterThan(100);
    for (const model of models) {
      expect(PROFILES[model.counting], model.id).toBeDefined();
      expect(["o200k_base", "cl100k_base"]).toContain(model.encoding);
      expect(["bound", "free"]).toContain(model.thinking);
      expect(["breakpoints", "prefix", "none"]).toContain(model.cache.kind);
      expect(Number.isInteger(model.window) && model.window >= 4_096, model.id).toBe(true);
      expect(model.maxOutput > 0 && model.maxOutput <= model.window, model.id).toBe(true);
      const { in: input, out, read } = model.prices;
      expect(input === null).toBe(out === null);
      if (input !== null && out !== null) expect(out >= input, model.id).toBe(true);
      if (input !== null && read !== null) expect(read <= input, model.id).toBe(true);
      expect(model.asOf === null).toBe(input === null);
    }
  });

  it("has one row per id", () => {
    const ids = knownModels().map((model) => model.id.toLowerCase());
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("knows the models of older sessions", () => {
    for (const name of [
      "gpt-4o",
      "gpt-4.1",
      "gpt-4-turbo",
      "gpt-3.5-turbo",
      "o1",
      "o3",
      "o4-mini",
      "gpt-5",
      "gpt-5.3-codex",
      "gpt-5.3-codex-spark",
      "claude-3-5-sonnet-20241022",
      "claude-sonnet-4-5",
      "claude-opus-4-6",
      "claude-haiku-4-5",
      "gemini-1.5-pro",
      "gemini-2.5-pro",
      "gemini-3-pro-preview",
    ]) {
      const found = lookUpModel(name);
      expect(["exact", "normalized"], name).toContain(found.found);
      expect(found.prices.in, name).not.toBeNull();
    }
  });
});

describe("lookUpModel", () => {
  const cases: [name: string, found: ModelMatch, matched: string | undefined][] = [
    ["anthropic/claude-opus-4-6", "provider", "claude-opus-4-6"],
    ["claude-opus-4-6", "exact", "claude-opus-4-6"],
    ["minimax-m2.5", "exact", "MiniMax-M2.5"],
    ["gpt-4o-2024-05-13", "exact", "gpt-4o-2024-05-13"],
    ["claude-sonnet-4-5-20250929", "normalized", "claude-sonnet-4-5"],
    ["us.anthropic.claude-sonnet-4-20250514-v1:0", "normalized", "claude-sonnet-4"],
    ["global.anthropic.claude-opus-4-6-v1", "normalized", "claude-opus-4-6"],
    ["claude-opus-4-1@20250805", "normalized", "claude-opus-4-1"],
    ["anthropic/claude-3.5-sonnet", "normalized", "claude-3-5-sonnet"],
    ["claude-3-5-sonnet-latest", "normalized", "claude-3-5-sonnet"],
    ["claude-sonnet-4-6[1m]", "normalized", "claude-sonnet-4-6"],
    ["qwen/qwen3-coder:free", "normalized", "qwen3-coder"],
    ["gpt-4o-2024-11-20", "normalized", "gpt-4o"],
    ["gpt-4-0613", "snapshot", "gpt-4"],
    ["models/gemini-1.5-pro-002", "snapshot", "gemini-1.5-pro"],
    ["ft:gpt-4o-mini-2024-07-18:org::id", "snapshot", "gpt-4o-mini"],
    ["gpt-5.7-sol", "family", "gpt-5.6-terra"],
    ["claude-sonnet-6", "family", "claude-sonnet-5-5"],
    ["claude-sonnet-4-2", "family", "claude-sonnet-4"],
    ["mistral-large-2407", "family", "mistral-large-2411"],
    ["mistral-large-latest", "exact", "mistral-large-latest"],
    ["mistral/mistral-medium-latest", "provider", "mistral-medium-latest"],
    ["mistral-large", "normalized", "mistral-large-latest"],
    ["mistral-7b-instruct", "default", undefined],
    ["some-model", "default", undefined],
    ["constructor", "default", undefined],
    ["", "default", undefined],
  ];
  it.each(cases)("finds %s by %s", (name, found, matched) => {
    const lookup = lookUpModel(name);
    expect([lookup.found, lookup.matched]).toEqual([found, matched]);
    expect(lookup.known).toBe(found !== "default");
  });

  it("gives an alias the window that the newest model behind it is known to have at least", () => {
    const windows = [
      "mistral-large-latest",
      "mistral-medium-latest",
      "mistral-small-latest",
      "mistral-large-2407",
    ];
    expect(windows.map((name) => lookUpModel(name).window)).toEqual([262_144, 262_144, 256_000, 131_072]);
  });

  it("does not take long over a name that is none", () => {
    const start = process.cpuUsage();
    expect(lookUpModel("[".repeat(60_000)).found).toBe("default");
    expect(lookUpModel("gpt-4o[a][b").matched).toBe("gpt-4o");
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(500);
  });

  it("never takes a price from a snapshot's base or a sibling", () => {
    for (const name of ["gpt-4-0613", "claude-sonnet-6"]) {
      const { prices, tier, asOf, window, encoding } = lookUpModel(name);
      expect(Object.values(prices)).toEqual([null, null, null, null]);
      expect([tier, asOf]).toEqual([null, null]);
      expect([window > 0, encoding]).toEqual([true, "cl100k_base"]);
    }
  });

  it("takes no window above the default from a vendor's unrelated line", () => {
    expect(lookUpModel("claude-instant-1.2")).toMatchObject({ found: "family", window: 128_000 });
    expect(lookUpModel("gpt-7").window).toBe(1_050_000);
  });

  it("assumes 128k in, 8k out and no price of a model nobody knows", () => {
    expect(lookUpModel("nobody-knows-this")).toMatchObject({
      known: false,
      window: 128_000,
      maxOutput: 8_192,
      prices: { in: null, out: null, read: null, write: null },
    });
  });

  it("knows where the whole request gets dearer", () => {
    expect(lookUpModel("gpt-6.1-sol")).toMatchObject({
      window: 1_050_000,
      prices: { in: 2, out: 10, read: 0.1, write: 2.5 },
      tier: { above: 272_000, prices: { in: 4, out: 15 } },
      thinking: "bound",
    });
  });
});

describe("overrides", () => {
  it("win over the table and keep what they do not name", () => {
    const found = lookUpModel("gpt-4o", { "gpt-4o": { window: 32_000 } });
    expect(found).toMatchObject({ found: "override", window: 32_000, maxOutput: 16_384 });
  });

  it("apply to the same model under a host's name", () => {
    const overrides = { "claude-sonnet-4-5": { window: 1_000_000 } };
    expect(lookUpModel("claude-sonnet-4-5-20250929", overrides).window).toBe(1_000_000);
    expect(lookUpModel("claude-sonnet-4-6", overrides).found).toBe("exact");
  });

  it("make an unknown model known", () => {
    const overrides = { "in-house-1": { window: 40_000, encoding: "cl100k_base" } } as const;
    expect(lookUpModel("in-house-1", overrides)).toMatchObject({ known: true, window: 40_000 });
  });
});

describe("the cost of an attempt", () => {
  const attempt = {
    model: "gpt-4o",
    prompt: "own@1",
    strategy: "task_state",
    input: "text",
    part: 1,
    parts: 1,
    maxTokens: 1000,
    outcome: "accepted",
    durationMs: 1,
    inputTokens: 1000,
    outputTokens: 100,
    costUsd: 7,
  } as const;
  const usage = { input: 1_000_000, cacheRead: 0, cacheWrite: 0, output: 0 };

  it("is what the summarizer told where the usage does not give it", () => {
    expect(withCost(attempt, {})).toMatchObject({ provider: "openai", costUsd: 7 });
    const hourly = { ...attempt, usage: { ...usage, cacheWrite: 10, write1h: 10 } };
    expect(withCost(hourly, {}).costUsd).toBe(7);
    expect(withCost({ ...attempt, usage }, {}).costUsd).toBe(2.5);
  });
});
