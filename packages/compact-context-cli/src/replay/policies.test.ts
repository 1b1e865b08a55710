import type { Message, Role } from "compact-context";
import { defaultConfig } from "compact-context";
import { createTokenCounter } from "compact-context/internal/tokens/token-counter";
import { describe, expect, it } from "vitest";
import type { Settings } from "../settings.ts";
import { type CacheSegment, tokensOf } from "./cache.ts";
import { createCostTally, pricedModel } from "./cost.ts";
import { BASELINES, type PlayedCall } from "./policies.ts";
import { type RecordedSession, recordedSession } from "./session.ts";

const counter = createTokenCounter({ encoding: "o200k_base" });
const say = (id: string, role: Role, words: number): Message => ({
  id,
  role,
  parts: [{ type: "text", text: `${id}${" word".repeat(words)}` }],
});
const step = (number: number, words: number): Message[] => [
  {
    id: `c${number}`,
    role: "assistant",
    parts: [{ type: "toolCall", id: `t${number}`, name: "read", arguments: {} }],
  },
  {
    id: `r${number}`,
    role: "tool",
    parts: [{ type: "toolResult", id: `t${number}`, content: `result ${number}${" word".repeat(words)}` }],
  },
];
const history = [
  say("rules", "system", 20),
  say("ask", "user", 20),
  ...Array.from({ length: 40 }, (_, number) => step(number, 200)).flat(),
  say("done", "assistant", 5),
];
const BUDGET = 4000;

function session(messages: readonly Message[] = history, window = BUDGET + 500): RecordedSession {
  const settings: Pick<Settings, "counter" | "fixedTokens" | "window" | "budget" | "config"> = {
    counter,
    fixedTokens: 100,
    window,
    budget: window - 500,
    config: defaultConfig,
  };
  return recordedSession(messages, settings as Settings);
}

function play(name: keyof typeof BASELINES, of: RecordedSession = session()): PlayedCall[] {
  const policy = BASELINES[name](of);
  return of.calls.map(({ end }) => policy(end));
}

const shown = (of: RecordedSession, { segments }: PlayedCall): string[] => {
  const ids = new Map<CacheSegment, string>(
    of.messages.map((message) => [of.segmentOf(message), message.id]),
  );
  return segments.map((segment) => ids.get(segment) ?? segment.hash);
};

describe("the policies of others", () => {
  it("none sends everything before the call", () => {
    const of = session();
    const calls = play("none", of);
    expect(calls).toHaveLength(41);
    expect(shown(of, calls[2] as PlayedCall)).toEqual([
      "system and tools",
      "rules",
      "ask",
      "c0",
      "r0",
      "c1",
      "r1",
    ]);
  });

  it("trim fits the budget at every call, in whole exchanges, pinned messages and the newest kept", () => {
    const of = session();
    for (const [number, call] of play("trim", of).entries()) {
      expect(tokensOf(call.segments)).toBeLessThanOrEqual(BUDGET);
      const names = shown(of, call);
      expect(names.slice(0, 2)).toEqual(["system and tools", "rules"]);
      const steps = names.filter((name) => name.startsWith("c")).map((name) => name.slice(1));
      expect(names.filter((name) => name.startsWith("r") && name !== "rules")).toEqual(
        steps.map((step) => `r${step}`),
      );
      if (number > 0) expect(names.at(-1)).toBe(`r${number - 1}`);
    }
  });

  it("trim drops no more than it must", () => {
    const of = session();
    const dropped = play("trim", of).map(
      ({ segments }, call) => (of.calls[call]?.end ?? 0) + 1 - segments.length,
    );
    const change = dropped.findIndex((count) => count > 0);
    expect(tokensOf(play("none", of)[change - 1]?.segments ?? [])).toBeLessThanOrEqual(BUDGET);
    expect(tokensOf(play("none", of)[change]?.segments ?? [])).toBeGreaterThan(BUDGET);
    // The ask and the oldest exchange: without the latter going it would still be too large.
    expect(dropped[change]).toBe(3);
    const exchange = step(0, 200).reduce((sum, message) => sum + counter.countMessage(message), 0);
    expect(tokensOf(play("trim", of)[change]?.segments ?? []) + exchange).toBeGreaterThan(BUDGET);
  });

  it("mask leaves the newest ten results readable and clears each older one", () => {
    const roomy = session(history, 100_000);
    const calls = play("mask", roomy);
    for (const [number, call] of calls.entries()) {
      const readable = shown(roomy, call).filter((name) => /^r\d/.test(name));
      expect(readable).toEqual(
        Array.from(
          { length: Math.min(10, number) },
          (_, index) => `r${number - Math.min(10, number) + index}`,
        ),
      );
      expect(call.segments).toHaveLength((roomy.calls[number]?.end ?? 0) + 1);
    }
    expect(tokensOf(calls[40]?.segments ?? [])).toBeLessThan(
      tokensOf(play("none", roomy)[40]?.segments ?? []) / 2,
    );
  });

  it("summarize writes a summary above half of the window, and ends at a quarter of it", () => {
    const of = session();
    const calls = play("summarize", of);
    const compactions = calls.filter(({ summarizing }) => summarizing !== undefined);
    expect(compactions.length).toBeGreaterThan(3);
    for (const call of calls) {
      const tokens = tokensOf(call.segments);
      expect(tokens).toBeLessThanOrEqual(call.summarizing === undefined ? 2250 : 1125);
    }
    expect(compactions[1]?.summarizing?.segments.map(({ hash }) => hash).slice(0, 2)).toEqual([
      "summarize this",
      "summary 1",
    ]);
    expect(shown(of, compactions[1] as PlayedCall).slice(0, 3)).toEqual([
      "system and tools",
      "rules",
      "summary 2",
    ]);
  });

  it("every message is in the prompt or in exactly one summarizing call", () => {
    const of = session();
    const calls = play("summarize", of);
    const folded = calls.flatMap(({ summarizing }) =>
      summarizing === undefined ? [] : shown(of, { segments: summarizing.segments }),
    );
    const left = shown(of, calls.at(-1) as PlayedCall);
    const ids = [...folded, ...left].filter((name) => /^(?:ask|[cr]\d+)$/.test(name));
    expect(ids).toEqual(history.slice(1, -1).map(({ id }) => id));
  });
});

describe("createCostTally", () => {
  const model = pricedModel("claude-opus-5");
  const cost = (name: keyof typeof BASELINES, of: RecordedSession) => {
    const tally = createCostTally(name, of, model);
    for (const call of play(name, of)) tally.add(call);
    return tally.cost();
  };

  it("a list that only grows is rewritten never, one that is trimmed each time something goes", () => {
    const of = session(history, 100_000);
    expect(cost("none", of).rewrites).toBe(0);
    expect(cost("mask", of).rewrites).toBe(30);
    const trimmed = cost("trim", session());
    expect(trimmed.rewrites).toBeGreaterThan(10);
    expect(trimmed.cachedTokens).toBeLessThan(cost("none", of).cachedTokens ?? 0);
  });

  it("prices prompts, answers and summarizing calls", () => {
    const of = session();
    const { prices } = model;
    const summed = cost("summarize", of);
    const { dollars, summarizingTokens, summarizingCalls, priceFactor, promptTokens } = summed;
    const answers = of.calls.reduce((sum, { outputTokens }) => sum + outputTokens, 0);
    const input =
      ((summed.cachedTokens ?? 0) * Number(prices.read) +
        (summed.writtenTokens ?? 0) * Number(prices.write) +
        ((summed.uncachedTokens ?? 0) + summarizingTokens) * Number(prices.in) +
        summarizingCalls * 450 * Number(prices.out)) /
      1e6;
    expect(summarizingCalls).toBeGreaterThan(3);
    expect(dollars).toBeCloseTo(input + (answers * Number(prices.out)) / 1e6, 10);
    expect(priceFactor).toBeCloseTo(input / ((promptTokens * Number(prices.in)) / 1e6), 10);
  });

  it("a run with a call that the model would refuse has no price", () => {
    const refused = cost("none", session());
    expect(refused.callsOverWindow).toBeGreaterThan(0);
    expect(refused).toMatchObject({ dollars: null, priceFactor: null });
  });
});
