import { describe, expect, it } from "vitest";
import { SummarizationNode } from "./index.ts";

// Without the SDK: what the node writes is plain data that LangGraph's reducers read.

interface State {
  readonly messages?: object[];
  readonly asked?: object[];
  readonly answered?: object[];
  readonly summarized_messages?: object[];
  readonly context?: Record<string, unknown>;
}

const long = (name: string): string => `${name} ${"the clerk writes about tides and ropes ".repeat(60)}`;
const history = (): object[] =>
  Array.from({ length: 10 }, (_, index) => [
    { role: "user", id: `h${index}`, content: long(`ask ${index}`) },
    { role: "assistant", id: `a${index}`, content: long(`answer ${index}`) },
  ]).flat();
const LIMITS = { maxTokens: 5_000, maxSummaryTokens: 600 };

describe("the keys of a SummarizationNode", () => {
  it("INT-2 reads messages and writes summarized_messages and context.running_summary by default", async () => {
    const update = await SummarizationNode(LIMITS).invoke<State>({ messages: history() });
    expect(Object.keys(update).toSorted()).toEqual(["context", "summarized_messages"]);
    expect(update.context?.running_summary).toMatchObject({
      summary: expect.stringMatching(/./),
      summarizedMessageIds: expect.arrayContaining(["h0", "a0"]),
    });
  });

  it("INT-2 reads and writes the keys that it is given", async () => {
    const node = SummarizationNode({ ...LIMITS, inputMessagesKey: "asked", outputMessagesKey: "answered" });
    const update = await node.invoke<State>({ asked: history() });
    expect(Object.keys(update).toSorted()).toEqual(["answered", "context"]);
    expect(update.answered?.length).toBeLessThan(20);
  });

  it("INT-2 with equal keys the removal of all messages comes first, and nothing is written while they fit", async () => {
    const node = SummarizationNode({
      ...LIMITS,
      inputMessagesKey: "messages",
      outputMessagesKey: "messages",
    });
    expect(await node.invoke<State>({ messages: history().slice(0, 4) })).toEqual({});
    const given = history();
    const { messages = [] } = await node.invoke<State>({ messages: given });
    expect(messages[0]).toEqual({ type: "remove", id: "__remove_all__" });
    expect(messages.slice(1)).not.toContainEqual(messages[0]);
    expect(messages.at(-1)).toBe(given.at(-1));
  });

  it("INT-2 is a Runnable: it can be invoked, batched, streamed and piped", async () => {
    const node = SummarizationNode(LIMITS);
    expect(node.lc_runnable).toBe(true);
    const state: State = { messages: history().slice(0, 2) };
    const update = await node.invoke(state);
    expect(await node.batch([state])).toEqual([update]);
    expect((await (await node.stream(state)).getReader().read()).value).toEqual(update);
    expect(await node.pipe((given: object) => ({ given })).invoke(state)).toEqual({ given: update });
  });
});
