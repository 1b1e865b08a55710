import { describe, expect, it } from "vitest";
import { compactMiddleware } from "../../packages/compact-context/src/adapters/langchain/index.ts";
import type { TextModelRequest } from "../../packages/compact-context/src/core/ports.ts";
import {
  type CompactConfigInput,
  CompactManager,
  type ManagerPorts,
} from "../../packages/compact-context/src/index.ts";
import { createMemoryDriver } from "../../packages/compact-context/src/storage/memory/driver.ts";
import { checkProvider } from "../support/provider-checks.ts";

// What the suite of LangChain's summarizationMiddleware asks, asked of ours, which rewrites the state with `persist`. Where
// ours decides otherwise, docs/decisions/2026-11-23-peers-suites.md says why.

interface Entry {
  readonly id: string;
  readonly type: string;
  readonly content: string;
  readonly tool_calls?: readonly object[];
  readonly tool_call_id?: string;
  readonly additional_kwargs?: object;
}

const WORDS = "the clerk writes about tides and ropes ".repeat(20);
const human = (id: string, content = `${id} ${WORDS}`): Entry => ({ id, type: "human", content });
const ai = (id: string, content = `${id} ${WORDS}`): Entry => ({ id, type: "ai", content });
const calling = (id: string, ...calls: string[]): Entry => ({
  ...ai(id, "I read."),
  tool_calls: calls.map((call) => ({
    id: call,
    name: "read",
    args: { path: `${call}.ts` },
    type: "tool_call",
  })),
});
const result = (call: string, content = `Lines of ${call}.`): Entry => ({
  id: `r-${call}`,
  type: "tool",
  content,
  tool_call_id: call,
});
const talk = (turns: number): Entry[] =>
  Array.from({ length: turns }, (_, turn) => [human(`h${turn}`), ai(`a${turn}`)]).flat();
const last = human("now", "And now?");

function scripted(text = "Tides were told.") {
  const asked: TextModelRequest[] = [];
  return {
    asked,
    name: "scripted",
    generate: async (request: TextModelRequest) => {
      asked.push(request);
      return { text, stop: "end" as const };
    },
  };
}

/** The state that the middleware writes; undefined where it leaves the given one. */
async function state(
  messages: readonly Entry[],
  policy: CompactConfigInput["policy"],
  ports: ManagerPorts = {},
): Promise<Entry[] | undefined> {
  const manager = new CompactManager(
    { model: "gpt-4o", maxContextTokens: 100_000, policy: { keepRecentTurns: 1, ...policy } },
    { storage: createMemoryDriver(), onWarning: () => undefined, ...ports },
  );
  const { beforeModel } = compactMiddleware({ manager, persist: true, sessionId: "quay" });
  const update = await beforeModel?.({ messages: [...messages] }, {});
  const [remove, ...kept] = (update?.messages ?? []) as Entry[];
  if (update !== undefined) expect(remove).toMatchObject({ id: "__remove_all__" });
  return update && kept;
}

const isSummary = ({ additional_kwargs }: Entry): boolean =>
  JSON.stringify(additional_kwargs ?? {}).includes("summarization");

describe("the middleware", () => {
  it("summarizes over a number of tokens, marks the summary and keeps the newest", async () => {
    const kept = await state([...talk(10), last], {
      maxTokensBeforeSummary: 1_000,
      targetContextTokens: 600,
    });
    expect(kept?.filter(isSummary)).toHaveLength(1);
    expect(kept?.at(-1)).toMatchObject({ content: last.content });
    expect(kept?.length).toBeLessThan(21);
  });

  it("leaves a list below it alone", async () => {
    expect(await state([...talk(1), last], { maxTokensBeforeSummary: 5_000 })).toBeUndefined();
  });

  it("takes the first of several triggers: messages, tokens, a share of the window", async () => {
    const list = [...talk(10), last];
    const low = { targetContextTokens: 600 };
    expect(await state(list, { ...low, maxMessages: 30, maxTokensBeforeSummary: 50_000 })).toBeUndefined();
    expect(await state(list, { ...low, maxMessages: 8, maxTokensBeforeSummary: 50_000 })).toBeDefined();
    expect(await state(list, { ...low, maxMessages: 30, maxTokensBeforeSummary: 1_000 })).toBeDefined();
    expect(await state(list, { ...low, maxMessages: 30, triggerPct: 0.02 })).toBeDefined();
  });

  it("keeps a number of messages, or as much as fits a number of tokens", async () => {
    const list = [...talk(10), last];
    const by = async (policy: object) =>
      (await state(list, { maxTokensBeforeSummary: 1_000, ...policy }))?.length;
    const few = await by({ keepRecentMessages: 3, targetContextTokens: 900 });
    const more = await by({ keepRecentMessages: 3, targetContextTokens: 2_400 });
    expect(few).toBeGreaterThanOrEqual(4);
    expect(more).toBeGreaterThan(few ?? 0);
  });

  const exchanges = [
    ["one call", [calling("c", "k1"), result("k1")]],
    [
      "ten parallel calls",
      [
        calling("c", ...Array.from({ length: 10 }, (_, n) => `k${n}`)),
        ...Array.from({ length: 10 }, (_, n) => result(`k${n}`)),
      ],
    ],
  ] as const;
  it.each(exchanges)("never parts %s from its results, wherever the cut falls", async (_, exchange) => {
    for (const keepRecentMessages of [1, 2, 3, 5, 8]) {
      const list = [...talk(8), human("ask", "Read them."), ...exchange, ai("said", "Read."), last];
      const policy = { maxTokensBeforeSummary: 1_000, targetContextTokens: 500, keepRecentMessages };
      const kept = (await state(list, policy)) ?? [];
      expect(kept.some(isSummary)).toBe(true);
      const there = exchange.filter(({ id }) => kept.some((one) => one.id === id));
      expect([0, exchange.length]).toContain(there.length);
      expect(checkProvider("langchain", kept, kept)).toEqual([]);
    }
  });

  it("opens no list with a call: the summary stands before it", async () => {
    const list = [...talk(8), human("ask", "Read it."), calling("c", "k1"), result("k1"), last];
    const kept = await state(list, {
      maxTokensBeforeSummary: 1_000,
      targetContextTokens: 500,
      keepRecentMessages: 3,
    });
    expect(kept?.map(isSummary).indexOf(true)).toBe(0);
  });

  it("goes on over a result that answers no call", async () => {
    const list = [...talk(8), result("nobody"), human("more"), last];
    const kept = await state(list, { maxTokensBeforeSummary: 1_000, targetContextTokens: 500 });
    expect(kept?.at(-1)).toMatchObject({ content: last.content });
  });

  it("does nothing to an empty conversation", async () => {
    expect(await state([], { maxTokensBeforeSummary: 1_000 })).toBeUndefined();
  });

  it("has the model read roles, calls and words, not the messages' JSON", async () => {
    const summarizer = scripted();
    const list = [
      human("h", "What is in k1?"),
      { ...calling("c", "k1"), additional_kwargs: { trace: "xyzzy" } },
      result("k1", "Seventy ropes."),
      ...talk(8),
      last,
    ];
    const policy = { maxTokensBeforeSummary: 1_000, targetContextTokens: 500, keepToolIoPairs: 0 };
    await state(list, policy, { summarizer });
    const read = summarizer.asked.map(({ messages }) => JSON.stringify(messages)).join();
    for (const word of ["What is in k1?", "read", "k1.ts", "Seventy ropes."]) expect(read).toContain(word);
    for (const noise of ["additional_kwargs", "xyzzy", "tool_call_id"]) expect(read).not.toContain(noise);
  });

  it("has the model read all that leaves, also where that is far more than one request holds", async () => {
    const summarizer = { ...scripted(), window: 6_000 };
    const list = [...talk(40), last];
    await state(list, { maxTokensBeforeSummary: 1_000, targetContextTokens: 500 }, { summarizer });
    const read = summarizer.asked.map(({ messages }) => JSON.stringify(messages)).join();
    for (const turn of [0, 12, 25, 38]) expect(read).toContain(`h${turn} the clerk`);
  });

  it.each([
    ["a share over 1", { triggerPct: 1.5 }],
    ["tokens below 0", { maxTokensBeforeSummary: -100 }],
    ["no whole number of messages", { keepRecentMessages: 0.5 }],
  ])("refuses %s when it is made", (_, policy) => {
    expect(() => new CompactManager({ policy })).toThrow(/InvalidConfig|must|policy/);
  });
});
