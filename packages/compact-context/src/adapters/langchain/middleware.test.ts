import { describe, expect, it } from "vitest";
import { CompactManager } from "../../create-manager.ts";
import { createMemoryDriver } from "../../storage/memory/driver.ts";
import { compactMiddleware } from "./index.ts";
import { toolsOf } from "./sdk.ts";

/** A message class as LangChain's are: told apart by `getType`. */
class FakeMessage {
  readonly content: string;
  readonly id: string;
  readonly additional_kwargs: object;

  constructor(fields: { content: string; id: string; additional_kwargs?: object }) {
    this.content = fields.content;
    this.id = fields.id;
    this.additional_kwargs = fields.additional_kwargs ?? {};
  }
}
class Human extends FakeMessage {
  getType(): string {
    return "human";
  }
}
class Ai extends FakeMessage {
  readonly usage_metadata = { input_tokens: 1_000, output_tokens: 20, total_tokens: 1_020 };
  getType(): string {
    return "ai";
  }
}

const long = (name: string): string => `${name} ${"the clerk writes about tides and ropes ".repeat(60)}`;
const history = (): FakeMessage[] => [
  ...Array.from({ length: 10 }, (_, index) => [
    new Human({ id: `h${index}`, content: long(`ask ${index}`) }),
    new Ai({ id: `a${index}`, content: long(`answer ${index}`) }),
  ]).flat(),
  new Human({ id: "now", content: "and now?" }),
];

const createManager = (): CompactManager =>
  new CompactManager(
    { model: "gpt-4o", maxContextTokens: 8_000, policy: { keepRecentTurns: 2 } },
    { storage: createMemoryDriver(), onWarning: () => undefined },
  );

describe("compactMiddleware", () => {
  it("sends a summary of the list's own class and the given messages", async () => {
    const { wrapModelCall, ...others } = compactMiddleware({ manager: createManager() });
    expect(others).toEqual({ name: "compact" });
    const messages = history();
    const request = { messages: messages as unknown[], systemMessage: { text: "Be brief." } };
    const sent = await wrapModelCall(request, (given) => given.messages);
    expect(sent[0]).toBeInstanceOf(Human);
    expect(sent[0]).toMatchObject({ additional_kwargs: { lc_source: "summarization" } });
    expect(sent.slice(1).every((message) => messages.includes(message as FakeMessage))).toBe(true);
    expect(messages).toHaveLength(21);
  });

  it("with `persist` writes the state and leaves the request alone", async () => {
    const manager = createManager();
    const { wrapModelCall, beforeModel } = compactMiddleware({ manager, persist: true });
    const runtime = { configurable: { thread_id: "t" } };
    const request = { messages: history() as unknown[], runtime };
    expect(await wrapModelCall(request, (given) => given)).toBe(request);
    const update = await beforeModel?.({ messages: request.messages }, runtime);
    expect(update?.messages[0]).toEqual({ type: "remove", id: "__remove_all__" });
    expect(update?.messages.length).toBeLessThan(21);
    expect(manager.getState("t").summaryCount).toBe(1);
    expect(
      await beforeModel?.({ messages: [new Human({ id: "x", content: "short" })] }, runtime),
    ).toBeUndefined();
  });

  it("counts tools by name, description and schema, whatever the schema is made of", () => {
    const made = { toJSONSchema: () => ({ type: "object", properties: { path: {} } }) };
    const unwilling = {
      toJSONSchema: () => {
        throw new Error("no counterpart");
      },
      shape: { path: { description: "Where." }, depth: {} },
    };
    const named = { name: "read", description: "Reads." };
    const hosted = { type: "web_search" };
    expect(
      toolsOf({ messages: [], tools: [hosted, { ...named, schema: made }, { ...named, schema: unwilling }] }),
    ).toEqual([
      hosted,
      { ...named, parameters: { type: "object", properties: { path: {} } } },
      {
        ...named,
        parameters: { type: "object", properties: { path: { description: "Where." }, depth: {} } },
      },
    ]);
    expect(toolsOf({ messages: [], tools: [{ ...named, schema: { type: "object" } }] })).toEqual([
      { ...named, parameters: { type: "object" } },
    ]);
  });
});
