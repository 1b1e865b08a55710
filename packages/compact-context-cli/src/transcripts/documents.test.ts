import type { Message } from "compact-context";
import { messageText, resultText, toolCalls, toolResults } from "compact-context/internal/core/message";
import { findMalformations } from "compact-context/internal/lint/generic";
import { describe, expect, it } from "vitest";
import { readTranscript } from "./read.ts";
import type { Transcript } from "./transcript.ts";

const SUMMARY: Message = {
  id: "summary",
  role: "assistant",
  parts: [{ type: "text", text: "<COMPACT-SUMMARY v1>\nso far" }],
  meta: { summaryVersion: 1 },
};

function rewrite(transcript: Transcript, messages: readonly Message[]): string {
  const written = transcript.write(
    { messages, tokensBefore: 2 },
    { newId: () => "new-id", now: () => "2026-02-02T00:00:00.000Z" },
  );
  expect(written.mode).toBe("replace");
  return [...written.chunks].join("");
}

/** The messages with every tool result cleared. */
function cleared(messages: readonly Message[]): Message[] {
  return messages.map((message) => {
    if (toolResults(message).length === 0) return message;
    const parts = message.parts.map((part) =>
      part.type === "toolResult" ? { ...part, content: "[cleared]" } : part,
    );
    return { ...message, parts, edited: true };
  });
}

/** The messages without this call and its result. */
function withoutCall(messages: readonly Message[], id: string): Message[] {
  return messages.flatMap((message) => {
    const parts = message.parts.filter((part) => !("id" in part && part.id === id));
    if (parts.length === message.parts.length) return [message];
    return parts.length === 0 ? [] : [{ ...message, parts, edited: true }];
  });
}

const results = (transcript: Transcript): string[] =>
  transcript.messages.flatMap(toolResults).map(resultText);
const calls = (transcript: Transcript): string[] =>
  transcript.messages.flatMap(toolCalls).map((call) => call.name);
const roles = (transcript: Transcript): string[] => transcript.messages.map((message) => message.role);

const opencode = {
  info: { id: "ses_1", title: "a title", directory: "/work" },
  messages: [
    {
      info: { id: "msg_1", sessionID: "ses_1", role: "user", time: { created: 1 } },
      parts: [{ type: "text", text: "fix it" }],
    },
    {
      info: {
        id: "msg_2",
        sessionID: "ses_1",
        role: "assistant",
        modelID: "gpt",
        time: { created: 1e300 },
        cost: 3,
        tokens: { total: 11, input: 5, output: 2, reasoning: 1, cache: { read: 4, write: 0 } },
      },
      parts: [
        { type: "step-start" },
        { type: "reasoning", text: "hm", metadata: { openai: { reasoningEncryptedContent: "abcd" } } },
        {
          type: "tool",
          callID: "REDACTED",
          tool: "read",
          state: { status: "completed", input: { a: 1 }, output: "one" },
        },
        {
          type: "tool",
          callID: "REDACTED",
          tool: "grep",
          state: { status: "error", input: {}, error: "two" },
        },
        { type: "tool", callID: "c3", tool: "bash", state: { status: "running", input: {} } },
        { type: "text", text: "done" },
      ],
    },
  ],
};

describe("OpenCode exports", () => {
  it("hold a call and its result in one part, and ids can be blotted out", async () => {
    const transcript = await readTranscript(JSON.stringify(opencode));
    expect(roles(transcript)).toEqual(["user", "assistant", "tool"]);
    expect(calls(transcript)).toEqual(["read", "grep", "bash"]);
    expect(results(transcript)).toEqual(["one", "two"]);
    expect(transcript.messages[2]?.parts.map((part) => "isError" in part)).toEqual([false, true]);
    expect(findMalformations(transcript.messages).map((fault) => fault.kind)).toEqual([]);
    expect(transcript.usage[0]).toMatchObject({ index: 1, promptTokens: 9, dollars: 3 });
  });

  it("are written with cleared outputs, dropped calls and a summary that has a place of its own", async () => {
    const transcript = await readTranscript(JSON.stringify(opencode));
    const [first, ...rest] = withoutCall(cleared(transcript.messages), "REDACTED-2");
    const again = await readTranscript(rewrite(transcript, [first!, SUMMARY, ...rest]));
    expect(calls(again)).toEqual(["read", "bash"]);
    expect(results(again)).toEqual(["[cleared]"]);
    expect(again.messages[1]?.native).toMatchObject({
      info: {
        id: "msg_new-id",
        role: "assistant",
        sessionID: "ses_1",
        modelID: "gpt",
        cost: 0,
        tokens: { input: 0 },
      },
      parts: [{ type: "text", messageID: "msg_new-id" }],
    });
    expect(messageText(again.messages.at(-2)!)).toBe("done");
  });

  it("are written with excerpts and pictures where they were, shortened or left out", async () => {
    const excerpt = (value: string) => ({
      type: "file",
      mime: "text/plain",
      source: { text: { value, start: 1 } },
    });
    const picture = { type: "file", mime: "image/png", url: "data:image/png;base64,AAAA", id: "prt_1" };
    const parts = [
      { type: "text", text: "" },
      excerpt("let a"),
      { type: "text", text: "see" },
      picture,
      { type: "text", text: "and this" },
    ];
    const asked = { info: { id: "msg_1", role: "user" }, parts };
    const transcript = await readTranscript(JSON.stringify({ ...opencode, messages: [asked] }));
    const [message] = transcript.messages;
    const writtenParts = (changed: Message["parts"]): unknown => {
      const text = rewrite(transcript, [{ ...message!, parts: changed, edited: true }]);
      return (JSON.parse(text) as { messages: { parts: unknown }[] }).messages[0]?.parts;
    };
    expect(writtenParts(message!.parts)).toEqual(parts);
    const short = message!.parts.map((part, index) =>
      index === 0 || part.type === "media" ? { type: "text" as const, text: `short ${index}` } : part,
    );
    expect(writtenParts(short)).toEqual([
      parts[0],
      excerpt("short 0"),
      parts[2],
      { id: "prt_new-id", messageID: "msg_1", type: "text", text: "short 2" },
      parts[4],
    ]);
  });

  it("go on after a summary of OpenCode's own", async () => {
    const messages = [
      ...opencode.messages,
      { info: { id: "msg_3", role: "user" }, parts: [{ type: "compaction", auto: true }] },
      {
        info: { id: "msg_4", role: "assistant", summary: true, finish: "stop" },
        parts: [{ type: "text", text: "so far" }],
      },
      { info: { id: "msg_5", role: "user" }, parts: [{ type: "text", text: "go on" }] },
    ];
    const transcript = await readTranscript(JSON.stringify({ ...opencode, messages }));
    expect(transcript.messages.map(messageText)).toEqual(["", "so far", "go on"]);
    expect(transcript.compactions).toEqual([{ at: 3, kind: "summary" }]);
    expect(transcript.segments[1]?.carried).toBe(2);
    expect(transcript.usage[0]).toMatchObject({ segment: 0, index: 1 });
  });
});

describe("Gemini CLI chats", () => {
  const chat = {
    sessionId: "s",
    projectHash: "h",
    messages: [
      { id: "1", timestamp: "t", type: "user", content: "hello" },
      { id: "2", type: "info", content: "update available" },
      {
        id: "3",
        type: "gemini",
        content: "looking",
        thoughts: [{ subject: "A", description: "B" }],
        tokens: { input: 10, output: 2, cached: 3, thoughts: 1, tool: 0, total: 13 },
        toolCalls: [
          {
            id: "c1",
            name: "ls",
            args: {},
            status: "success",
            resultDisplay: "long",
            result: [{ functionResponse: { id: "c1", name: "ls", response: { output: "files" } } }],
          },
          {
            id: "c2",
            name: "rm",
            args: {},
            status: "error",
            result: [{ functionResponse: { response: { error: "denied" } } }],
          },
        ],
      },
    ],
  };

  it("give calls their results and leave out the program's notices", async () => {
    const transcript = await readTranscript(JSON.stringify(chat));
    expect(roles(transcript)).toEqual(["user", "assistant", "tool"]);
    expect(results(transcript)).toEqual(["files", "denied"]);
    expect(transcript.leftOut).toEqual({ "notice info": 1 });
    expect(transcript.usage[0]).toMatchObject({ promptTokens: 10 });
  });

  it("pair calls without an id with their own results", async () => {
    const call = (output: string) => ({
      name: "ls",
      args: {},
      result: [{ functionResponse: { response: { output } } }],
    });
    const messages = [{ id: "1", type: "gemini", content: "", toolCalls: [call("one"), call("two")] }];
    const transcript = await readTranscript(JSON.stringify({ ...chat, messages }));
    expect(findMalformations(transcript.messages)).toEqual([]);
    const [answer, found] = transcript.messages;
    const parts = found!.parts.map((part, index) =>
      part.type === "toolResult" && index === 0 ? { ...part, content: "[cleared]" } : part,
    );
    const again = await readTranscript(rewrite(transcript, [answer!, { ...found!, parts, edited: true }]));
    expect(results(again)).toEqual(["[cleared]", "two"]);
  });

  it("are written with cleared outputs and with the notices that follow what is kept", async () => {
    const transcript = await readTranscript(JSON.stringify(chat));
    const [first, ...rest] = withoutCall(cleared(transcript.messages), "c2");
    const text = rewrite(transcript, [first!, SUMMARY, ...rest]);
    expect(text).not.toContain('"long"');
    const again = await readTranscript(text);
    expect(results(again)).toEqual(["[cleared]"]);
    expect(again.leftOut).toEqual({ "notice info": 1 });
    expect(again.messages[1]?.native).toEqual({
      id: "new-id",
      timestamp: "2026-02-02T00:00:00.000Z",
      type: "gemini",
      content: "<COMPACT-SUMMARY v1>\nso far",
    });
  });
});

describe("Gemini CLI chats of one record per change", () => {
  const header = { sessionId: "s", projectHash: "h", startTime: "t", lastUpdated: "t", kind: "main" };
  const response = (id: string, output: string) => ({
    functionResponse: { id, name: "ls", response: { output } },
  });
  const user = (id: string, ...content: object[]) => ({ id, timestamp: "t", type: "user", content });
  const answer = (id: string, content: unknown, more: object = {}) => ({
    id,
    timestamp: "t",
    type: "gemini",
    content,
    ...more,
  });
  const looking = answer("b", "looking", { tokens: { input: 10, output: 2, tool: 0, thoughts: 1 } });
  const call = { id: "c1", name: "ls", args: {}, status: "success", result: [response("c1", "files")] };
  const session = [
    header,
    { $set: { messages: [user("a", { text: "hello" })] } },
    looking,
    { $set: { lastUpdated: "u", summary: "the title" } },
    { ...looking, toolCalls: [call] },
    user("d", response("c1", "files")),
    answer("e", "done"),
  ];
  const lines = (...records: readonly object[]): string =>
    records.map((record) => `${JSON.stringify(record)}\n`).join("");

  it("give each call its result once, with what was changed later", async () => {
    const transcript = await readTranscript(lines(...session));
    expect(transcript).toMatchObject({ format: "gemini-cli", sessionId: "s", title: "the title" });
    expect(transcript.messages.map(messageText)).toEqual(["hello", "looking", "", "done"]);
    expect(roles(transcript)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(results(transcript)).toEqual(["files"]);
    expect(transcript.usage[0]).toMatchObject({ promptTokens: 10 });
  });

  it("are without what was rewound", async () => {
    const rewound = await readTranscript(lines(...session, { $rewindTo: "b" }, user("f", { text: "other" })));
    expect(rewound.messages.map(messageText)).toEqual(["hello", "other"]);
    const restarted = await readTranscript(lines(...session, { $rewindTo: "?" }, user("f", { text: "new" })));
    expect(restarted.messages.map(messageText)).toEqual(["new"]);
  });

  it("are read after a resume, whose answers hold their thoughts and calls as parts", async () => {
    const functionCall = { id: "c1", name: "ls", args: {} };
    const messages = [
      user("a", { text: "hello" }),
      answer("b", [{ text: "hm", thought: true }, { text: "looking" }, { functionCall }]),
      user("b", response("c1", "files")),
      user("d", response("c1", "files"), { text: "and" }),
    ];
    const transcript = await readTranscript(lines(...session, { $set: { messages } }));
    expect(transcript.messages.map(messageText)).toEqual(["hello", "looking", "", "and"]);
    expect(transcript.messages[1]?.parts[0]).toEqual({ type: "reasoning", text: "hm" });
    expect(results(transcript)).toEqual(["files"]);
    expect(findMalformations(transcript.messages)).toEqual([]);
  });

  it("are written as a new file with a record for each message", async () => {
    const transcript = await readTranscript(lines(...session));
    const [first, ...rest] = cleared(transcript.messages);
    const text = rewrite(transcript, [first!, SUMMARY, ...rest]);
    expect(text.split("\n")).toHaveLength(6);
    const again = await readTranscript(text);
    expect(again.messages.map(messageText)).toEqual([
      "hello",
      "<COMPACT-SUMMARY v1>\nso far",
      "looking",
      "",
      "done",
    ]);
    expect(results(again)).toEqual(["[cleared]"]);
  });
});

describe("SWE-agent trajectories", () => {
  const traj = {
    trajectory: [],
    history: [
      { role: "system", content: "rules", agent: "main" },
      { role: "user", content: "an example", is_demo: true },
      { role: "user", content: "the issue" },
      { role: "assistant", content: "I look\n```\nls\n```", thought: "I look", action: "ls" },
      { role: "user", content: "a.py" },
      {
        role: "assistant",
        content: "",
        thought: "again",
        action: "x",
        tool_calls: [{ id: "t1", type: "function", function: { name: "bash", arguments: "{}" } }],
      },
      { role: "tool", content: [{ type: "text", text: "out" }], tool_call_ids: ["t1"] },
    ],
  };

  it("pair actions with the observations after them and leave out demonstrations", async () => {
    const transcript = await readTranscript(JSON.stringify(traj));
    expect(roles(transcript)).toEqual(["system", "user", "assistant", "tool", "assistant", "tool"]);
    expect(calls(transcript)).toEqual(["shell", "bash"]);
    expect(results(transcript)).toEqual(["a.py", "out"]);
    expect(findMalformations(transcript.messages)).toEqual([]);
    expect(transcript.leftOut).toEqual({ demonstration: 1 });
  });

  it("are written with the demonstrations where they were and changed entries changed", async () => {
    const transcript = await readTranscript(JSON.stringify(traj));
    const [system, first, ...rest] = cleared(transcript.messages);
    const text = rewrite(transcript, [system!, first!, SUMMARY, ...rest]);
    const { history } = JSON.parse(text) as { history: unknown[] };
    expect(history[1]).toEqual(traj.history[1]);
    expect(history.slice(3)).toEqual([
      {
        role: "assistant",
        content: SUMMARY.parts[0]?.type === "text" ? SUMMARY.parts[0].text : "",
        agent: "main",
        message_type: "action",
      },
      traj.history[3],
      { role: "user", content: "[cleared]" },
      traj.history[5],
      { role: "tool", content: "[cleared]", tool_call_ids: ["t1"] },
    ]);
    const thoughts = rest.map((message) =>
      message.role === "assistant"
        ? { ...message, edited: true, parts: message.parts.filter((part) => part.type === "text") }
        : message,
    );
    const spoken = JSON.parse(rewrite(transcript, [system!, ...thoughts])) as { history: object[] };
    expect(spoken.history[2]).toEqual({
      role: "assistant",
      content: "I look",
      thought: "I look",
      action: "",
    });
    expect(spoken.history[4]).toMatchObject({ tool_calls: [] });
  });
});

describe("Moatless trees", () => {
  const tree = {
    agent: { system_prompt: "rules", completion: { model: "claude" } },
    nodes: [
      { node_id: 0, parent_id: null, message: "the issue" },
      {
        node_id: 1,
        parent_id: 0,
        action: { scratch_pad: "a wrong way", path: "x", action_args_class: "moatless.ViewArgs" },
        observation: { message: "nothing" },
      },
      {
        node_id: 2,
        parent_id: 0,
        action: { scratch_pad: "the right way", path: "y", action_args_class: "moatless.ViewArgs" },
        observation: { message: "found", expect_correction: true },
        completions: {
          build_action: { usage: { prompt_tokens: 10, completion_tokens: 5, cached_tokens: 90 } },
        },
      },
    ],
  };

  it("are read along the newest branch", async () => {
    const transcript = await readTranscript(JSON.stringify(tree));
    expect(transcript.messages.map(messageText)).toEqual(["the issue", "the right way", ""]);
    expect(transcript.messages[2]?.parts).toEqual([
      { type: "toolResult", id: "node-2", content: "found", isError: true },
    ]);
    expect(transcript.leftOut).toEqual({ "abandoned branch": 1 });
    expect(transcript.usage[0]).toMatchObject({ index: 1, promptTokens: 100 });
    expect(transcript).toMatchObject({ system: "rules", model: "claude" });
  });

  it("give new nodes an id of their own, whatever the others are called", async () => {
    const nodes = [
      { node_id: "root", parent_id: null, message: "m" },
      { ...tree.nodes[1], parent_id: "root" },
    ];
    const transcript = await readTranscript(JSON.stringify({ ...tree, nodes }));
    const written = JSON.parse(rewrite(transcript, [...transcript.messages, SUMMARY])) as typeof tree;
    expect(written.nodes.map((node) => node.node_id)).toEqual(["root", 1, 2]);
  });

  it("are written as a chain", async () => {
    const transcript = await readTranscript(JSON.stringify(tree));
    const [first, ...rest] = cleared(transcript.messages);
    const { nodes } = JSON.parse(rewrite(transcript, [first!, SUMMARY, ...rest])) as {
      nodes: { node_id: number; parent_id: number | null }[];
    };
    expect(nodes.map((node) => [node.node_id, node.parent_id])).toEqual([
      [0, null],
      [3, 0],
      [2, 3],
    ]);
    expect(nodes[2]).toMatchObject({ observation: { message: "[cleared]" }, action: { path: "y" } });
  });
});

describe("Who&When histories", () => {
  const told = {
    question: "how many?",
    mistake_agent: "Expert",
    history: [
      { content: "let us count", name: "Expert", role: "assistant" },
      { content: "exitcode: 0", name: "Computer_terminal", role: "user" },
    ],
  };

  it("begin with the question, and what executors say stays under their name", async () => {
    const transcript = await readTranscript(JSON.stringify(told));
    expect(transcript.messages.map(messageText)).toEqual([
      "how many?",
      "let us count",
      "[Computer_terminal]\nexitcode: 0",
    ]);
    expect(findMalformations(transcript.messages)).toEqual([]);
  });

  it("are written with changed entries changed", async () => {
    const transcript = await readTranscript(JSON.stringify(told));
    const [question, , last] = transcript.messages;
    const edited: Message = {
      ...last!,
      parts: [{ type: "text", text: "[Computer_terminal]\n[cleared]" }],
      edited: true,
    };
    const { history } = JSON.parse(rewrite(transcript, [question!, SUMMARY, edited])) as {
      history: unknown[];
    };
    expect(history).toEqual([
      { content: "<COMPACT-SUMMARY v1>\nso far", role: "assistant" },
      { content: "[cleared]", name: "Computer_terminal", role: "user" },
    ]);
  });

  it("are written with a shortened question in the question's place", async () => {
    const transcript = await readTranscript(JSON.stringify(told));
    const [question, ...rest] = transcript.messages;
    const parts = [{ type: "text" as const, text: "how …?" }];
    const text = rewrite(transcript, [{ ...question!, parts, edited: true }, ...rest]);
    expect(JSON.parse(text)).toEqual({ ...told, question: "how …?" });
  });
});

describe("Aider histories", () => {
  const text =
    "\n# aider chat started at 2026-01-01 00:00:00\n\n> Aider v1  \n\n#### fix it  \n#### now  \n\nOn it.\n\n> Applied edit\n";

  it("tell person, program and model apart", async () => {
    const transcript = await readTranscript(text);
    expect(
      transcript.messages.map((message) => [
        message.role,
        message.meta?.synthetic === true,
        messageText(message),
      ]),
    ).toEqual([
      ["user", true, "Aider v1"],
      ["user", false, "fix it  \nnow"],
      ["assistant", false, "On it."],
      ["user", true, "Applied edit"],
    ]);
    expect(transcript.title).toBe("aider chat started at 2026-01-01 00:00:00");
  });

  it("keep neighbours of one speaker apart", async () => {
    const transcript = await readTranscript(text);
    const again = await readTranscript(
      rewrite(transcript, [transcript.messages[1]!, SUMMARY, transcript.messages[2]!]),
    );
    expect(again.messages.map(messageText)).toEqual([
      "fix it  \nnow",
      "<COMPACT-SUMMARY v1>\nso far",
      "On it.",
    ]);
  });
});

describe("Copilot CLI events", () => {
  const event = (id: string, type: string, data: object): object => ({
    type,
    data,
    id,
    parentId: null,
    timestamp: "2026-01-01T00:00:00.000Z",
  });
  const text = [
    event("0", "session.start", { sessionId: "s", selectedModel: "gpt", context: { cwd: "/work" } }),
    event("1", "user.message", { content: "fix", transformedContent: "<now/> fix" }),
    event("2", "assistant.message", {
      content: "ok",
      reasoningText: "hm",
      reasoningOpaque: "abc",
      outputTokens: 4,
      toolRequests: [{ toolCallId: "c1", name: "bash", arguments: { a: 1 } }],
    }),
    event("3", "tool.execution_start", { toolCallId: "c1" }),
    event("4", "tool.execution_complete", {
      toolCallId: "c1",
      success: true,
      result: { content: "out", detailedContent: "more" },
    }),
    event("5", "system.message", { content: "be brief" }),
  ]
    .map((one) => `${JSON.stringify(one)}\n`)
    .join("");

  it("are read as what the model was sent", async () => {
    const transcript = await readTranscript(text);
    expect(transcript.messages.map(messageText)).toEqual(["<now/> fix", "ok", "", "be brief"]);
    expect(results(transcript)).toEqual(["out"]);
    expect(transcript).toMatchObject({
      sessionId: "s",
      model: "gpt",
      cwd: "/work",
      leftOut: { "session.start": 1, "tool.execution_start": 1 },
    });
  });

  it("are written as a chain of the events that carry context", async () => {
    const transcript = await readTranscript(text);
    const [first, ...rest] = cleared(transcript.messages);
    const again = await readTranscript(rewrite(transcript, [{ ...first!, edited: true }, SUMMARY, ...rest]));
    expect(again.messages.map(messageText)).toEqual([
      "<now/> fix",
      "<COMPACT-SUMMARY v1>\nso far",
      "ok",
      "",
      "be brief",
    ]);
    expect(results(again)).toEqual(["[cleared]"]);
    expect(again.sessionId).toBe("s");
    const plain = rest.map((message) =>
      message.role === "assistant"
        ? { ...message, parts: [{ type: "text" as const, text: "ok" }], edited: true }
        : message,
    );
    expect(rewrite(transcript, plain)).not.toContain("reasoningOpaque");
  });
});
