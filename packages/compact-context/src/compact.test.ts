import { describe, expect, it } from "vitest";
import { decode } from "./codecs/formats.ts";
import { compact, countTokens, planCompaction } from "./compact.ts";
import { CompactError } from "./errors.ts";
import { findMalformations } from "./lint/generic.ts";

type Chat = Record<string, unknown> & { role: string; content: string | null };
const say = (role: string, content: string, extra: Record<string, unknown> = {}): Chat => ({
  role,
  content,
  ...extra,
});
const lorem = (seed: number, words: number) =>
  Array.from({ length: words }, (_, index) => `word${(seed * 31 + index * 7) % 997}`).join(" ");
const pair = (id: string, output: string): Chat[] => [
  {
    role: "assistant",
    content: null,
    tool_calls: [
      { id, type: "function", function: { name: "read_file", arguments: `{"path":"src/${id}.ts"}` } },
    ],
  },
  { role: "tool", tool_call_id: id, content: output },
];
const turns = (count: number, words = 60): Chat[] =>
  Array.from({ length: count }, (_, turn) => [
    say("user", `question ${turn} ${lorem(turn, words)}`),
    say("assistant", `answer ${turn} ${lorem(turn + 500, words)}`),
  ]).flat();
const tokens = (messages: unknown[]) => countTokens(messages, { format: "openai-chat" }).tokens;
const summaries = (messages: Chat[]) =>
  messages.filter((message) => String(message.content).startsWith("<COMPACT-SUMMARY v"));

describe("compact", () => {
  it("FIT-6 brings a list to or under its budget", async () => {
    const list = [
      say("system", "You help."),
      ...turns(40),
      ...Array.from({ length: 20 }, (_, n) => pair(`f${n}`, lorem(n, 300))).flat(),
      say("user", "and now?"),
    ];
    for (const maxTokens of [8000, 4000, 2000]) {
      const result = await compact(list, { maxTokens, format: "openai-chat" });
      expect(tokens(result.messages)).toBeLessThanOrEqual(maxTokens);
      expect(result.report.tokensAfter).toBeLessThanOrEqual(maxTokens);
      expect(result.report.compacted).toBe(true);
    }
  });

  it("gives back the very same array when it fits already", async () => {
    const list = turns(2);
    const result = await compact(list, { maxTokens: 100_000, format: "openai-chat" });
    expect(result.messages).toBe(list);
    expect(result.report).toMatchObject({ compacted: false, reason: "below_trigger", prunedCount: 0 });
  });

  it("SUM-1 and PRT-8: pinned first, then one assistant message <COMPACT-SUMMARY v1>, then what is recent", async () => {
    const list = [say("system", "You help."), ...turns(40)];
    const { messages } = await compact(list, { maxTokens: 4000, format: "openai-chat" });
    expect(messages[0]).toBe(list[0]);
    expect(messages[1]).toMatchObject({ role: "assistant" });
    expect(String(messages[1]?.content).startsWith("<COMPACT-SUMMARY v1>")).toBe(true);
    expect(summaries(messages)).toHaveLength(1);
    expect(messages.at(-1)).toBe(list.at(-1));
  });

  it("PRT-6 keeps the caller's own objects in their order", async () => {
    const list = [say("system", "You help."), ...turns(40)];
    const { messages } = await compact(list, { maxTokens: 4000, format: "openai-chat" });
    const kept = messages.filter((message) => !String(message.content).startsWith("<COMPACT-SUMMARY"));
    const places = kept.map((message) => list.indexOf(message));
    expect(places.every((place) => place >= 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  it("PRT-1 keeps protected messages unchanged and out of the summary", async () => {
    const secret = say("user", "the launch word is xylophone-77", { meta: { protected: true } });
    const list = [say("system", "You help."), secret, ...turns(40)];
    const { messages, summary } = await compact(list, { maxTokens: 3000, format: "openai-chat" });
    expect(messages).toContain(secret);
    expect(summary).not.toContain("xylophone-77");
  });

  it("SUM-2 folds an earlier summary into the next and counts on", async () => {
    const list = [
      say("system", "You help."),
      say("user", "Never touch src/billing.ts, it belongs to the payments team."),
      say("assistant", "Understood."),
      ...turns(30),
    ];
    const first = await compact(list, { maxTokens: 3000, format: "openai-chat" });
    const second = await compact([...first.messages, ...turns(30)], {
      maxTokens: 3000,
      format: "openai-chat",
    });
    const third = await compact([...second.messages, ...turns(30)], {
      maxTokens: 3000,
      format: "openai-chat",
    });
    expect(summaries(third.messages)).toHaveLength(1);
    expect(third.report.summaryVersion).toBe(3);
    expect(third.summary).toContain("src/billing.ts");
  });

  it("FIT-1 lowers the keep counts before it gives up", () => {
    const list = [
      ...turns(8, 200),
      ...Array.from({ length: 6 }, (_, n) => pair(`f${n}`, lorem(n, 400))).flat(),
      say("user", "go on"),
    ];
    const plan = planCompaction(list, { maxTokens: 2600, format: "openai-chat" });
    expect(plan.relaxed).toBeGreaterThan(0);
    expect(plan.keep.keepRecentTurns).toBeLessThan(6);
    expect(plan.tokensAfter).toBeLessThanOrEqual(2600);
  });

  it("FIT-1 gives up one recent turn, then one tool pair, and no more of either than it has to", () => {
    const list = [
      ...turns(8, 100),
      ...Array.from({ length: 6 }, (_, n) => pair(`f${n}`, lorem(n, 200))).flat(),
    ];
    const kept = Array.from({ length: 40 }, (_, step) => {
      const { keep } = planCompaction(list, { maxTokens: 6000 - step * 100, format: "openai-chat" });
      return `${keep.keepRecentTurns} turns, ${keep.keepToolIoPairs} pairs`;
    });
    expect([...new Set(kept)]).toEqual([
      "6 turns, 4 pairs",
      "5 turns, 4 pairs",
      "5 turns, 3 pairs",
      "4 turns, 3 pairs",
      "4 turns, 2 pairs",
      "3 turns, 2 pairs",
      "3 turns, 1 pairs",
    ]);
  });

  it("FIT-1 says InsufficientBudget at the floor of one turn and one pair", () => {
    const list = [...turns(3), ...pair("big", lorem(1, 4000)), say("assistant", "done")];
    expect(() => planCompaction(list, { maxTokens: 1500, format: "openai-chat" })).toThrowError(
      expect.objectContaining({ code: "InsufficientBudget" }),
    );
  });

  it("says of every message why it stays or goes", () => {
    const list = [
      say("system", "You help."),
      say("user", "the launch word is xylophone-77", { meta: { protected: true } }),
      say("assistant", "<COMPACT-SUMMARY v1>\nso far\n</COMPACT-SUMMARY v1>"),
      ...turns(20),
      ...pair("f", "content"),
      say("user", "go on"),
    ];
    const { entries } = planCompaction(list, { maxTokens: 4000, format: "openai-chat" });
    expect(entries.slice(0, 4).map(({ reason }) => reason)).toEqual([
      "role system is never pruned",
      "protected",
      "the earlier summary is folded into the new one",
      "older than what is kept",
    ]);
    expect(entries.slice(-4).map(({ reason }) => reason)).toEqual([
      "in the recent turns",
      "among the newest tool calls",
      "among the newest tool calls",
      "in the recent turns",
    ]);
  });

  it("SUM-9 writes with the built-in summarizer where no model is given", async () => {
    const { report, summary } = await compact(turns(40), { maxTokens: 3000, format: "openai-chat" });
    expect(report).toMatchObject({ summarizer: "builtin", attempts: [], failures: [] });
    expect(summary).toContain("question 3");
  });

  it("FIT-4 asks for half of the tokens while the text is too long, twice, and then the built-in summarizer", async () => {
    const asked: number[] = [];
    const wordy = {
      name: "wordy",
      async summarize(_: unknown, { maxTokens }: { readonly maxTokens: number }) {
        asked.push(maxTokens);
        return { text: lorem(1, 5000), tokens: 10_000, summarizer: "wordy", messagesRead: 1 };
      },
    };
    const { report } = await compact(turns(40), {
      maxTokens: 3000,
      format: "openai-chat",
      summarizer: wordy,
    });
    const [first = 0] = asked;
    expect(asked).toEqual([first, Math.floor(first / 2), Math.floor(Math.floor(first / 2) / 2)]);
    expect(report.summarizer).toBe("builtin");
  });

  it("SUM-4 a decision log is in the order in which things were decided", async () => {
    const decided = ["the cookie store", "one queue", "port 5433"].flatMap((what, n) => [
      say("user", `question ${n}`),
      say("assistant", `I decided to keep ${what} because redis is not available here.`),
    ]);
    const { summary } = await compact([...decided, ...turns(30)], {
      maxTokens: 3000,
      format: "openai-chat",
      strategy: "decision_log",
    });
    expect(summary?.match(/(?<=^- \[\S+\] I decided to keep )[^:]+(?= ::)/gm)).toEqual([
      "the cookie store",
      "one queue",
      "port 5433",
    ]);
  });

  it("FIT-2 says which part is too large and what to do when protected messages alone are over budget", async () => {
    const list = [say("system", lorem(1, 3000)), ...turns(3)];
    const error = await compact(list, { maxTokens: 1000, format: "openai-chat", onOverflow: "elide" }).catch(
      (thrown: unknown) => thrown,
    );
    expect(CompactError.isInstance(error) && error.code).toBe("InsufficientBudget");
    expect((error as CompactError).hint).toMatch(/[Rr]educe protected memory .* or raise maxTokens/);
  });

  it("elides a message that is larger than the budget, head and tail kept", async () => {
    const list = [say("user", `first words ${lorem(1, 5000)} last words`)];
    const { messages, report } = await compact(list, {
      maxTokens: 800,
      format: "openai-chat",
      onOverflow: "elide",
    });
    expect(tokens(messages)).toBeLessThanOrEqual(800);
    expect(messages.at(-1)?.content).toMatch(/^first words [\s\S]+tokens elided[\s\S]+last words$/);
    expect(report.elidedCount).toBe(1);
    expect(list[0]?.content).not.toContain("elided");
  });

  it("tells in the summary what was cut out of the newest request, and nothing that stands beside it", async () => {
    const steps = Array.from({ length: 60 }, (_, index) => `Step ${index}: ${lorem(index, 20)}`);
    steps[30] = "Never write to src/billing/ledger_export.ts, it is generated.";
    steps[31] = "Add the helper roundHalfEven() to src/money/rounding.ts before anything else.";
    const ask = ["Implement this plan for the invoices page.", ...steps, "Then run `make check`."].join("\n");
    const list = [
      say("user", ask),
      say("assistant", "I begin with src/money/rounding.ts."),
      ...Array.from({ length: 6 }, (_, n) => pair(`f${n}`, lorem(n, 200))).flat(),
    ];
    const { messages, summary } = await compact(list, {
      maxTokens: 700,
      format: "openai-chat",
      onOverflow: "elide",
    });
    const kept = messages.map((message) => message.content).join("\n");
    expect(kept).toContain("Implement this plan for the invoices page.");
    expect(summary).toContain("Never write to src/billing/ledger_export.ts, it is generated.");
    expect(summary).toContain("roundHalfEven");
    expect(summary).not.toContain("Implement this plan for the invoices page.");
  });

  it("PRT-5 never splits a parallel batch from its results", async () => {
    const batch = (n: number): Chat[] => [
      {
        role: "assistant",
        content: null,
        tool_calls: [1, 2, 3].map((k) => ({
          id: `c${n}-${k}`,
          type: "function",
          function: { name: "grep", arguments: "{}" },
        })),
      },
      ...[3, 1, 2].map((k) => ({ role: "tool", tool_call_id: `c${n}-${k}`, content: lorem(n * k, 120) })),
    ];
    const list = [
      say("user", "look around"),
      ...Array.from({ length: 20 }, (_, n) => batch(n)).flat(),
      say("user", "and?"),
    ];
    for (const maxTokens of [6000, 3000, 1500]) {
      const { messages } = await compact(list, { maxTokens, format: "openai-chat" });
      expect(findMalformations(decode(messages, "openai-chat"))).toEqual([]);
    }
  });

  it("RUN-4 takes what is summarized from the oldest on, a call at the edge with its results", () => {
    const list = [
      say("user", "go"),
      ...Array.from({ length: 40 }, (_, n) => pair(`f${n}`, lorem(n, 120))).flat(),
      say("user", "and?"),
    ];
    const plan = planCompaction(list, { maxTokens: 9000, targetTokens: 2400, format: "openai-chat" });
    const eligible = plan.entries.filter((entry) => entry.layer === "remainder");
    const gone = eligible.filter((entry) => entry.action === "summarize").map((entry) => entry.index);
    const left = eligible.filter((entry) => entry.action !== "summarize").map((entry) => entry.index);
    expect(gone.length).toBeGreaterThan(0);
    expect(left.length).toBeGreaterThan(0);
    expect(Math.max(...gone)).toBeLessThan(Math.min(...left));
    // Calls stand at odd places, each result behind its call: the edge lies behind a result.
    expect(Math.max(...gone) % 2).toBe(0);
  });

  it("begins with the user where the provider demands it", async () => {
    const list = [
      { role: "user", content: "begin" },
      ...turns(40).map(({ role, content }) => ({ role, content: [{ type: "text", text: content }] })),
    ];
    const { messages } = await compact(list, { maxTokens: 3000, format: "anthropic" });
    expect(messages[0]).toMatchObject({ role: "user" });
  });

  it("rejects what is no list and lists that nobody knows", async () => {
    await expect(compact({} as never, { maxTokens: 10 })).rejects.toMatchObject({ code: "InvalidArgument" });
    await expect(compact([1, 2] as never, { maxTokens: 10 })).rejects.toMatchObject({
      code: "UnknownFormat",
    });
    await expect(compact([], { maxTokens: Number.NaN })).rejects.toMatchObject({ code: "InvalidArgument" });
  });
});

describe("reasoning that is bound to its prefix", () => {
  const step = (n: number) => [
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: `step ${n}`, signature: "c2lnbmVk" },
        { type: "tool_use", id: `t${n}`, name: "read", input: { path: `f${n}.ts` } },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: `t${n}`, content: lorem(n, 300) }] },
  ];
  const list = [
    { role: "user", content: "look at every file" },
    ...Array.from({ length: 20 }, (_, n) => step(n)).flat(),
  ];
  const thinking = (messages: unknown[]) => JSON.stringify(messages).split('"thinking"').length - 1;

  it("leaves the list when something before it does, for models that bind it, and is counted", async () => {
    const { messages, report } = await compact(list, { maxTokens: 5000, model: "claude-fable-5-1" });
    expect(thinking(messages)).toBe(0);
    expect(report.reasoningDropped).toBeGreaterThan(0);
    expect(findMalformations(decode(messages, "anthropic"))).toEqual([]);
  });

  it("stays, the caller's own objects, for models that do not", async () => {
    const { messages, report } = await compact(list, { maxTokens: 5000, model: "claude-sonnet-4-5" });
    expect(thinking(messages)).toBeGreaterThan(0);
    expect(report.reasoningDropped).toBe(0);
  });
});

it("tells which summarizer failed and what was done instead", async () => {
  const broken = { name: "broken", summarize: () => Promise.reject(new Error("no quota")) };
  const { report } = await compact(turns(40), { maxTokens: 3000, summarizer: broken });
  expect(report.failures).toMatchObject([{ summarizer: "broken", fallback: "builtin" }]);
  expect(report.summarizer).toBe("builtin");
});

it("FIT-3 leaves the summary out where nothing is to follow a failed summarizer", async () => {
  const broken = { name: "broken", summarize: () => Promise.reject(new Error("no quota")) };
  const fallback = "pruning-only";
  const { report, summary } = await compact(turns(40), { maxTokens: 3000, summarizer: broken, fallback });
  expect(summary).toBeUndefined();
  expect(report.rungs).toContain("pruning-only");
});

it("TOK-8 estimates the answer as half the request, rounded down, unless told otherwise", () => {
  const list = [{ role: "user", content: "one two three" }];
  const { tokens, responseTokens } = countTokens(list);
  expect(responseTokens).toBe(Math.floor(tokens / 2));
  expect(countTokens(list, { responseRatio: 0.25 })).toMatchObject({
    tokens,
    responseTokens: Math.floor(tokens / 4),
  });
  expect(countTokens([]).responseTokens).toBe(0);
});

it("refuses an option that does not exist: a misspelt archive would lose the originals", async () => {
  const refused = { code: "InvalidArgument", message: "archve is not an option; did you mean archive?" };
  const options = { maxTokens: 3000, archve: { save: async () => undefined } };
  await expect(compact(turns(40), options)).rejects.toMatchObject(refused);
  expect(() => planCompaction(turns(40), options)).toThrowError(expect.objectContaining(refused));
  expect(() => countTokens(turns(1), { modle: "gpt-4o" } as object)).toThrowError(
    expect.objectContaining({ place: "options.modle" }),
  );
});

it("FIT-3 takes an answer without a text for a failure, not for the summary", async () => {
  for (const answer of [undefined, "the barge was painted", {}, { summary: "the barge" }, { text: 5 }]) {
    const summarizer = { name: "own", summarize: async () => answer as never };
    const { report, summary } = await compact(turns(40), { maxTokens: 3000, summarizer });
    expect(report).toMatchObject({
      summarizer: "builtin",
      failures: [{ summarizer: "own", error: { message: "own: it answered without a text" } }],
    });
    expect(summary).not.toContain("undefined");
  }
});
