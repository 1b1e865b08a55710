import { messageText, resultText, toolCalls, toolResults } from "compact-context/internal/core/message";
import { findMalformations } from "compact-context/internal/lint/generic";
import { describe, expect, it } from "vitest";
import { readTranscript } from "./read.ts";
import type { Transcript } from "./transcript.ts";

const PORTS = { newId: () => "id", now: () => "2026-02-02T00:00:00.000Z" };
const rewritten = (transcript: Transcript, messages = transcript.messages): unknown =>
  JSON.parse([...transcript.write({ messages, tokensBefore: 1 }, PORTS).chunks].join(""));

const CHAT = [
  { role: "user", content: "book it" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c1", type: "function", function: { name: "book", arguments: "{}" } }],
  },
  { role: "tool", tool_call_id: "c1", content: "booked" },
];

describe("tau-bench", () => {
  it("is read from one run and from a list of runs, of which the others are left as they are", async () => {
    const run = { task_id: 1, reward: 0, traj: CHAT };
    for (const value of [run, [run, { ...run, task_id: 2 }]]) {
      const transcript = await readTranscript(JSON.stringify(value));
      expect(transcript.format).toBe("tau-bench");
      expect(transcript.messages).toHaveLength(3);
      expect(rewritten(transcript)).toEqual(value);
      expect(transcript.leftOut).toEqual(Array.isArray(value) ? { "other run": 1 } : {});
    }
  });
});

describe("tau2-bench", () => {
  const run = {
    task_id: "1",
    reward_info: {},
    policy: "be polite",
    messages: [
      { role: "user", content: "my phone", tool_calls: null },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "x", name: "look", arguments: { a: 1 }, requestor: "assistant" }],
      },
      { id: "x", role: "tool", content: "found", requestor: "assistant", error: false },
      {
        role: "user",
        content: null,
        tool_calls: [{ id: "x", name: "toggle", arguments: {}, requestor: "user" }],
      },
      { id: "x", role: "tool", content: "toggled", requestor: "user", error: false },
    ],
  };

  it("keeps the simulated user's tools apart from the agent's, even under one id", async () => {
    const transcript = await readTranscript(JSON.stringify(run));
    expect(transcript.messages.flatMap(toolCalls).map((call) => call.name)).toEqual(["look"]);
    expect(transcript.messages.flatMap(toolResults).map(resultText)).toEqual(["found"]);
    expect(transcript.messages.slice(3).map((message) => message.role)).toEqual(["user", "user"]);
    expect(messageText(transcript.messages[3]!)).toContain("toggle");
    expect(findMalformations(transcript.messages)).toEqual([]);
    expect(transcript.system).toBe("be polite");
    expect(rewritten(transcript)).toEqual(run);
  });

  it("is read from a file of simulations", async () => {
    const { policy, ...simulation } = run;
    const value = {
      info: { environment_info: { policy } },
      tasks: [],
      simulations: [simulation, simulation],
    };
    const transcript = await readTranscript(JSON.stringify(value));
    expect(transcript).toMatchObject({
      format: "tau2-bench",
      system: "be polite",
      leftOut: { "other run": 1 },
    });
    expect(rewritten(transcript)).toEqual(value);
  });
});

describe("AgentDojo", () => {
  it("reads calls without an id and errors beside the content", async () => {
    const value = {
      suite_name: "bank",
      user_task_id: "user_task_0",
      messages: [
        { role: "user", content: "pay" },
        { role: "assistant", content: "", tool_calls: [{ function: "pay", args: { to: "x" }, id: null }] },
        {
          role: "tool",
          content: "",
          tool_call_id: null,
          tool_call: { function: "pay" },
          error: "ValueError: no",
        },
      ],
    };
    const transcript = await readTranscript(JSON.stringify(value));
    expect(transcript.format).toBe("agentdojo");
    const [call] = transcript.messages.flatMap(toolCalls);
    const [result] = transcript.messages.flatMap(toolResults);
    expect(call?.name).toBe("pay");
    expect(result).toMatchObject({ id: call?.id, content: "ValueError: no", isError: true });
    expect(rewritten(transcript)).toEqual(value);
  });
});

describe("Inspect logs", () => {
  const value = {
    eval: { model: "openai/gpt-4o" },
    samples: [
      {
        id: 1,
        attachments: { abc: "a long page", img: "data:image/png;base64,AAAA" },
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "attachment://abc" },
              { type: "image", image: "attachment://img", detail: "low" },
            ],
          },
          {
            role: "assistant",
            content: [
              { type: "reasoning", reasoning: "hm" },
              { type: "text", text: "so" },
            ],
            tool_calls: [{ id: "c", function: "go", arguments: { to: "attachment://gone" } }],
          },
          {
            role: "tool",
            content: "",
            tool_call_id: "c",
            function: "go",
            error: { type: "timeout", message: "too slow" },
          },
        ],
      },
      { id: 2, messages: [] },
    ],
  };

  it("are read with their attachments in place and written with the references", async () => {
    const transcript = await readTranscript(JSON.stringify(value));
    expect(messageText(transcript.messages[0]!)).toBe("a long page");
    expect(transcript.messages[0]?.parts[1]).toMatchObject({ type: "media", mediaType: "image/png" });
    expect(transcript.messages[1]?.parts.map((part) => part.type)).toEqual(["reasoning", "text", "toolCall"]);
    expect(transcript.messages[2]?.parts[0]).toMatchObject({ id: "c", content: "too slow", isError: true });
    expect(transcript).toMatchObject({
      format: "inspect-ai",
      model: "openai/gpt-4o",
      leftOut: { "other sample": 1 },
    });
    expect(rewritten(transcript)).toEqual(value);
  });
});

describe("OpenHands logs", () => {
  const answer = { role: "assistant", content: "done" };
  const value = {
    messages: CHAT,
    tools: [{ type: "function" }],
    response: {
      model: "m",
      choices: [{ message: answer }],
      usage: { prompt_tokens: 9, completion_tokens: 1 },
    },
  };

  it("are read with the response as last message", async () => {
    const transcript = await readTranscript(JSON.stringify(value));
    expect(transcript.messages).toHaveLength(4);
    expect(transcript.usage).toEqual([expect.objectContaining({ index: 3, promptTokens: 9 })]);
    expect(transcript.tools).toHaveLength(1);
    expect(rewritten(transcript)).toEqual(value);
  });

  it("lose the response when it is not kept", async () => {
    const transcript = await readTranscript(JSON.stringify(value));
    const again = rewritten(transcript, transcript.messages.slice(0, 1));
    expect(again).toMatchObject({ messages: CHAT.slice(0, 1), response: { choices: [] } });
  });
});

describe("Cline sessions", () => {
  it("show attached files as text and are written with the file block", async () => {
    const value = {
      agent: "lead",
      sessionId: "s",
      system_prompt: "You are Cline.",
      messages: [
        {
          id: "m1",
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "file", path: "a.ts", content: "let a" },
          ],
          ts: 0,
        },
        {
          id: "m2",
          role: "assistant",
          content: [{ type: "text", text: "seen" }],
          metrics: { inputTokens: 7, outputTokens: 2, cacheReadTokens: 5, cost: 0.25 },
          modelInfo: { id: "claude" },
        },
      ],
    };
    const transcript = await readTranscript(JSON.stringify(value));
    expect(messageText(transcript.messages[0]!)).toContain("let a");
    expect(transcript).toMatchObject({
      format: "cline",
      list: "anthropic",
      system: "You are Cline.",
      model: "claude",
    });
    expect(transcript.messages[0]?.meta?.timestamp).toBe("1970-01-01T00:00:00.000Z");
    expect(transcript.usage[0]).toMatchObject({ index: 1, promptTokens: 7, dollars: 0.25 });
    expect(rewritten(transcript)).toEqual(value);
  });
});

describe("LangGraph recordings", () => {
  const message = (kind: string, kwargs: object): object => ({
    lc: 1,
    type: "constructor",
    id: ["langchain_core", "messages", kind],
    kwargs,
  });
  const human = message("HumanMessage", { id: "1", content: "hi" });
  const ai = message("AIMessage", {
    id: "2",
    content: "hello",
    usage_metadata: { input_tokens: 3, output_tokens: 1 },
  });

  it("give the longest of named snapshots, or the one that was compacted", async () => {
    const value = { SHORT: [human], LONG: [human, ai, human], OTHER: [human, ai] };
    const transcript = await readTranscript(JSON.stringify(value));
    expect(transcript.messages.map(messageText)).toEqual(["hi", "hello", "hi"]);
    expect(transcript.usage[0]).toMatchObject({ index: 1, promptTokens: 3 });
    expect(rewritten(transcript)).toEqual(value);
    const summary = {
      id: "s",
      role: "assistant" as const,
      parts: [{ type: "text" as const, text: "<COMPACT-SUMMARY v1>\nx" }],
    };
    const again = await readTranscript(
      JSON.stringify(rewritten(transcript, [transcript.messages[0]!, summary])),
    );
    expect(again.messages.map(messageText)).toEqual(["hi", "<COMPACT-SUMMARY v1>\nx"]);
  });

  it("give the last full values of a stream", async () => {
    const value = [
      ["values", { messages: [human] }],
      ["updates", { agent: {} }],
      ["values", { messages: [human, ai], step: 2 }],
    ];
    const transcript = await readTranscript(JSON.stringify(value));
    expect(transcript.format).toBe("langchain");
    expect(transcript.messages).toHaveLength(2);
    expect(rewritten(transcript)).toEqual(value);
  });

  it("join the chunks of a message stream", async () => {
    const chunk = (content: string, calls: object[]): object =>
      message("AIMessageChunk", { id: "2", content, tool_call_chunks: calls, tool_calls: [] });
    const events = [
      [chunk("look", [{ index: 0, id: "c", name: "go", args: '{"a"' }]), {}],
      [chunk("ing", [{ index: 0, args: ":1}" }]), {}],
    ];
    const transcript = await readTranscript(JSON.stringify(events));
    expect(transcript.messages.map(messageText)).toEqual(["looking"]);
    expect(transcript.messages.flatMap(toolCalls)).toMatchObject([
      { id: "c", name: "go", arguments: { a: 1 } },
    ]);
  });
});
