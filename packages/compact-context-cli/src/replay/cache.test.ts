import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CacheRequest, type CacheSegment, createCache, type SimulatedRules } from "./cache.ts";

const breakpoints: SimulatedRules = { kind: "breakpoints", minimum: 1024, lifetime: 300, lookback: 20 };
const prefix: SimulatedRules = {
  kind: "prefix",
  minimum: 1024,
  lifetime: 300,
  lookback: Number.POSITIVE_INFINITY,
};

/** What each request finds in the cache, which is empty before the first. */
const simulateCache = (requests: readonly CacheRequest[], rules: SimulatedRules) =>
  requests.map(createCache(rules));

const system: CacheSegment = { hash: "system", tokens: 2000, blocks: 1 };
const said = (name: string, tokens = 1000, blocks = 1): CacheSegment => ({ hash: name, tokens, blocks });
const numbered = (count: number): CacheSegment[] =>
  Array.from({ length: count }, (_, index) => said(`m${index}`));
/** One breakpoint after the system prompt, one after everything. */
const ask = (time: number, ...messages: CacheSegment[]): CacheRequest => ({
  segments: [system, ...messages],
  breakpoints: [0, messages.length],
  time,
});
const use = (cached: number, written: number, uncached = 0) => ({ cached, written, uncached });

describe("a cache of breakpoints", () => {
  it("writes, reads, misses after 27 new blocks and expires after 940 s", () => {
    const requests = [
      ask(0, ...numbered(1)),
      ask(15, ...numbered(3)),
      ask(30, ...numbered(30)),
      ask(970, ...numbered(31)),
    ];
    expect(simulateCache(requests, breakpoints)).toEqual([
      use(0, 3000),
      use(3000, 2000),
      use(2000, 30_000),
      use(0, 33_000),
    ]);
  });

  it("finds a prefix 20 blocks back and not 21", () => {
    for (const [blocks, cached] of [
      [20, 3000],
      [21, 2000],
    ] as const) {
      const requests = [ask(0, said("a")), ask(1, said("a"), said("batch", 500, blocks))];
      expect(simulateCache(requests, breakpoints)[1]?.cached, `${blocks} blocks`).toBe(cached);
    }
  });

  it("without a lookback limit finds a prefix before any number of new blocks", () => {
    const requests = [ask(0, ...numbered(3)), ask(1, ...numbered(60))];
    const unlimited = { ...breakpoints, lookback: Number.POSITIVE_INFINITY };
    expect(simulateCache(requests, unlimited)[1]).toEqual(use(5000, 57_000));
  });

  it("is refreshed by a read, and expires after its last second", () => {
    const requests = [0, 300, 600, 901].map((time) => ask(time, said("a")));
    expect(simulateCache(requests, breakpoints).map(({ cached }) => cached)).toEqual([0, 3000, 3000, 0]);
  });

  it("reuses only prefixes before a changed message that end at a breakpoint", () => {
    const requests = [ask(0, said("a"), said("b"), said("c")), ask(1, said("a"), said("cleared"), said("c"))];
    expect(simulateCache(requests, breakpoints)[1]).toEqual(use(2000, 3000));
  });

  it("stores nothing below the minimum and without breakpoints", () => {
    const small = { segments: [said("a", 1023)], breakpoints: [0], time: 0 };
    const unmarked = { segments: [said("b", 5000)], breakpoints: [], time: 0 };
    expect(simulateCache([small, small, unmarked, unmarked], breakpoints)).toEqual([
      use(0, 0, 1023),
      use(0, 0, 1023),
      use(0, 0, 5000),
      use(0, 0, 5000),
    ]);
  });
});

describe("a cache of prefixes", () => {
  it("reads up to the first change, in steps of 128 tokens", () => {
    const requests = [ask(0, said("a", 100), said("b")), ask(1, said("a", 100), said("other"))];
    expect(simulateCache(requests, prefix)).toEqual([use(0, 3100), use(2048, 1052)]);
  });

  it("reads nothing below the minimum or after its lifetime", () => {
    const small = (time: number): CacheRequest => ({ segments: [said("a", 1100)], breakpoints: [], time });
    expect(simulateCache([small(0), small(300), small(601)], prefix).map(({ cached }) => cached)).toEqual([
      0, 1024, 0,
    ]);
    const demanding = { ...prefix, minimum: 1025 };
    expect(simulateCache([small(0), small(1)], demanding)[1]?.cached).toBe(0);
  });
});

it("a model without a cache reads and writes nothing", () => {
  const none: SimulatedRules = { ...prefix, kind: "none" };
  expect(simulateCache([ask(0, said("a")), ask(1, said("a"))], none)).toEqual([
    use(0, 0, 3000),
    use(0, 0, 3000),
  ]);
});

/** Equal hashes have equal sizes, and two texts one after another are not their sum. */
const pieces = [said("a", 0), said("b", 700, 9), said("ab", 1500, 3), said("c", 2900)];
const requests = fc
  .array(
    fc.record({
      pause: fc.integer({ min: 0, max: 400 }),
      messages: fc.array(fc.constantFrom(...pieces), { maxLength: 8 }),
    }),
    { maxLength: 12 },
  )
  .map((drafts) => {
    let time = 0;
    return drafts.map(({ pause, messages }) => {
      time += pause;
      return ask(time, ...messages);
    });
  });

it("always accounts for every prompt token, and never reads more than was ever sent before", () => {
  fc.assert(
    fc.property(requests, fc.constantFrom(breakpoints, prefix), (asked, rules) => {
      let seen = 0;
      for (const [index, { cached, written, uncached }] of simulateCache(asked, rules).entries()) {
        const total = asked[index]?.segments.reduce((sum, { tokens }) => sum + tokens, 0) ?? 0;
        expect(cached + written + uncached).toBe(total);
        expect(Math.min(cached, written, uncached)).toBeGreaterThanOrEqual(0);
        expect(cached).toBeLessThanOrEqual(seen);
        seen = Math.max(seen, total);
      }
    }),
  );
});
