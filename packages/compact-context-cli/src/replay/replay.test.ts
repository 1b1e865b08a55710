import type { Message } from "compact-context";
import { createMemoryDriver } from "compact-context/storage/memory";
import { describe, expect, it } from "vitest";
import { economyJson, economyView } from "../commands/replay.ts";
import type { Flags } from "../flags.ts";
import type { Terminal } from "../ports.ts";
import { createPaint } from "../render/table.ts";
import { displayWidth, snakeKeys } from "../render/text.ts";
import { earlySettings, settingsFor } from "../settings.ts";
import { readTranscript } from "../transcripts/read.ts";
import type { Transcript } from "../transcripts/transcript.ts";
import { type Economy, type Replay, type ReplayObserver, replaySession } from "./replay.ts";

const START = Date.UTC(2026, 0, 1);

/** Turns of twelve tool steps, 15 s each; between two turns `pause` seconds. */
function conversation(turns: number, pause: number): Message[] {
  let seconds = 0;
  const stamp = (after: number) => {
    seconds += after;
    return { meta: { timestamp: new Date(START + seconds * 1000).toISOString() } };
  };
  return Array.from({ length: turns }, (_, turn): Message[] => [
    {
      id: `u${turn}`,
      role: "user",
      parts: [{ type: "text", text: `Now part ${turn}.` }],
      ...stamp(turn === 0 ? 0 : pause),
    },
    ...Array.from({ length: 12 }, (_, step): Message[] => {
      const id = `${turn}-${step}`;
      const lines = Array.from(
        { length: 40 },
        (_, line) => `${line}: const value_${turn}_${step}_${line} = ${step * line};`,
      );
      return [
        {
          id: `c${id}`,
          role: "assistant",
          parts: [{ type: "toolCall", id, name: "read", arguments: { path: `${id}.ts` } }],
          ...stamp(10),
        },
        {
          id: `r${id}`,
          role: "tool",
          parts: [{ type: "toolResult", id, content: lines.join("\n") }],
          ...stamp(5),
        },
      ];
    }).flat(),
    { id: `a${turn}`, role: "assistant", parts: [{ type: "text", text: "Done." }], ...stamp(10) },
  ]).flat();
}

function transcriptOf(messages: readonly Message[]): Transcript {
  return {
    format: "anthropic",
    list: "anthropic",
    system: "You are a coding agent. ".repeat(60),
    messages,
    segments: [{ messages, carried: 0 }],
    compactions: [],
    problems: [],
    usage: [],
    leftOut: {},
    write: () => ({ mode: "replace", chunks: [] }),
  } as Transcript;
}

async function replay(messages: readonly Message[], flags: Flags, env = {}): Promise<Replay> {
  return replayOf(transcriptOf(messages), flags, env);
}

async function replayOf(
  transcript: Transcript,
  flags: Flags,
  env = {},
  observer?: ReplayObserver,
): Promise<Replay> {
  const early = earlySettings({
    flags,
    ports: { cwd: "/nowhere", env },
    terminal: { warn: () => undefined },
  });
  const settings = settingsFor(transcript, early, flags);
  let clock = 0;
  return replaySession(transcript, settings, {
    clock: () => {
      clock += 1;
      return clock;
    },
    onWarning: (text) => expect.fail(text),
    onProgress: () => undefined,
    observer,
  });
}

const FLAGS: Flags = { model: "claude-opus-5", window: "20k" };
const terminal = (width: number): Terminal => ({
  width,
  paint: createPaint(false, {}),
  print: () => undefined,
  printJson: () => undefined,
  warn: () => undefined,
});
const text = (economy: Economy, width = 80) => economyView(economy, terminal(width)).join("\n");
const costs = ({ policies }: Economy) => new Map(policies.map((cost) => [cost.policy, cost]));

describe("replaySession", () => {
  it("plays every policy on the same calls, deterministically", async () => {
    const [first, second] = [
      await replay(conversation(6, 60), FLAGS),
      await replay(conversation(6, 60), FLAGS),
    ];
    expect(second).toEqual(first);
    const byName = costs(first.economy);
    expect([...byName.keys()]).toEqual(["compact", "trim", "mask", "summarize", "none"]);
    for (const { calls } of byName.values()) expect(calls).toBe(first.calls);
    expect(first.economy.clock).toBe("recorded");
  });

  it("agrees with what the replay itself counted", async () => {
    const played = await replay(conversation(6, 60), FLAGS);
    const byName = costs(played.economy);
    expect(byName.get("compact")?.promptTokens).toBe(played.promptTokens);
    expect(byName.get("none")?.promptTokens).toBe(played.promptTokensWithout);
    expect(byName.get("compact")?.rewrites).toBe(played.rounds.length);
    expect(played.rounds.length).toBeGreaterThan(1);
  });

  it("counts an unknown model as the manager does: no call is over the budget", async () => {
    const played = await replay(conversation(6, 60), { model: "some-lab/unheard-of", window: "20k" });
    expect(played.rounds.length).toBeGreaterThan(1);
    expect([played.callsOverBudget, played.mostTokensSent > 20_000 * 0.85]).toEqual([0, false]);
    expect(played.callsOverBudgetWithout).toBeGreaterThan(0);
  });

  it("takes each message of several agents as a call", async () => {
    const say = (role: string, words: string) => ({ role, content: `${words} `.repeat(400) });
    const history = [
      say("human", "question"),
      say("Orchestrator (thought)", "plan"),
      say("Orchestrator (-> WebSurfer)", "search"),
      say("WebSurfer", "found"),
      say("Orchestrator (termination condition)", "answer"),
    ];
    const transcript = await readTranscript(
      JSON.stringify({ question: "question", is_correct: true, history }),
    );
    const played = await replayOf(transcript, FLAGS);
    expect([played.calls, played.messages]).toEqual([4, 5]);
    expect(played.mostTokensWithout).toBeGreaterThan(4 * 400);
  });

  it("a policy that rewrites at every call pays more for a token than one that rewrites seldom", async () => {
    const byName = costs((await replay(conversation(6, 60), FLAGS)).economy);
    const factor = (name: string) => byName.get(name)?.priceFactor ?? Number.NaN;
    expect(factor("mask")).toBeGreaterThan(factor("compact"));
    expect(factor("trim")).toBeGreaterThan(factor("compact"));
  });

  it("tries a rewrite while the cache is cold only where a turn opens after its lifetime", async () => {
    const short = await replay(conversation(6, 280), FLAGS);
    expect(short.economy.cold).toBeUndefined();
    const { economy } = await replay(conversation(6, 1200), FLAGS);
    expect(economy.cold?.rewrites).toBeGreaterThan(0);
    expect(economy.cold?.cost.calls).toBe(short.calls);
    const never = await replay(conversation(6, 1200), { ...FLAGS, model: "grok-4.7" });
    expect(never.economy.cold).toBeUndefined();
  });

  it("plays the session once for an observer, which has no use for a rewrite", async () => {
    const messages = conversation(6, 1200);
    const { economy } = await replayOf(transcriptOf(messages), FLAGS, undefined, {
      history: messages,
      storage: createMemoryDriver(),
      exporter: { export: () => undefined },
      onCall: async () => undefined,
    });
    expect(economy.cold).toBeUndefined();
  });
});

describe("policy.beforeCacheLapse", () => {
  it("is played by the session's own times: a compaction after each long pause, and none after a short one", async () => {
    const flags = { ...FLAGS, window: "60k" };
    const env = { COMPACT_BEFORE_CACHE_LAPSE: "30" };
    const without = await replay(conversation(4, 1200), flags);
    const long = await replay(conversation(4, 1200), flags, env);
    const short = await replay(conversation(4, 120), flags, env);
    expect(short.rounds.length).toBe(without.rounds.length);
    expect(long.rounds.length).toBeGreaterThan(without.rounds.length);
    const dollars = ({ economy }: Replay) => costs(economy).get("compact")?.dollars ?? Number.NaN;
    expect(dollars(long)).toBeLessThan(dollars(without));
  });
});

describe("the economy of a replay", () => {
  it("names the saving of the cold variant exactly when it is cheaper", async () => {
    const { economy } = await replay(conversation(6, 1200), FLAGS);
    const own = economy.policies[0]?.dollars ?? Number.NaN;
    const cold = economy.cold?.cost.dollars ?? Number.NaN;
    expect(cold).toBeLessThan(own);
    expect(text(economy).replace(/\s+/g, " ")).toContain(`would have saved $${(own - cold).toFixed(4)} (`);
    const swapped = { ...economy, policies: [economy.cold?.cost, ...economy.policies.slice(1)] } as Economy;
    expect(text({ ...swapped, cold: { cost: economy.policies[0] as never, rewrites: 1 } })).not.toContain(
      "saved",
    );
  });

  it("shows dollars with the date of the prices, and none where no price is known", async () => {
    const priced = (await replay(conversation(4, 60), FLAGS)).economy;
    expect(text(priced)).toMatch(new RegExp(`Prices\\s+of\\s+${priced.model.asOf};`));
    expect(text(priced)).toMatch(/\$\d/);
    const unknown = (await replay(conversation(4, 60), { ...FLAGS, model: "nobodys-model-1" })).economy;
    expect(text(unknown)).not.toContain("$");
    expect(text(unknown)).toContain("no price");
    expect(snakeKeys(economyJson(unknown))).toMatchObject({
      cache: null,
      prices_as_of: null,
      economy: null,
    });
    const sibling = (await replay(conversation(4, 60), { ...FLAGS, model: "claude-opus-9" })).economy;
    expect(text(sibling)).not.toContain("$");
    expect(sibling.policies[0]?.cachedTokens).toBeGreaterThan(0);
  });

  it("marks what the model would refuse, and fits a screen of 60 cells", async () => {
    const { economy } = await replay(conversation(6, 1200), FLAGS);
    expect(text(economy, 60)).toMatch(/none +0 .*does not fit/);
    for (const line of text(economy, 60).split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(60);
  });

  it("is one row where no policy has anything to do", async () => {
    const { economy } = await replay(conversation(1, 60).slice(0, 9), FLAGS);
    const [, first = "", second] = text(economy).split("\n");
    expect(first).toMatch(/any of them +0 /);
    expect(second).toBe("");
  });

  it("is printed for machines under policies, each with its figures", async () => {
    const { economy } = await replay(conversation(6, 1200), FLAGS);
    const json = snakeKeys(economyJson(economy)) as {
      policies: Record<string, unknown>[];
      economy: Record<string, unknown>;
    };
    expect(json.policies.map(({ policy }) => policy)).toEqual([
      "compact",
      "trim",
      "mask",
      "summarize",
      "none",
    ]);
    for (const one of [...json.policies, json.economy]) {
      expect(Number(one.cached_tokens) + Number(one.written_tokens) + Number(one.uncached_tokens)).toBe(
        one.prompt_tokens,
      );
    }
    expect(json.policies.at(-1)).toMatchObject({ dollars: null, price_factor: null });
    expect(json).toMatchObject({ clock: "recorded", prices_as_of: economy.model.asOf });
  });
});
