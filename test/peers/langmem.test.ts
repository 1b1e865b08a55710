import { describe, expect, it } from "vitest";
import { SummarizationNode } from "../../packages/compact-context/src/adapters/langgraph/index.ts";
import type { TextModelRequest } from "../../packages/compact-context/src/core/ports.ts";
import { summarizeMessages } from "../../packages/compact-context/src/index.ts";

// What langmem's suite asks of a running summary, asked of ours. Where ours decides otherwise, the test holds what it does
// and docs/decisions/2026-11-23-peers-suites.md says why.

interface Entry {
  readonly id: string;
  readonly role: string;
  readonly content: string;
  readonly tool_calls?: readonly object[];
  readonly tool_call_id?: string;
}

const entry = (id: number, role: string, content = `${role} ${id}`): Entry => ({
  id: `m${id}`,
  role,
  content,
});
/** A talk in turns: odd ones the user's, even ones the assistant's. */
const talk = (from: number, to: number): Entry[] =>
  Array.from({ length: to - from + 1 }, (_, index) => {
    const id = from + index;
    return entry(id, id % 2 === 1 ? "user" : "assistant");
  });
const each = (messages: readonly unknown[]): number => messages.length;
const textOf = ({ messages }: TextModelRequest): string => JSON.stringify(messages);

function scripted(...texts: string[]) {
  const asked: TextModelRequest[] = [];
  return {
    asked,
    name: "scripted",
    generate: async (request: TextModelRequest) => {
      asked.push(request);
      return { text: texts[asked.length - 1] ?? "Nothing.", stop: "end" as const };
    },
  };
}

const FIRST = "The tides were told.";
const SECOND = "The tides and the ropes were told.";
const limits = {
  maxTokens: 6,
  maxSummaryTokens: 1,
  countTokens: each,
  fallback: "error",
  format: "langchain",
} as const;

describe("a running summary", () => {
  it("1 of nothing, or of a system message alone, asks no model", async () => {
    const model = scripted();
    for (const list of [[], [entry(0, "system")]]) {
      const { messages, runningSummary } = await summarizeMessages(list, { ...limits, model });
      expect(messages).toEqual(list);
      expect(runningSummary).toBeUndefined();
    }
    expect(model.asked).toEqual([]);
  });

  it("2 is not made of a list that fits, which comes back itself", async () => {
    const model = scripted();
    const list = talk(1, 3);
    const made = await summarizeMessages(list, { ...limits, model });
    expect(made.messages).toBe(list);
    expect(model.asked).toEqual([]);
  });

  it("3 stands for the oldest, once: the same list with it asks no model and gives the same", async () => {
    const model = scripted(FIRST);
    const list = talk(1, 9);
    const made = await summarizeMessages(list, { ...limits, model });
    const [summary, ...rest] = made.messages;
    expect(summary).toMatchObject({ role: "system", content: expect.stringContaining(FIRST) });
    expect(rest).toEqual(list.slice(-rest.length));
    expect(rest.length).toBeGreaterThan(0);
    const covered = list.slice(0, -rest.length).map(({ id }) => id);
    expect(made.runningSummary?.summarizedMessageIds).toEqual(covered);
    expect(made.runningSummary?.lastSummarizedMessageId).toBe(covered.at(-1));
    const again = await summarizeMessages(list, { ...limits, model, runningSummary: made.runningSummary });
    expect(again.messages).toEqual(made.messages);
    expect(model.asked).toHaveLength(1);
  });

  it("4 waits for its own threshold", async () => {
    const model = scripted(FIRST);
    const own = { ...limits, maxTokens: 12, maxTokensBeforeSummary: 8, model };
    expect((await summarizeMessages(talk(1, 7), own)).runningSummary).toBeUndefined();
    const { runningSummary } = await summarizeMessages(talk(1, 9), own);
    expect(runningSummary?.summary).toContain(FIRST);
  });

  it("5 leaves a system message first, and out of what the model reads", async () => {
    const model = scripted(FIRST);
    const system = entry(0, "system", "You guard the quay.");
    const { messages } = await summarizeMessages([system, ...talk(1, 9)], { ...limits, model });
    expect(messages[0]).toBe(system);
    expect(messages[1]).toMatchObject({ role: "system", content: expect.stringContaining(FIRST) });
    expect(messages.length).toBeLessThanOrEqual(6);
    expect(textOf(model.asked[0] as TextModelRequest)).not.toContain("You guard the quay");
    expect(textOf(model.asked[0] as TextModelRequest)).toContain("user 1");
  });

  it("6 counts by the caller's own counter, empty messages too", async () => {
    const counter = (list: readonly Entry[]) =>
      list.reduce((sum, { content }) => sum + Math.ceil(content.length / 4) + 3, 0);
    const list = talk(1, 9).map((one, index) => (index % 3 === 0 ? { ...one, content: "" } : one));
    const options = { maxTokens: 40, maxSummaryTokens: 10, countTokens: counter, model: scripted(FIRST) };
    const { messages } = await summarizeMessages(list, options);
    expect(messages.at(-1)).toBe(list.at(-1));
    expect(messages.length).toBeLessThan(list.length);
    expect(counter(messages as Entry[])).toBeLessThanOrEqual(40);
  });

  it("7 of forty messages is one request", async () => {
    const model = scripted(FIRST);
    const list = talk(1, 41);
    const { messages } = await summarizeMessages(list, { ...limits, maxTokens: 22, model });
    expect(messages.slice(1)).toEqual(list.slice(-(messages.length - 1)));
    expect(messages.length).toBeLessThanOrEqual(22);
    expect(model.asked).toHaveLength(1);
  });

  const byLength = (list: readonly unknown[]): number =>
    (list as readonly Entry[]).reduce((sum, { content }) => sum + content.length / 3, 0);
  for (const [name, more, until] of [
    ["8 by number", { maxTokens: 8 }, 11],
    ["9 by length", { maxTokens: 60, maxSummaryTokens: 30, countTokens: byLength }, 21],
  ] as const) {
    it(`${name}: the next one reads the first and what is new, nothing twice`, async () => {
      const model = scripted(FIRST, SECOND);
      const options = { ...limits, ...more, model };
      const first = await summarizeMessages(talk(1, until), options);
      expect(first.runningSummary?.summary).toContain(FIRST);
      const list = talk(1, 2 * until - 1);
      const { runningSummary } = first;
      const next = await summarizeMessages(list, { ...options, runningSummary });
      expect(model.asked).toHaveLength(2);
      const read = textOf(model.asked[1] as TextModelRequest);
      expect(read).toContain(FIRST);
      expect(read).not.toMatch(/user 1\b/);
      expect(next.runningSummary?.summary).toContain(SECOND);
      const covered = next.runningSummary?.summarizedMessageIds ?? [];
      expect(new Set(covered).size).toBe(covered.length);
      expect(covered.length).toBeGreaterThan(runningSummary?.summarizedMessageIds.length ?? 0);
      expect(next.messages.at(-1)).toBe(list.at(-1));
    });
  }

  it("10 never parts a call from its results", async () => {
    const call = (id: string) => ({ id, type: "function", function: { name: "read", arguments: "{}" } });
    const list: Entry[] = [
      entry(1, "user"),
      { ...entry(2, "assistant", ""), tool_calls: [call("c1"), call("c2")] },
      { ...entry(3, "tool"), tool_call_id: "c1" },
      { ...entry(4, "tool"), tool_call_id: "c2" },
      entry(5, "assistant"),
      entry(6, "user"),
    ];
    for (const maxTokens of [2, 3, 4, 5]) {
      const { messages } = await summarizeMessages(list, { ...limits, maxTokens, model: scripted(FIRST) });
      const ids = (messages as Entry[]).map(({ id }) => id);
      expect(["m2", "m3", "m4"].filter((id) => ids.includes(id)).length % 3).toBe(0);
    }
  });

  it("11 needs ids, and says so", async () => {
    const { id: _, ...bare } = entry(2, "assistant");
    const list = [entry(1, "user"), bare, ...talk(3, 9)];
    const asked = summarizeMessages<unknown>(list, {
      ...limits,
      format: "langchain",
      model: scripted(FIRST),
    });
    await expect(asked).rejects.toThrow(/\bid\b/);
  });

  it("12 refuses a new message under an id that it stands for", async () => {
    const model = scripted(FIRST);
    const { runningSummary } = await summarizeMessages(talk(1, 9), { ...limits, model });
    const list = [...talk(1, 10), { ...entry(1, "user"), content: "something new" }];
    const again = summarizeMessages(list, { ...limits, model, runningSummary });
    await expect(again).rejects.toThrow(/m1/);
  });

  it("13 is recognised in its own output, and read once only", async () => {
    const model = scripted(FIRST, SECOND);
    const options = { ...limits, maxTokens: 8, model };
    const first = await summarizeMessages(talk(1, 11), options);
    const list = [...(first.messages as Entry[]), ...talk(12, 21)];
    const next = await summarizeMessages(list, { ...options, runningSummary: first.runningSummary });
    const read = textOf(model.asked[1] as TextModelRequest);
    expect(read.split(FIRST).length - 1).toBe(1);
    expect(JSON.stringify(next.messages)).not.toContain(FIRST);
    expect(next.runningSummary?.summary).toContain(SECOND);
  });
});

describe("the node of a graph", () => {
  const { fallback: _, countTokens: __, format: ___, ...own } = limits;

  it("14 keeps the state's messages, and finds its summary there the next time", async () => {
    const model = scripted(FIRST);
    const node = SummarizationNode({ ...own, tokenCounter: each, model });
    const state = { messages: talk(1, 9) };
    const update = await node.invoke<Record<string, unknown>>(state);
    const again = await node.invoke<Record<string, unknown>>({ ...state, ...update });
    expect(again.summarized_messages).toEqual(update.summarized_messages);
    expect(update.messages).toBeUndefined();
    expect(model.asked).toHaveLength(1);
  });

  it("15 with equal keys removes everything and puts the shortened list there, round after round", async () => {
    const model = scripted(FIRST, SECOND);
    const keys = { inputMessagesKey: "messages", outputMessagesKey: "messages" };
    const node = SummarizationNode({ ...own, maxTokens: 8, ...keys, tokenCounter: each, model });
    const first: Record<string, unknown> = await node.invoke({ messages: talk(1, 11) });
    const [remove, ...kept] = first.messages as Entry[];
    expect(remove).toMatchObject({ id: "__remove_all__" });
    const list = [...kept, ...talk(12, 21)];
    const next: Record<string, unknown> = await node.invoke({ messages: list, context: first.context });
    expect(textOf(model.asked[1] as TextModelRequest)).toContain(FIRST);
    expect(next.messages).toHaveLength(1 + (next.messages as Entry[]).slice(1).length);
    expect((next.messages as Entry[]).at(-1)).toBe(list.at(-1));
  });
});
