import { describe, expect, it } from "vitest";
import { createMemoryDriver } from "../../storage/memory/driver.ts";
import { createGraphArchive, createRecallNode, SummarizationNode } from "./index.ts";

interface State {
  readonly messages: object[];
  readonly context?: Record<string, unknown>;
  readonly summarized_messages?: object[];
}

const long = (name: string): string => `${name} ${"the clerk writes about tides and ropes ".repeat(60)}`;
const history = (): object[] =>
  Array.from({ length: 10 }, (_, index) => [
    { role: "user", id: `h${index}`, content: long(`ask ${index}`) },
    { role: "assistant", id: `a${index}`, content: long(`answer ${index}`) },
  ]).flat();

const LIMITS = { maxTokens: 5_000, maxSummaryTokens: 600 };
const IN_THREAD = { configurable: { thread_id: "t" } };

describe("SummarizationNode", () => {
  it("INT-2 writes the output key, keeps the running summary as plain JSON and leaves the messages alone", async () => {
    const state: State = { messages: history(), context: { theme: "dark" } };
    const update = await SummarizationNode(LIMITS).invoke(state);
    expect(update.messages).toBeUndefined();
    expect(update.summarized_messages?.length).toBeLessThan(20);
    expect(update.context?.theme).toBe("dark");
    const running = update.context?.running_summary;
    expect(JSON.parse(JSON.stringify(running))).toEqual(running);
    const again = await SummarizationNode(LIMITS).invoke({ ...state, ...update });
    expect(again.summarized_messages).toEqual(update.summarized_messages);
  });

  it("reads ids that another writer left in a Set", async () => {
    const first = await SummarizationNode(LIMITS).invoke<State>({ messages: history() });
    const running = first.context?.running_summary as { summarizedMessageIds: string[] };
    const context = {
      running_summary: { ...running, summarizedMessageIds: new Set(running.summarizedMessageIds) },
    };
    const again = await SummarizationNode(LIMITS).invoke<State>({ messages: history(), context });
    expect(again.context?.running_summary).toEqual(running);
  });

  it("archives what a summary replaces before the state loses it, each message once; the recall node finds it", async () => {
    const archive = createGraphArchive(createMemoryDriver());
    const node = SummarizationNode({ ...LIMITS, outputMessagesKey: "messages", archive });
    const { messages, context } = await node.invoke<State>({ messages: history() }, IN_THREAD);
    expect(messages?.[0]).toEqual({ type: "remove", id: "__remove_all__" });
    expect(await archive.recall("t").steps()).toEqual([1]);
    await node.invoke({ messages: messages?.slice(1) ?? [], context }, IN_THREAD);
    expect(await archive.recall("t").steps()).toEqual([1]);
    const call = { id: "c1", name: "compact_search", args: { query: '"ask 0"' } };
    const other = { id: "c2", name: "survey", args: {} };
    const asked = { role: "assistant", id: "q", content: "", tool_calls: [call, other] };
    const answered = await createRecallNode({ source: archive }).invoke<State>(
      { messages: [asked] },
      IN_THREAD,
    );
    expect(answered.messages).toHaveLength(1);
    expect(answered.messages?.[0]).toMatchObject({ role: "tool", tool_call_id: "c1" });
    expect(JSON.stringify(answered.messages)).toContain("ask 0");
  });

  it("asks who is speaking where an archive or recall needs to know", async () => {
    const archive = createGraphArchive(createMemoryDriver());
    const node = SummarizationNode({ ...LIMITS, archive });
    await expect(node.invoke({ messages: history() })).rejects.toMatchObject({ place: "options.sessionId" });
    const recall = createRecallNode({ source: archive });
    await expect(recall.invoke({ messages: [] })).rejects.toMatchObject({ place: "options.sessionId" });
  });

  it("is a function and a Runnable in one", async () => {
    const node = new SummarizationNode({ ...LIMITS, name: "shorten" });
    expect(node.lc_runnable).toBe(true);
    expect(node.name).toBe("shorten");
    expect(node.getName(":1")).toBe("shorten:1");
    const state: State = { messages: history().slice(0, 2) };
    const update = await node(state);
    expect(await node.invoke(state)).toEqual(update);
    expect(await node.batch([state, state], [{}, {}])).toEqual([update, update]);
    expect(await node.withConfig({ tags: ["a"] }).invoke(state)).toEqual(update);
    expect(await node.pipe((given: object) => ({ given })).invoke(state)).toEqual({ given: update });
    const reader = (await node.stream(state)).getReader();
    expect((await reader.read()).value).toEqual(update);
    async function* states(): AsyncGenerator<State> {
      yield state;
    }
    const chunks: object[] = [];
    for await (const chunk of node.transform(states())) chunks.push(chunk);
    expect(chunks).toEqual([update]);
  });
});
