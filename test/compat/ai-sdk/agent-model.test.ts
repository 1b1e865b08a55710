import { describe, expect, it } from "vitest";
import { modelFromAiSdk } from "../../../packages/compact-context/src/adapters/ai-sdk/index.ts";
import { type AgentEvent, createAgent } from "../../../packages/compact-context/src/agent/index.ts";
import { createMemoryDriver } from "../../../packages/compact-context/src/storage/memory/driver.ts";

// biome-ignore lint/suspicious/noExplicitAny: two majors of the SDK are loaded at run time
type Loose = any;

async function load(name: string, mock: string): Promise<Loose | undefined> {
  try {
    return (await import(`${name}/test`))[mock];
  } catch {
    return undefined;
  }
}

const usage = { inputTokens: { total: 120, cacheRead: 100 }, outputTokens: { total: 8 } };

function streamOf(parts: readonly object[]): ReadableStream<object> {
  return new ReadableStream({
    start(controller) {
      for (const part of [{ type: "stream-start", warnings: [] }, ...parts]) controller.enqueue(part);
      controller.close();
    },
  });
}

const text = (words: string): object[] => [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: words },
  { type: "text-end", id: "t" },
];
const finish = (reason: string): object => ({
  type: "finish",
  finishReason: { unified: reason, raw: reason },
  usage,
});

/** Thinks, signs it, calls twice with one id, then answers. */
const STREAMS: readonly (readonly object[])[] = [
  [
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "I should look." },
    { type: "reasoning-end", id: "r", providerMetadata: { anthropic: { signature: "c2ln" } } },
    ...text("Let me see."),
    { type: "tool-call", toolCallId: "c1", toolName: "read", input: '{"path":"a"}' },
    { type: "tool-call", toolCallId: "c1", toolName: "read", input: '{"path":' },
    finish("tool-calls"),
  ],
  [...text("It says hello."), finish("stop")],
];

describe.each([
  ["ai", "MockLanguageModelV3"],
  ["ai-v7", "MockLanguageModelV4"],
])("modelFromAiSdk, %s", async (name, mock) => {
  const MockModel = await load(name, mock);

  it.skipIf(MockModel === undefined)(
    "INT-3 carries an agent: text, signed reasoning, calls, results, use",
    async () => {
      let request = 0;
      const sdkModel = new MockModel({
        provider: "anthropic.messages",
        modelId: "claude-sonnet-4-5",
        doStream: async () => {
          request += 1;
          return { stream: streamOf(STREAMS[request - 1] ?? []) };
        },
      });
      const model = modelFromAiSdk(sdkModel);
      expect(model).toMatchObject({ name: "anthropic.messages:claude-sonnet-4-5" });
      const agent = await createAgent({
        model,
        system: "Be brief.",
        managerPorts: { storage: createMemoryDriver(), onWarning: () => undefined },
        tools: [{ name: "read", description: "Reads.", schema: { type: "object" }, execute: () => "hello" }],
      });
      const events: AgentEvent[] = [];
      for await (const event of agent.send("read a")) events.push(event);
      expect(events.at(-1)).toEqual({ type: "ended", end: "answered", text: "It says hello." });
      expect(events.find((event) => event.type === "usage")).toMatchObject({
        spent: { inputTokens: 120, cachedTokens: 100, outputTokens: 8 },
      });
      const [first, second] = sdkModel.doStreamCalls;
      expect(first.prompt).toMatchObject([
        {
          role: "system",
          content: "Be brief.",
          providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
        },
        { role: "user", content: [{ type: "text", text: "read a" }] },
      ]);
      expect(first.tools[0]).toMatchObject({
        type: "function",
        name: "read",
        inputSchema: { type: "object" },
      });
      const [thought, , one, other] = second.prompt[2].content;
      expect(thought).toMatchObject({
        text: "I should look.",
        providerOptions: { anthropic: { signature: "c2ln" } },
      });
      expect([one.input, other.input]).toEqual([{ path: "a" }, { unreadable: '{"path":' }]);
      expect(new Set([one.toolCallId, other.toolCallId]).size).toBe(2);
      expect(second.prompt[3].content.map(({ output }: Loose) => output.type)).toEqual([
        "text",
        "error-text",
      ]);
      await agent.close();
    },
  );

  it.skipIf(MockModel === undefined)(
    "INT-3 hands back ids and signatures of every block where the provider put them",
    async () => {
      const item = (id: string): object => ({ providerMetadata: { openai: { itemId: id } } });
      const redacted = { anthropic: { redactedData: "x" } };
      const streams = [
        [
          { type: "reasoning-start", id: "0", providerMetadata: redacted },
          { type: "reasoning-end", id: "0" },
          { type: "reasoning-start", id: "1", ...item("rs_1") },
          { type: "reasoning-end", id: "1", ...item("rs_1") },
          { type: "text-start", id: "2", ...item("msg_1") },
          { type: "text-delta", id: "2", delta: "First " },
          { type: "text-delta", id: "2", delta: "block." },
          { type: "text-end", id: "2", ...item("msg_1") },
          ...text("Second block."),
          { type: "text-start", id: "3" },
          { type: "text-delta", id: "3", delta: "Third block." },
          { type: "text-end", id: "3", ...item("msg_3") },
          finish("stop"),
        ],
        [...text("Done."), finish("stop")],
      ];
      let request = 0;
      const sdkModel = new MockModel({
        doStream: async () => {
          request += 1;
          return { stream: streamOf(streams[request - 1] ?? []) };
        },
      });
      const agent = await createAgent({
        model: modelFromAiSdk(sdkModel),
        managerPorts: { storage: createMemoryDriver(), onWarning: () => undefined },
      });
      for (const said of ["one", "two"]) for await (const _ of agent.send(said));
      const openai = (itemId: string): object => ({ openai: { itemId } });
      expect(sdkModel.doStreamCalls[1].prompt[1].content).toEqual([
        { type: "reasoning", text: "", providerOptions: redacted },
        { type: "reasoning", text: "", providerOptions: openai("rs_1") },
        { type: "text", text: "First block.", providerOptions: openai("msg_1") },
        { type: "text", text: "Second block." },
        { type: "text", text: "Third block.", providerOptions: openai("msg_3") },
      ]);
      await agent.close();
    },
  );

  it.skipIf(MockModel === undefined)(
    "passes on what a stream reports as an error, and a stream that breaks off",
    async () => {
      const broken = [
        [...text("Half"), { type: "error", error: Object.assign(new Error("overloaded"), { status: 529 }) }],
        text("Half"),
        [...text("Whole."), finish("stop")],
      ];
      let request = 0;
      const sdkModel = new MockModel({
        doStream: async () => {
          request += 1;
          return { stream: streamOf(broken[request - 1] ?? []) };
        },
      });
      const agent = await createAgent({
        model: modelFromAiSdk(sdkModel),
        managerPorts: { storage: createMemoryDriver(), onWarning: () => undefined },
        sleep: async () => undefined,
      });
      const events: AgentEvent[] = [];
      for await (const event of agent.send("go")) events.push(event);
      expect(events.flatMap((event) => (event.type === "retry" ? [event.reason] : []))).toEqual([
        "overloaded",
        "the model's answer broke off before its end",
      ]);
      expect(events.at(-1)).toMatchObject({ end: "answered", text: "Whole." });
    },
  );
});
