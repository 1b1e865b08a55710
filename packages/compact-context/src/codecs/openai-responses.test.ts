import { describe, expect, it } from "vitest";
import { compact, countTokens } from "../compact.ts";
import { groupUnits } from "../core/units.ts";
import { lint } from "../lint/index.ts";
import { anthropicCodec } from "./anthropic-gemini.ts";
import { openaiResponsesCodec as codec, openaiAgentsCodec } from "./items.ts";

describe("openai-responses", () => {
  const list = [
    { role: "user", content: "plain" },
    {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "so" }],
      encrypted_content: "1234",
    },
    { type: "custom_tool_call", call_id: "c1", name: "apply_patch", input: "*** Begin", status: "completed" },
    { type: "custom_tool_call_output", call_id: "c1", output: "Done" },
    { type: "local_shell_call", id: "ls_1", call_id: "c2", action: { command: ["ls"] }, status: "completed" },
    { type: "local_shell_call_output", call_id: "c2", output: "a.ts" },
    { type: "web_search_call", id: "ws_1", status: "completed", action: { query: "x" } },
    { type: "mcp_call", id: "mcp_1", name: "ask", server_label: "s", arguments: "{}", output: "yes" },
    {
      type: "function_call_output",
      call_id: "c3",
      output: [{ type: "input_image", image_url: "data:image/png;base64,AAAA" }],
    },
    { type: "compaction", id: "cmp_1", encrypted_content: "123456" },
    { type: "item_from_the_future", id: "x_1", payload: 1 },
  ];

  it("keeps a program, the calls it makes and its output together, its code unchanged", () => {
    const program = { type: "program", id: "p", call_id: "c0", code: "f()", fingerprint: "x" };
    const nested = { type: "function_call", call_id: "c1", name: "f", arguments: "{}" };
    const messages = codec.decode([
      program,
      { ...nested, caller: { type: "program", caller_id: "c0" } },
      { type: "function_call_output", call_id: "c1", output: "1" },
      { type: "program_output", id: "o", call_id: "c0", result: "1", status: "completed" },
    ]);
    expect(groupUnits(messages)).toEqual([{ kind: "exchange", indexes: [0, 1, 2, 3], calls: 2, open: 0 }]);
    expect(messages[3]?.parts).toMatchObject([{ type: "toolResult", content: "1" }]);
    const [first] = messages;
    const parts = [{ type: "toolCall", id: "c0", name: "program", arguments: "cut" } as const];
    expect(codec.encode([{ ...first!, parts, edited: true }])).toEqual([program]);
  });

  it("keeps the shape of an output that is no text, whatever is cleared", async () => {
    const words = (name: string): string => `${name} ${"the pilot reads a chart ".repeat(40)}`;
    const shell = (id: string) => [
      { type: "shell_call", id: `sh_${id}`, call_id: id, status: "completed", action: { commands: ["ls"] } },
      {
        type: "shell_call_output",
        call_id: id,
        output: [{ stdout: words("out"), stderr: words("err"), outcome: { type: "exit", exit_code: 0 } }],
      },
    ];
    const search = (id: string | null, execution: string) => [
      {
        type: "tool_search_call",
        call_id: id,
        execution,
        status: "completed",
        arguments: { query: "charts" },
      },
      {
        type: "tool_search_output",
        call_id: id,
        execution,
        status: "completed",
        tools: [{ type: "function", name: "read", description: words("reads"), parameters: {} }],
      },
    ];
    const computer = (id: string) => [
      {
        type: "computer_call",
        id: `cu_${id}`,
        call_id: id,
        status: "completed",
        action: { type: "screenshot" },
      },
      {
        type: "computer_call_output",
        call_id: id,
        output: { type: "computer_screenshot", image_url: "data:image/png;base64,AAAA" },
      },
    ];
    const work = Array.from({ length: 12 }, (_, index) => [
      ...shell(`s${index}`),
      ...search(`t${index}`, "client"),
      ...search(null, "server"),
      ...(index < 4 ? computer(`c${index}`) : []),
    ]).flat();
    const input = [{ role: "user", content: "Survey the quay." }, ...work];
    expect(lint(input, "openai-responses")).toEqual([]);
    const { tokens } = countTokens(input, { format: "openai-responses" });
    for (const share of [0.95, 0.8, 0.6, 0.4, 0.2]) {
      const maxTokens = Math.ceil(tokens * share);
      const { messages } = await compact(input, { maxTokens, format: "openai-responses" });
      expect(lint(messages, "openai-responses")).toEqual([]);
      for (const [index, item] of messages.entries()) {
        if (!("type" in item) || (item.type as string) === "message") continue;
        expect(input).toContain(item);
        if ("tools" in item && item.execution === "server")
          expect(messages[index - 1]).toMatchObject({ type: "tool_search_call", execution: "server" });
      }
    }
  });

  it("reads every kind of item, unknown ones too", () => {
    const messages = codec.decode(list);
    expect(messages.map((message) => message.role).join(" ")).toBe(
      "user assistant assistant tool assistant tool assistant assistant tool assistant assistant",
    );
    expect(messages.map((message) => message.parts)).toMatchObject([
      [{ type: "text", text: "plain" }],
      [{ type: "reasoning", text: "so", opaqueLength: 4, signed: true }],
      [{ type: "toolCall", id: "c1", name: "apply_patch", arguments: "*** Begin" }],
      [{ type: "toolResult", id: "c1", content: "Done" }],
      [{ type: "toolCall", id: "c2", name: "local_shell", arguments: { command: ["ls"] } }],
      [{ type: "toolResult", id: "c2", content: "a.ts" }],
      [{ type: "toolCall", id: "ws_1", name: "web_search", providerExecuted: true }],
      [
        { type: "toolCall", id: "mcp_1", providerExecuted: true },
        { type: "toolResult", id: "mcp_1", content: "yes" },
      ],
      [{ type: "toolResult", id: "c3", content: [{ type: "media", mediaType: "image/png", bytes: 4 }] }],
      [{ type: "reasoning", text: "", opaqueLength: 6, signed: true }],
      [{ type: "text", text: '{"type":"item_from_the_future","id":"x_1","payload":1}' }],
    ]);
    expect(messages[4]?.id).toBe("ls_1");
    expect(codec.detect(list)).toBe(1);
  });

  it("tells calls that the server runs from those that the host answers", () => {
    const call = { type: "tool_search_call", call_id: "c1", arguments: {} };
    const served = (item: object): boolean => {
      const [part] = codec.decode([item])[0]?.parts ?? [];
      return part?.type === "toolCall" && part.providerExecuted === true;
    };
    expect([call, { ...call, execution: "server" }, { ...call, execution: "client" }].map(served)).toEqual([
      false,
      true,
      false,
    ]);
  });

  it("PRT-5 takes the ids of items whose reasoning was taken out, up to the next that is not the model's", () => {
    const [reasoning, call] = list.slice(1, 3);
    const items = [
      reasoning,
      { type: "message", id: "msg_1", role: "assistant", content: "so" },
      { ...call, id: "ctc_1" },
      list[3],
      { type: "message", id: "msg_2", role: "assistant", content: "done" },
    ];
    const [first, ...others] = codec.decode(items);
    const bare = { ...first, parts: [], edited: true } as (typeof others)[number];
    expect(codec.encode([bare, ...others])).toEqual([
      { type: "message", role: "assistant", content: "so" },
      call,
      ...items.slice(3),
    ]);
  });

  it("PRT-2 an item of another type is said by the role that it names", () => {
    const [item] = codec.decode([{ type: "additional_tools", role: "developer", tools: [] }]);
    expect(item?.role).toBe("developer");
  });

  it("gives repeated ids a suffix, and says which the caller knows", () => {
    const twice = codec.decode([list[1], list[1]]);
    expect(twice.map((message) => message.id)).toEqual(["rs_1", "rs_1-2"]);
    expect(twice[1]?.callerId).toBe("rs_1");
    expect(codec.decode([list[1]], twice)[0]?.id).toBe("rs_1-3");
  });

  it("writes an edited text where it stood: as the content, or as one of several blocks", () => {
    const [plain, listed] = codec.decode([
      list[0],
      { type: "message", role: "user", content: [{ type: "input_text", text: "one" }] },
    ]);
    const parts = [{ type: "text" as const, text: "cut" }];
    expect(codec.encode([{ ...plain!, parts, edited: true }])).toEqual([{ role: "user", content: "cut" }]);
    expect(codec.encode([{ ...listed!, parts: [...parts, ...parts], edited: true }])).toMatchObject([
      { content: [{ text: "cut" }, { text: "cut" }] },
    ]);
  });

  it("keeps text and calls of one message as several items, in order", () => {
    const messages = anthropicCodec.decode([
      {
        role: "assistant",
        content: [
          { type: "text", text: "Looking." },
          { type: "tool_use", id: "t1", name: "look", input: { n: 1 } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "ok" }] },
    ]);
    expect(codec.encode(messages)).toEqual([
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Looking." }] },
      { type: "function_call", call_id: "t1", name: "look", arguments: '{"n":1}' },
      { type: "function_call_output", call_id: "t1", output: "ok" },
    ]);
    expect(openaiAgentsCodec.encode(messages)).toEqual([
      {
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Looking." }],
      },
      { type: "function_call", callId: "t1", name: "look", status: "completed", arguments: '{"n":1}' },
      {
        type: "function_call_result",
        callId: "t1",
        name: "look",
        status: "completed",
        output: { type: "text", text: "ok" },
      },
    ]);
  });
});

describe("openai-agents", () => {
  it("reads hosted tools, images by reference and protection in providerData", () => {
    const list = [
      {
        role: "user",
        content: [{ type: "input_image", image: { id: "file-1" } }],
        providerData: { protected: true },
      },
      { type: "hosted_tool_call", id: "h1", name: "web_search_call", status: "completed", output: "found" },
      { type: "computer_call", callId: "c1", action: { type: "click" }, status: "completed" },
      {
        type: "computer_call_result",
        callId: "c1",
        output: { type: "computer_screenshot", data: "data:image/png;base64,AAAA" },
      },
    ];
    const messages = openaiAgentsCodec.decode(list);
    expect(messages[0]).toMatchObject({
      meta: { protected: true },
      parts: [{ type: "media", name: "file-1" }],
    });
    expect(messages[1]?.parts).toMatchObject([
      { type: "toolCall", id: "h1", providerExecuted: true },
      { type: "toolResult", id: "h1", content: "found" },
    ]);
    expect(messages[3]?.parts).toMatchObject([
      { type: "toolResult", id: "c1", content: [{ type: "media", mediaType: "image/png", bytes: 4 }] },
    ]);
  });
});

it("reasoning that is taken out takes the ids of what follows, but those that the provider needs", () => {
  const list = [
    { type: "message", role: "user", content: "go" },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" },
    { type: "function_call", id: "fc_1", call_id: "call_1", name: "search", arguments: "{}" },
    { type: "mcp_call", id: "mcp_1", name: "write", arguments: "{}", server_label: "files", output: "" },
    { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "x" } },
  ];
  const messages = codec.decode(list);
  const without = messages.map((message, index) =>
    index === 1 ? { ...message, parts: [], edited: true } : message,
  );
  const ids = codec.encode(without).map((item) => (item as { id?: string }).id);
  expect(ids).toEqual([undefined, undefined, "mcp_1", "ws_1"]);
});
