import { dollarsOf } from "compact-context/internal/tokens/models";
import { describe, expect, it } from "vitest";
import { pricedModel } from "./cost.ts";

const use = { cached: 100_000, written: 40_000, uncached: 10_000 };

describe("dollarsOf", () => {
  it("is read, write, input and output, each at its own price", () => {
    // 0.1 M · $0.50 + 0.04 M · $6.25 + 0.01 M · $5 + 0.002 M · $25
    expect(dollarsOf(use, 2000, pricedModel("claude-opus-5"))).toBeCloseTo(0.05 + 0.25 + 0.05 + 0.05, 10);
  });

  it("charges the whole request at the higher tier once it is above the boundary", () => {
    const haiku = pricedModel("claude-haiku-5-5");
    const below = { cached: 100_000, written: 0, uncached: 0 };
    expect(dollarsOf(below, 1000, haiku)).toBeCloseTo(0.001 + 0.0005, 10);
    expect(dollarsOf({ ...below, uncached: 1 }, 1000, haiku)).toBeCloseTo(0.005 + 0.0000005 + 0.0025, 10);
  });

  it("is unknown when a price that is needed is not known, and only then", () => {
    const proModel = pricedModel("gpt-5.5-pro");
    expect(proModel.prices.read).toBeNull();
    expect(dollarsOf(use, 0, proModel)).toBeUndefined();
    expect(dollarsOf({ cached: 0, written: 0, uncached: 1_000_000 }, 0, pricedModel("gpt-4"))).toBe(30);
  });
});

describe("pricedModel", () => {
  it("takes rules and dated prices from the table", () => {
    const { rules, assumed, asOf } = pricedModel("claude-opus-5");
    expect(rules).toEqual({ kind: "breakpoints", minimum: 512, lifetime: 300, lookback: 20 });
    expect(assumed).toEqual([]);
    expect(asOf).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(pricedModel("gpt-6-sol").rules?.lookback).toBe(Number.POSITIVE_INFINITY);
  });

  it("lists its assumptions", () => {
    const { rules, assumed } = pricedModel("grok-4.7");
    expect(rules).toMatchObject({ minimum: 1024, lifetime: Number.POSITIVE_INFINITY });
    expect(assumed).toHaveLength(2);
  });

  it("knows no cache of an unknown model and no price of a sibling", () => {
    expect(pricedModel(undefined)).toMatchObject({ rules: undefined, asOf: undefined });
    const sibling = pricedModel("claude-opus-9");
    expect(sibling.rules?.kind).toBe("breakpoints");
    expect(dollarsOf(use, 0, sibling)).toBeUndefined();
    expect(sibling.asOf).toBeUndefined();
  });

  it("does not put the table's date on prices that the caller set", () => {
    const prices = { in: 1, out: 1, read: 1, write: 1 };
    expect(pricedModel("claude-opus-5", { "claude-opus-5": { prices } }).asOf).toBe("configuration");
    expect(pricedModel("claude-opus-5", { "claude-opus-5": { prices, asOf: "2030-01-01" } }).asOf).toBe(
      "2030-01-01",
    );
    expect(pricedModel("claude-opus-5", { "claude-opus-5": { window: 9 } }).asOf).toBe(
      pricedModel("claude-opus-5").asOf,
    );
  });
});
