import { describe, expect, it } from "vitest";
import { compact, planCompaction } from "../compact.ts";
import { CompactManager } from "../create-manager.ts";
import { CompactError } from "../errors.ts";
import { createCounters } from "../tokens/token-counter.ts";
import { type Message, messageText } from "./message.ts";
import { planRequest } from "./plan.ts";
import { defaultPolicy } from "./policy.ts";
import type { CompactEvent } from "./report.ts";
import type { CompactionRequest } from "./request.ts";

const words = (seed: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `word${(seed * 31 + index * 7) % 997}`).join(" ");

const say = (role: Message["role"], text: string): Message => ({
  id: `${role}-${text.slice(0, 12)}-${text.length}`,
  role,
  parts: [{ type: "text", text }],
});

/** Parallel calls and their results, of so many words each. */
const batch = (calls: number, count: number): Message[] => [
  {
    id: "calls",
    role: "assistant",
    parts: Array.from({ length: calls }, (_, n) => ({
      type: "toolCall",
      id: `c${n}`,
      name: "read",
      arguments: { path: `src/file-${n}.ts` },
    })),
  },
  {
    id: "results",
    role: "tool",
    parts: Array.from({ length: calls }, (_, n) => ({
      type: "toolResult",
      id: `c${n}`,
      content: words(n, count),
    })),
  },
];

const elide = (messages: readonly Message[], maxTokens: number) =>
  compact<Message>(messages, { maxTokens, onOverflow: "elide" });
const refusal = async (work: Promise<unknown>): Promise<CompactError> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!CompactError.isInstance(error)) throw new Error("it was not refused");
  return error;
};

describe("where cuts are allowed", () => {
  it("results of parallel calls are cut before the newest ask, and it stays whole", async () => {
    const ask = say("user", `Do as it says here: ${words(9, 900)} and then stop.`);
    const { messages, report } = await elide(
      [say("user", "hi"), say("assistant", "hi"), ask, ...batch(4, 3000)],
      9000,
    );
    expect(messages).toContain(ask);
    expect(report).toMatchObject({ newestAsk: "whole", elidedCount: 1 });
    expect(report.tokensAfter).toBeLessThanOrEqual(9000);
  });

  it("of an ask with a pasted file and injected context the person's words stay whole", async () => {
    const question = `Why does this fail? ${words(5, 120)}`;
    const injected = `<system-reminder>\n${words(7, 3000)}\n</system-reminder>`;
    const ask = say("user", `${question}\n\`\`\`\n${words(3, 4000)}\n\`\`\`\nOnly on Linux.\n${injected}`);
    const { messages, report } = await elide(
      [...Array.from({ length: 9 }, (_, n) => say("user", words(n, 300))), ask],
      4000,
    );
    const left = messages.map(messageText).find((text) => text.startsWith("Why does")) ?? "";
    expect(left).toContain(question);
    expect(left).toContain("Only on Linux.");
    expect(left.match(/tokens elided/g)).toHaveLength(2);
    expect(report.newestAsk).toBe("own_words");
    expect(report.plan?.entries.at(-1)?.reason).toContain("the newest request");
  });

  it("an ask stays whole up to three quarters of what is left beside what is pinned; a longer one keeps as much", () => {
    const system = say("system", words(1, 700));
    const fates = [200, 600, 1000, 2200, 3000].map((size) => {
      const list = [system, say("user", "hi"), say("assistant", words(2, 3000)), say("user", words(4, size))];
      const plan = planCompaction(list, { maxTokens: 5000, onOverflow: "elide" });
      const [pinned, , , ask] = plan.entries;
      const room = 5000 - (pinned?.tokens ?? 0);
      const [before, after] = [(ask?.tokens ?? 0) / room, (ask?.tokensAfter ?? 0) / room];
      return { before, after, fate: plan.newestAsk?.fate };
    });
    const [small, large] = [
      fates.filter(({ before }) => before <= 0.75),
      fates.filter(({ before }) => before > 1),
    ];
    expect([small.length, large.length].every((count) => count > 0)).toBe(true);
    for (const { fate } of small) expect(fate).toBe("whole");
    for (const { fate, after } of large) {
      expect(fate).toBe("cut");
      expect(after).toBeGreaterThan(0.65);
    }
  });

  it("an aim is missed rather than the user's words cut; the budget never is", async () => {
    const list = [say("user", "hi"), say("assistant", words(2, 3000)), say("user", words(4, 800))];
    const { report } = await compact<Message>(list, {
      maxTokens: 6000,
      targetTokens: 1000,
      onOverflow: "elide",
    });
    expect(report.newestAsk).toBe("whole");
    expect(report.tokensAfter).toBeGreaterThan(1000);
    expect(report.tokensAfter).toBeLessThanOrEqual(6000);
  });

  it("a system prompt that leaves a few dozen tokens leaves them to the newest ask", async () => {
    const system = say("system", words(1, 700));
    const list = [
      system,
      say("user", words(2, 500)),
      say("assistant", words(3, 500)),
      say("user", "And the tests?"),
    ];
    const { tokens = 0 } = planCompaction(list, { maxTokens: 100_000, targetTokens: 1 }).entries[0] ?? {};
    const { messages } = await elide(list, tokens + 40);
    expect(messages.slice(0, 1)).toEqual([system]);
    expect(messages.at(-1)).toBe(list.at(-1));
  });
});

describe("a turn of many answers", () => {
  const turn = [
    say("user", "Solve it together."),
    ...Array.from({ length: 40 }, (_, n) => say("assistant", `step ${n} ${words(n, 150)}`)),
  ];

  it("keeps the ask and the newest answers; the earlier ones are told", async () => {
    const { messages, report, summary } = await compact<Message>(turn, { maxTokens: 4000 });
    expect(messages).toContain(turn[0]);
    expect(messages.at(-1)).toBe(turn.at(-1));
    expect(report.elidedCount).toBe(0);
    expect(report.tokensAfter).toBeLessThanOrEqual(4000);
    expect(summary).toContain("step");
  });

  it("FIT-1 is refused where the ask and the newest answer alone are too large", async () => {
    const long = [...turn, say("assistant", words(77, 3000))];
    const error = await refusal(compact(long, { maxTokens: 4000 }));
    expect(error.code).toBe("InsufficientBudget");
    expect(error.message).toMatch(/take \d+ tokens \(\d+ of them in one assistant message\), but only 4000/);
  });
});

describe("a refusal", () => {
  it("FIT-1 names the limit that would do, and that cuts would", async () => {
    const list = [
      say("user", words(1, 900)),
      say("assistant", "Yes."),
      say("user", "Read."),
      ...batch(3, 1500),
    ];
    const error = await refusal(compact(list, { maxTokens: 2000 }));
    const [, enough = ""] = /Raise maxTokens to (\d+) tokens/.exec(error.hint) ?? [];
    expect(error.hint).toContain('onOverflow to "elide"');
    const { report } = await compact<Message>(list, { maxTokens: Number(enough) });
    expect(report).toMatchObject({ compacted: true, elidedCount: 0 });
    await refusal(compact(list, { maxTokens: Number(enough) - 1 }));
  });

  it("FIT-1 names the limit that would do for a session, with the room of the answer", async () => {
    const list = [say("user", words(1, 3000))];
    const preflight = (maxContextTokens: number, maxOutputTokens?: number): Promise<unknown> =>
      new CompactManager(
        { maxContextTokens, storage: { kind: "memory" } },
        { onWarning: () => undefined },
      ).preflight("s", list, { maxOutputTokens });
    for (const answer of [undefined, 2500]) {
      const error = await refusal(preflight(4000, answer));
      const enough = Number(/Raise the context limit to (\d+) tokens/.exec(error.hint)?.[1]);
      await preflight(enough, answer);
      await refusal(preflight(enough - 1, answer));
    }
  });

  it("FIT-1 names the settings that bind, and what each must be", async () => {
    const list = [say("user", words(1, 3000))];
    const preflight = (maxTokens: number, maxContextTokens: number): Promise<unknown> =>
      new CompactManager(
        { maxContextTokens, policy: { maxTokens }, storage: { kind: "memory" } },
        { onWarning: () => undefined },
      ).preflight("s", list);
    const lone = await refusal(preflight(2000, 100_000));
    const [, enough = ""] = /^Raise policy\.maxTokens to (\d+) tokens or more, or/.exec(lone.hint) ?? [];
    await preflight(Number(enough), 100_000);
    await refusal(preflight(Number(enough) - 1, 100_000));
    const both = await refusal(preflight(2000, 5000));
    const [, most = "", window = ""] =
      /^Raise policy\.maxTokens to (\d+) tokens or more and the context limit to (\d+) tokens or more, or/.exec(
        both.hint,
      ) ?? [];
    await preflight(Number(most), Number(window));
    await refusal(preflight(Number(most), Number(window) - 1));
  });

  it("FIT-1 names a limit in the tokens that the provider counts", async () => {
    const first = say("user", words(2, 900));
    const list = [first, say("assistant", "Yes."), say("user", words(1, 6000))];
    const preflight = async (maxContextTokens: number): Promise<unknown> => {
      const manager = new CompactManager(
        { maxContextTokens, storage: { kind: "memory" } },
        { onWarning: () => undefined },
      );
      const { report } = await manager.preflight("s", [first]);
      return manager.preflight("s", list, { usage: { input_tokens: report.tokensBefore + 4000 } });
    };
    const error = await refusal(preflight(9000));
    const enough = Number(/Raise the context limit to (\d+) tokens/.exec(error.hint)?.[1]);
    await preflight(enough);
  });

  it("FIT-1 says so where the answer may take the whole window", async () => {
    const manager = new CompactManager(
      { maxContextTokens: 4000, storage: { kind: "memory" } },
      { onWarning: () => undefined },
    );
    const error = await refusal(manager.preflight("s", [say("user", "hi")], { maxOutputTokens: 8000 }));
    expect(error.message).toBe("the answer may take 8000 tokens, which leaves none for the list");
    expect(error.hint).toContain("Lower the output limit");
    const system = words(1, 9000);
    const other = await refusal(manager.preflight("t", [say("user", "hi")], { system, maxOutputTokens: 1 }));
    expect(other.message).not.toContain("the answer may take");
  });

  it("FIT-2 says what of it stands beside the messages and what in them", async () => {
    const list = [say("system", words(1, 500)), say("user", "hi")];
    const error = await refusal(elide(list, 300));
    expect(error.message).toMatch(
      /take \d+ tokens \(\d+ beside the messages and \d+ in messages that must stay\)/,
    );
    expect(error.hint).toMatch(/^Reduce protected memory .* or raise maxTokens to \d+ tokens or more/);
  });

  it("where cuts are allowed it does not advise them", async () => {
    const error = await refusal(elide([say("assistant", words(1, 50)), ...batch(30, 50).slice(0, 1)], 40));
    expect(error.hint).toMatch(/^Raise maxTokens to \d+ tokens or more/);
    expect(error.hint).not.toContain("onOverflow");
  });
});

it("OBS-3 an ask that does not fit whole is told by a warning, with both sizes", async () => {
  const events: CompactEvent[] = [];
  const manager = new CompactManager(
    { maxContextTokens: 4000, policy: { onOverflow: "elide" }, storage: { kind: "memory" } },
    { exporters: [{ export: (event) => void events.push(event) }] },
  );
  const { report } = await manager.preflight<Message>("s", [say("user", words(1, 2500))]);
  await manager.flush();
  expect(report.newestAsk).toBe("cut");
  const warned = events.filter(({ properties }) => properties.code === "ask_cut");
  expect(warned).toHaveLength(1);
  expect(warned[0]?.properties.message).toMatch(/cut from \d+ to \d+ tokens/);
});

it("keeps what is held, where texts are cut to fit", () => {
  const held = say("user", `the held one ${words(3, 40)}`);
  const messages = [
    held,
    ...Array.from({ length: 8 }, (_, n) => say(n % 2 ? "user" : "assistant", words(n, 900))),
  ];
  const request: CompactionRequest = {
    messages,
    format: undefined,
    counter: createCounters({ encoding: "o200k_base" })(undefined),
    policy: { ...defaultPolicy, onOverflow: "elide" },
    reason: "hard_cap",
    fixedTokens: 0,
    budget: 700,
    target: 600,
    maxSummaryTokens: 100,
    summaryRole: "user",
    reasoningBound: false,
    held: new Set([held]),
  };
  expect(planRequest(request).entries[0]?.action).toBe("keep");
});

it("a plan counts each message of the list once", () => {
  const counter = createCounters({ model: "gpt-4o" })(undefined);
  const messages = Array.from({ length: 12 }, (_, turn) => [
    say("user", words(turn, 40)),
    ...batch(2, 30).map((message) => ({ ...message, id: `${message.id}-${turn}` })),
    say("assistant", words(turn + 100, 40)),
  ]).flat();
  const counted: Message[] = [];
  planRequest({
    messages,
    format: undefined,
    counter: {
      ...counter,
      countMessage: (message) => {
        counted.push(message);
        return counter.countMessage(message);
      },
    },
    policy: defaultPolicy,
    reason: "manual",
    fixedTokens: 0,
    budget: 4000,
    target: 3000,
    maxSummaryTokens: 500,
    summaryRole: "user",
    reasoningBound: false,
  });
  expect(counted.filter((message) => messages.includes(message))).toEqual(messages);
});
