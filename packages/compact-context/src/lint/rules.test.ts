import { describe, expect, it } from "vitest";
import { FORMATS } from "../codecs/formats.ts";
import type { Format } from "../core/message.ts";
import { describeRules, type LintOptions, lint, repair } from "./index.ts";

const ask = { role: "user", content: "go on" };
const said = { role: "assistant", content: "done" };

const use = (id: string) => ({ type: "tool_use", id, name: "read", input: {} });
const toolResult = (id: string, text = "ok") => ({ type: "tool_result", tool_use_id: id, content: text });
const calls = (...ids: string[]) => ({ role: "assistant", content: ids.map(use) });
const results = (...ids: string[]) => ({ role: "user", content: ids.map((id) => toolResult(id)) });

const chatCalls = (...ids: string[]) => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "read", arguments: "{}" } })),
});
const legacyCall = { role: "assistant", content: null, function_call: { name: "read", arguments: "{}" } };
const chatResult = (id: string) => ({ role: "tool", tool_call_id: id, content: "ok" });

const item = (id: string) => ({ type: "function_call", call_id: id, name: "read", arguments: "{}" });
const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "ok" });
const reasoning = (id: string) => ({ type: "reasoning", id, summary: [], encrypted_content: "gAAA" });

const model = (...names: string[]) => ({
  role: "model",
  parts: names.map((name) => ({ functionCall: { name, args: {} }, thoughtSignature: "CsQB" })),
});
const responses = (...names: string[]) => ({
  role: "user",
  parts: names.map((name) => ({ functionResponse: { name, response: { output: "ok" } } })),
});
const spoken = { role: "user", parts: [{ text: "go on" }] };

const aiCall = (id: string) => ({ type: "tool-call", toolCallId: id, toolName: "read", input: {} });
const aiResult = (id: string) => ({
  type: "tool-result",
  toolCallId: id,
  toolName: "read",
  output: { type: "text", value: "ok" },
});

/** The header of a PNG with these dimensions. */
const image = (width: number, height: number) => {
  const bytes = [...[width, height].flatMap((one) => [0, 0, one >> 8, one & 0xff])];
  const head = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52];
  const data = btoa(String.fromCharCode(...head, ...bytes, 8, 6, 0, 0, 0, 0));
  return { type: "image", source: { type: "base64", media_type: "image/png", data } };
};
const shown = (...blocks: object[]) => ({ role: "user", content: blocks });
const leftOut = (why: string) => ({ type: "text", text: `[an image was left out: ${why}]` });

const sealed = { type: "thinking", thinking: "hm", signature: "EqQB" };

interface Case {
  readonly rule: string;
  readonly format: Format;
  readonly list: readonly unknown[];
  readonly options?: LintOptions;
  /** Paths of the violations of this rule. */
  readonly at: readonly string[];
  /** The expected list after the repair. Default: the same list. */
  readonly mended?: readonly unknown[];
}

const ANSWER = "[no result was recorded: the call was interrupted]";

const aborted = '{"path":"a';
const chatCall = (args: string) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id: "a", type: "function", function: { name: "write", arguments: args } }],
});
const given = (input: unknown) => ({
  role: "assistant",
  content: [{ type: "tool_use", id: "a", name: "write", input }],
});
const geminiCall = (args: unknown) => ({
  role: "model",
  parts: [{ functionCall: { name: "read", args }, thoughtSignature: "CsQB" }],
});

const CASES: readonly Case[] = [
  {
    rule: "generic/unreadable-entry",
    format: "openai-chat",
    list: [ask, null, said],
    at: ["messages[1]"],
    mended: [ask, said],
  },
  {
    rule: "generic/unreadable-entry",
    format: "anthropic",
    list: [ask, { role: "assistant", content: [{ type: "text", text: "a" }, { type: "tool_use" }] }],
    at: ["messages[1].content[1].id"],
    mended: [ask, { role: "assistant", content: [{ type: "text", text: "a" }] }],
  },
  {
    rule: "generic/input-object",
    format: "anthropic",
    list: [ask, given(aborted), results("a")],
    at: ["messages[1].content[0]"],
    mended: [ask, given({ INVALID_JSON: aborted }), results("a")],
  },
  {
    rule: "generic/input-object",
    format: "anthropic",
    list: [ask, given('{"path":"a"}'), results("a")],
    at: ["messages[1].content[0]"],
    mended: [ask, given({ path: "a" }), results("a")],
  },
  {
    rule: "generic/input-object",
    format: "gemini",
    list: [spoken, geminiCall(aborted), responses("read")],
    at: ["messages[1].parts[0]"],
    mended: [spoken, geminiCall({ INVALID_JSON: aborted }), responses("read")],
  },
  {
    rule: "generic/arguments-json",
    format: "openai-chat",
    list: [ask, chatCall(aborted), chatResult("a"), chatCall(""), chatResult("a")],
    at: ["messages[1].tool_calls[0]"],
    mended: [
      ask,
      chatCall(JSON.stringify({ INVALID_JSON: aborted })),
      chatResult("a"),
      chatCall(""),
      chatResult("a"),
    ],
  },
  {
    rule: "generic/arguments-json",
    format: "openai-responses",
    list: [ask, { ...item("a"), arguments: aborted }, output("a")],
    at: ["messages[1]"],
    mended: [ask, { ...item("a"), arguments: JSON.stringify({ INVALID_JSON: aborted }) }, output("a")],
  },
  {
    rule: "gemini/responses-match",
    format: "gemini",
    list: [spoken, model("read", "grep"), responses("read"), responses("grep"), spoken],
    at: ["messages[3]"],
    mended: [spoken, model("read", "grep"), responses("read", "grep"), spoken],
  },
  {
    rule: "generic/unknown-role",
    format: "openai-chat",
    list: [ask, { role: "narrator", content: "meanwhile" }],
    at: ["messages[1].role"],
    mended: [ask],
  },
  {
    rule: "generic/empty-list",
    format: "gemini",
    list: [],
    at: ["messages"],
    mended: [{ role: "user", parts: [{ text: "[conversation continues]" }] }],
  },
  {
    rule: "generic/empty-list",
    format: "anthropic",
    list: [{ role: "system", content: "rules" }],
    at: ["messages"],
    mended: [
      { role: "system", content: "rules" },
      { role: "user", content: "[conversation continues]" },
    ],
  },
  {
    rule: "generic/orphan-result",
    format: "anthropic",
    list: [ask, calls("a"), results("b"), said],
    at: ["messages[2].content[0]"],
    mended: [ask, calls("a"), results("a"), said],
  },
  {
    rule: "generic/orphan-result",
    format: "openai-chat",
    list: [ask, chatCalls("a", "b"), chatResult("c"), said],
    at: ["messages[2]"],
    mended: [
      ask,
      chatCalls("a", "b"),
      { ...chatResult("a"), content: ANSWER },
      { ...chatResult("b"), content: ANSWER },
      said,
    ],
  },
  {
    rule: "generic/refused-id",
    format: "anthropic",
    list: [
      ask,
      calls("functions.read:0", "functions_read:0"),
      results("functions_read:0", "functions.read:0"),
    ],
    at: ["messages[1].content[0]", "messages[1].content[1]"],
    mended: [
      ask,
      calls("functions_read_0", "functions_read_0_2"),
      results("functions_read_0_2", "functions_read_0"),
    ],
  },
  {
    rule: "generic/refused-id",
    format: "openai-chat",
    list: [ask, chatCalls("x".repeat(41)), chatResult("x".repeat(41)), said],
    at: ["messages[1].tool_calls[0]"],
    mended: [ask, chatCalls(`${"x".repeat(31)}_sfet32yk`), chatResult(`${"x".repeat(31)}_sfet32yk`), said],
  },
  {
    rule: "generic/refused-id",
    format: "openai-responses",
    list: [
      ask,
      { ...item("c".repeat(65)), id: `fc_${"i".repeat(62)}` },
      output("c".repeat(65)),
      { type: "reasoning", id: "r".repeat(65), summary: [] },
      { ...reasoning("s".repeat(65)) },
      said,
    ],
    at: ["messages[1]", "messages[1].id", "messages[3].id", "messages[4].id"],
    mended: [
      ask,
      { ...item(`${"c".repeat(55)}_r5sj89vo`), id: `fc_${"i".repeat(52)}_t82ljtof` },
      output(`${"c".repeat(55)}_r5sj89vo`),
      { ...reasoning(`${"s".repeat(55)}_pddgl5uz`) },
      said,
    ],
  },
  {
    rule: "generic/input-object",
    format: "ai-sdk",
    list: [
      ask,
      { role: "assistant", content: [{ ...aiCall("a"), input: aborted }] },
      { role: "tool", content: [aiResult("a")] },
    ],
    at: ["messages[1].content[0]"],
    mended: [
      ask,
      { role: "assistant", content: [{ ...aiCall("a"), input: { INVALID_JSON: aborted } }] },
      { role: "tool", content: [aiResult("a")] },
    ],
  },
  {
    rule: "generic/orphan-result",
    format: "openai-responses",
    list: [ask, output("a")],
    at: ["messages[1]"],
    mended: [ask],
  },
  {
    rule: "generic/duplicate-result",
    format: "anthropic",
    list: [ask, calls("a"), results("a", "a")],
    at: ["messages[2].content[1]"],
    mended: [ask, calls("a"), results("a")],
  },
  {
    rule: "generic/duplicate-call",
    format: "openai-chat",
    list: [ask, chatCalls("a", "a"), chatResult("a")],
    at: ["messages[1].tool_calls[1]"],
    mended: [ask, chatCalls("a"), chatResult("a")],
  },
  {
    rule: "generic/result-before-call",
    format: "openai-responses",
    list: [ask, output("a"), item("a"), ask],
    at: ["messages[1]"],
    mended: [ask, item("a"), output("a"), ask],
  },
  {
    rule: "generic/dead-call",
    format: "openai-chat",
    list: [ask, chatCalls("a", "b"), chatResult("b"), said],
    at: ["messages[1].tool_calls[0]"],
    mended: [ask, chatCalls("a", "b"), chatResult("b"), { ...chatResult("a"), content: ANSWER }, said],
  },
  {
    rule: "generic/dead-call",
    format: "openai-chat",
    list: [ask, legacyCall, ask],
    at: ["messages[1].function_call"],
    mended: [ask, legacyCall, { role: "function", name: "read", content: ANSWER }, ask],
  },
  {
    rule: "generic/dead-call",
    format: "anthropic",
    list: [ask, calls("a"), ask],
    at: ["messages[1].content[0]"],
    mended: [
      ask,
      calls("a"),
      { role: "user", content: [{ ...toolResult("a", ANSWER), is_error: true }] },
      ask,
    ],
  },
  {
    rule: "generic/dead-call",
    format: "gemini",
    list: [spoken, model("read"), spoken],
    at: ["messages[1].parts[0]"],
    mended: [
      spoken,
      model("read"),
      { role: "user", parts: [{ functionResponse: { name: "read", response: { error: ANSWER } } }] },
      spoken,
    ],
  },
  {
    rule: "generic/dead-call",
    format: "openai-agents",
    list: [ask, { type: "function_call", callId: "a", name: "read", arguments: "{}" }, ask],
    at: ["messages[1]"],
    mended: [
      ask,
      { type: "function_call", callId: "a", name: "read", arguments: "{}" },
      {
        type: "function_call_result",
        callId: "a",
        name: "read",
        status: "incomplete",
        output: { type: "text", text: ANSWER },
      },
      ask,
    ],
  },
  {
    rule: "generic/dead-call",
    format: "openai-responses",
    list: [ask, { type: "computer_call", call_id: "a", action: { type: "screenshot" } }, ask],
    at: ["messages[1]"],
    mended: [ask, ask],
  },
  {
    rule: "generic/dead-call",
    format: "ai-sdk",
    list: [
      { id: "1", role: "user", parts: [{ type: "text", text: "go" }] },
      {
        id: "2",
        role: "assistant",
        parts: [
          { type: "mark-of-the-future" },
          { type: "tool-approval-log", toolCallId: "b", state: "output-available", input: {}, output: 1 },
          { type: "tool-read", toolCallId: "a", state: "input-available", input: {} },
        ],
      },
      { id: "3", role: "user", parts: [{ type: "text", text: "and?" }] },
    ],
    at: ["messages[1].parts[2]"],
    mended: [
      { id: "1", role: "user", parts: [{ type: "text", text: "go" }] },
      {
        id: "2",
        role: "assistant",
        parts: [
          { type: "mark-of-the-future" },
          { type: "tool-approval-log", toolCallId: "b", state: "output-available", input: {}, output: 1 },
          { type: "tool-read", toolCallId: "a", state: "output-error", input: {}, errorText: ANSWER },
        ],
      },
      { id: "3", role: "user", parts: [{ type: "text", text: "and?" }] },
    ],
  },
  {
    rule: "generic/dead-call",
    format: "openai-chat",
    list: [ask, chatCalls("a")],
    options: { pendingAllowed: false },
    at: ["messages[1].tool_calls[0]"],
    mended: [ask, chatCalls("a"), { ...chatResult("a"), content: ANSWER }],
  },
  {
    rule: "generic/call-without-id",
    format: "openai-responses",
    list: [ask, { type: "function_call", name: "read", arguments: "{}" }, output("a"), said],
    at: ["messages[1]"],
    mended: [ask, item("a"), output("a"), said],
  },
  {
    rule: "generic/result-without-id",
    format: "openai-chat",
    list: [ask, chatCalls("a"), { role: "tool", content: "ok" }, said],
    at: ["messages[2]"],
    mended: [ask, chatCalls("a"), chatResult("a"), said],
  },
  {
    rule: "generic/duplicate-entry-id",
    format: "openai-responses",
    list: [
      { ...ask, id: "msg_1" },
      { ...said, id: "msg_2" },
      { ...ask, id: "msg_1" },
      { ...ask, id: "msg_2" },
    ],
    at: ["messages[2]", "messages[3]"],
    mended: [{ ...ask, id: "msg_1" }, { ...said, id: "msg_2" }, ask],
  },
  {
    rule: "openai-chat/results-follow-call",
    format: "openai-chat",
    list: [ask, chatCalls("a", "b"), chatResult("b"), ask, chatResult("a")],
    at: ["messages[4]"],
    mended: [ask, chatCalls("a", "b"), chatResult("b"), chatResult("a"), ask],
  },
  {
    rule: "openai-chat/null-content",
    format: "openai-chat",
    list: [ask, { role: "assistant", content: null }, ask],
    at: ["messages[1]"],
    mended: [ask, ask],
  },
  {
    rule: "openai-chat/strict-system-first",
    format: "openai-chat",
    list: [{ role: "system", content: "a" }, ask, { role: "system", content: "b" }],
    options: { strict: true },
    at: ["messages[2]"],
    mended: [{ role: "system", content: "a\n\nb" }, ask],
  },
  {
    rule: "openai-chat/strict-alternation",
    format: "openai-chat",
    list: [ask, ask, chatCalls("a"), chatResult("a"), ask],
    options: { strict: true },
    at: ["messages[1]", "messages[4]"],
    mended: [
      { role: "user", content: "go on\n\ngo on" },
      chatCalls("a"),
      chatResult("a"),
      { role: "assistant", content: "[no reply was recorded]" },
      ask,
    ],
  },
  {
    rule: "openai-chat/strict-needs-user",
    format: "openai-chat",
    list: [{ role: "system", content: "a" }, said],
    options: { strict: true },
    at: ["messages"],
    mended: [{ role: "system", content: "a" }, { role: "user", content: "[conversation continues]" }, said],
  },
  {
    rule: "openai-chat/reasoning-consistent",
    format: "openai-chat",
    list: [
      ask,
      { ...chatCalls("a"), reasoning_content: "hm" },
      chatResult("a"),
      chatCalls("b"),
      chatResult("b"),
    ],
    options: { strict: true },
    at: ["messages[3]"],
    mended: [
      ask,
      { ...chatCalls("a"), reasoning_content: "hm" },
      chatResult("a"),
      { ...chatCalls("b"), reasoning_content: "" },
      chatResult("b"),
    ],
  },
  {
    rule: "items/reasoning-followed",
    format: "openai-responses",
    list: [ask, reasoning("rs_1"), ask, reasoning("rs_2"), item("a"), output("a")],
    at: ["messages[1]"],
    mended: [ask, ask, reasoning("rs_2"), item("a"), output("a")],
  },
  {
    rule: "items/output-type",
    format: "openai-responses",
    list: [ask, item("a"), { type: "custom_tool_call_output", call_id: "a", output: "ok" }],
    at: ["messages[2].type"],
    mended: [ask, item("a"), output("a")],
  },
  {
    rule: "items/output-type",
    format: "openai-responses",
    list: [ask, item("a"), { type: "shell_call_output", call_id: "a", output: [] }, ask],
    at: ["messages[2].type"],
    mended: [ask, item("a"), { ...output("a"), output: ANSWER }, ask],
  },
  {
    rule: "items/compaction-newest",
    format: "openai-responses",
    list: [
      { type: "compaction", encrypted_content: "gAAA" },
      { type: "compaction", encrypted_content: "gBBB" },
      ask,
    ],
    at: ["messages[0]"],
  },
  {
    rule: "items/compaction-sealed",
    format: "openai-responses",
    list: [{ type: "compaction", encrypted_content: null }, ask],
    at: ["messages[0]"],
    mended: [ask],
  },
  {
    rule: "items/sealed-for-other-model",
    format: "openai-agents",
    list: [
      ask,
      { type: "reasoning", content: [], providerData: { model: "one", encryptedContent: "gAAA" } },
      { ...said, status: "completed", content: [{ type: "output_text", text: "a" }] },
    ],
    options: { model: "other" },
    at: ["messages[1]"],
  },
  {
    rule: "anthropic/result-in-next-message",
    format: "anthropic",
    list: [ask, calls("a", "b"), results("b"), said, results("a"), said],
    at: ["messages[4].content[0]"],
    mended: [ask, calls("a", "b"), results("b", "a"), said, said],
  },
  {
    rule: "anthropic/result-in-next-message",
    format: "anthropic",
    list: [ask, calls("a"), said, { role: "user", content: [toolResult("a"), { type: "text", text: "x" }] }],
    at: ["messages[3].content[0]"],
    mended: [ask, calls("a"), results("a"), said, { role: "user", content: [{ type: "text", text: "x" }] }],
  },
  {
    rule: "anthropic/image-size",
    format: "anthropic",
    list: [shown(image(9_000, 100)), said],
    at: ["messages[0].content[0]"],
    mended: [shown(leftOut("9000 x 100 pixels, 8000 are accepted")), said],
  },
  {
    rule: "anthropic/image-size",
    format: "anthropic",
    list: [
      shown(...Array.from({ length: 20 }, () => image(800, 600))),
      calls("a"),
      { role: "user", content: [{ ...toolResult("a"), content: [image(2_100, 100), image(1_000, 2_001)] }] },
    ],
    at: ["messages[2].content[0].content[0]", "messages[2].content[0].content[1]"],
    mended: [
      shown(...Array.from({ length: 20 }, () => image(800, 600))),
      calls("a"),
      {
        role: "user",
        content: [
          {
            ...toolResult("a"),
            content: [
              leftOut("2100 x 100 pixels, 2000 are accepted"),
              leftOut("1000 x 2001 pixels, 2000 are accepted"),
            ],
          },
        ],
      },
    ],
  },
  {
    rule: "anthropic/image-count",
    format: "anthropic",
    list: Array.from({ length: 101 }, () => shown(image(800, 600))),
    at: Array.from({ length: 20 }, (_, index) => `messages[${index}].content[0]`),
    mended: Array.from({ length: 101 }, (_, index) =>
      shown(index < 20 ? leftOut("there were too many") : image(800, 600)),
    ),
  },
  {
    rule: "anthropic/image-count",
    format: "anthropic",
    options: { maxContextTokens: 1_000_000 },
    list: Array.from({ length: 601 }, () => shown(image(800, 600))),
    at: Array.from({ length: 20 }, (_, index) => `messages[${index}].content[0]`),
    mended: Array.from({ length: 601 }, (_, index) =>
      shown(index < 20 ? leftOut("there were too many") : image(800, 600)),
    ),
  },
  {
    rule: "anthropic/results-first",
    format: "anthropic",
    list: [ask, calls("a"), { role: "user", content: [{ type: "text", text: "x" }, toolResult("a")] }],
    at: ["messages[2].content[0]"],
    mended: [ask, calls("a"), { role: "user", content: [toolResult("a"), { type: "text", text: "x" }] }],
  },
  {
    rule: "anthropic/results-split",
    format: "anthropic",
    list: [ask, calls("a", "b"), results("a"), results("b")],
    at: ["messages[3]"],
    mended: [ask, calls("a", "b"), results("a", "b")],
  },
  {
    rule: "anthropic/unique-call-ids",
    format: "anthropic",
    list: [ask, calls("a"), results("a"), calls("a"), results("a")],
    at: ["messages[3].content[0]"],
    mended: [ask, calls("a"), results("a"), calls("a_2"), results("a_2")],
  },
  {
    rule: "anthropic/first-user",
    format: "anthropic",
    list: [said, ask],
    at: ["messages[0]"],
    mended: [{ role: "user", content: "[conversation continues]" }, said, ask],
  },
  {
    rule: "anthropic/system-in-messages",
    format: "anthropic",
    list: [{ role: "system", content: "rules" }, ask],
    at: ["messages[0]"],
  },
  {
    rule: "anthropic/system-leads",
    format: "anthropic",
    list: [ask, said, { role: "system", content: "rules" }, { role: "system", content: "more" }, ask],
    at: ["messages[2]", "messages[3]"],
    mended: [{ role: "system", content: "rules" }, { role: "system", content: "more" }, ask, said, ask],
  },
  {
    rule: "anthropic/system-after-user",
    format: "anthropic",
    list: [ask, { role: "system", content: "rules" }, said],
    at: ["messages[1]"],
  },
  {
    rule: "anthropic/thinking-signature",
    format: "anthropic",
    list: [ask, { role: "assistant", content: [{ type: "thinking", thinking: "hm" }, use("a")] }],
    at: ["messages[1].content[0]"],
    mended: [ask, calls("a")],
  },
  {
    rule: "anthropic/thinking-first",
    format: "anthropic",
    list: [ask, { role: "assistant", content: [use("a"), sealed] }],
    at: ["messages[1].content[1]"],
    mended: [ask, calls("a")],
  },
  {
    rule: "anthropic/server-tool-pair",
    format: "anthropic",
    list: [
      ask,
      {
        role: "assistant",
        content: [
          { type: "server_tool_use", id: "s", name: "web_search", input: {} },
          { type: "text", text: "a" },
        ],
      },
      ask,
    ],
    at: ["messages[1].content[0]"],
    mended: [ask, { role: "assistant", content: [{ type: "text", text: "a" }] }, ask],
  },
  {
    rule: "anthropic/cache-marks",
    format: "anthropic",
    list: [1, 2, 3, 4, 5].map((text) => ({
      role: "user",
      content: [{ type: "text", text: String(text), cache_control: { type: "ephemeral" } }],
    })),
    at: ["messages[0].content[0]"],
    mended: [1, 2, 3, 4, 5].map((text) => ({
      role: "user",
      content: [
        { type: "text", text: String(text), ...(text === 1 ? {} : { cache_control: { type: "ephemeral" } }) },
      ],
    })),
  },
  {
    rule: "anthropic/compaction-first",
    format: "anthropic",
    list: [
      ask,
      {
        role: "assistant",
        content: [
          { type: "text", text: "a" },
          { type: "compaction", content: "b" },
        ],
      },
    ],
    at: ["messages[1].content[1]"],
    mended: [
      ask,
      {
        role: "assistant",
        content: [
          { type: "compaction", content: "b" },
          { type: "text", text: "a" },
        ],
      },
    ],
  },
  {
    rule: "anthropic/compaction-newest",
    format: "anthropic",
    list: [
      ask,
      { role: "assistant", content: [{ type: "compaction", content: "a" }] },
      ask,
      { role: "assistant", content: [{ type: "compaction", content: "b" }] },
    ],
    at: ["messages[1].content[0]"],
  },
  {
    rule: "anthropic/trailing-whitespace",
    format: "anthropic",
    list: [ask, { role: "assistant", content: "so \n" }],
    at: ["messages[1].content"],
    mended: [ask, { role: "assistant", content: "so" }],
  },
  {
    rule: "anthropic/empty-text",
    format: "anthropic",
    list: [ask, { role: "assistant", content: [{ type: "text", text: "\n\n" }, sealed, use("a")] }],
    at: ["messages[1].content[0]"],
    mended: [ask, { role: "assistant", content: [sealed, use("a")] }],
  },
  {
    rule: "anthropic/empty-message",
    format: "anthropic",
    list: [ask, { role: "assistant", content: [] }, ask],
    at: ["messages[1]"],
    mended: [ask, ask],
  },
  {
    rule: "gemini/responses-match",
    format: "gemini",
    list: [spoken, model("read", "write"), responses("write", "read")],
    at: ["messages[2]"],
    mended: [spoken, model("read", "write"), responses("read", "write")],
  },
  {
    rule: "gemini/starts-with-user",
    format: "gemini",
    list: [{ role: "model", parts: [{ text: "hi" }] }, spoken],
    at: ["messages[0]"],
    mended: [
      { role: "user", parts: [{ text: "[conversation continues]" }] },
      { role: "model", parts: [{ text: "hi" }] },
      spoken,
    ],
  },
  {
    rule: "gemini/system-in-contents",
    format: "gemini",
    list: [{ role: "system", parts: [{ text: "rules" }] }, spoken],
    at: ["messages[0]"],
  },
  {
    rule: "gemini/system-leads",
    format: "gemini",
    list: [spoken, { role: "system", parts: [{ text: "rules" }] }],
    at: ["messages[1]"],
    mended: [{ role: "system", parts: [{ text: "rules" }] }, spoken],
  },
  {
    rule: "gemini/thought-signature",
    format: "gemini",
    list: [
      spoken,
      model("read"),
      responses("read"),
      { role: "model", parts: [{ functionCall: { name: "write", args: {} } }] },
      responses("write"),
    ],
    at: ["messages[3].parts[0]"],
  },
  {
    rule: "gemini/empty-parts",
    format: "gemini",
    list: [spoken, { role: "model", parts: [] }],
    at: ["messages[1]"],
    mended: [spoken],
  },
  {
    rule: "ai-sdk/results-before-next-ask",
    format: "ai-sdk",
    list: [
      ask,
      { role: "assistant", content: [aiCall("a"), aiCall("b")] },
      ask,
      { role: "tool", content: [aiResult("a"), aiResult("b")] },
    ],
    at: ["messages[3].content[0]", "messages[3].content[1]"],
    mended: [
      ask,
      { role: "assistant", content: [aiCall("a"), aiCall("b")] },
      { role: "tool", content: [aiResult("a"), aiResult("b")] },
      ask,
    ],
  },
  {
    rule: "ai-sdk/tool-message-holds-results",
    format: "ai-sdk",
    list: [
      ask,
      { role: "assistant", content: [aiCall("a")] },
      { role: "tool", content: [aiResult("a"), { type: "text", text: "x" }] },
    ],
    at: ["messages[2].content[1]"],
    mended: [ask, { role: "assistant", content: [aiCall("a")] }, { role: "tool", content: [aiResult("a")] }],
  },
  {
    rule: "ai-sdk/reasoning-followed",
    format: "ai-sdk",
    list: [
      { id: "1", role: "user", parts: [{ type: "text", text: "go" }] },
      {
        id: "2",
        role: "assistant",
        parts: [
          { type: "step-start" },
          { type: "reasoning", text: "a", providerMetadata: { openai: { itemId: "rs_1" } } },
          { type: "text", text: "so" },
          { type: "step-start" },
          { type: "reasoning", text: "b", providerMetadata: { openai: { itemId: "rs_2" } } },
        ],
      },
      { id: "3", role: "user", parts: [{ type: "text", text: "and?" }] },
    ],
    at: ["messages[1].parts[4]"],
    mended: [
      { id: "1", role: "user", parts: [{ type: "text", text: "go" }] },
      {
        id: "2",
        role: "assistant",
        parts: [
          { type: "step-start" },
          { type: "reasoning", text: "a", providerMetadata: { openai: { itemId: "rs_1" } } },
          { type: "text", text: "so" },
          { type: "step-start" },
        ],
      },
      { id: "3", role: "user", parts: [{ type: "text", text: "and?" }] },
    ],
  },
  {
    rule: "ai-sdk/approval-pair",
    format: "ai-sdk",
    list: [
      ask,
      said,
      { role: "tool", content: [{ type: "tool-approval-response", approvalId: "p", approved: true }] },
    ],
    at: ["messages[2].content[0]"],
    mended: [ask, said],
  },
  {
    rule: "langchain/remove-all-leads",
    format: "langchain",
    list: [
      { role: "user", content: "lost" },
      { type: "remove", id: "__remove_all__" },
      { role: "user", content: "kept" },
    ],
    at: ["messages[1]"],
  },
  {
    rule: "generic/orphan-result",
    format: "langchain",
    list: [
      { role: "assistant", content: "", tool_calls: [{ id: "a", name: "read", args: {} }] },
      { type: "remove", id: "__remove_all__" },
      { role: "user", content: "kept" },
      { role: "tool", tool_call_id: "a", content: "ok" },
    ],
    at: ["messages[3]"],
    mended: [
      { role: "assistant", content: "", tool_calls: [{ id: "a", name: "read", args: {} }] },
      { type: "remove", id: "__remove_all__" },
      { role: "user", content: "kept" },
    ],
  },
  {
    rule: "generic/unreadable-entry",
    format: "openai-chat",
    list: [ask, { role: "assistant", content: "so", tool_calls: [{ id: "a" }] }],
    at: ["messages[1].tool_calls[0].function.name"],
    mended: [ask, { role: "assistant", content: "so" }],
  },
  { rule: "pi/known-role", format: "pi", list: [{ role: "artifact", content: "x" }], at: ["messages[0]"] },
  {
    rule: "pi/result-name",
    format: "pi",
    list: [
      { role: "user", content: "go" },
      { role: "assistant", content: [{ type: "toolCall", id: "a", name: "read", arguments: {} }] },
      { role: "toolResult", toolCallId: "a", content: [] },
    ],
    at: ["messages[2].toolName"],
  },
];

describe.each(CASES)("$rule in $format", ({ rule, format, list, options, at, mended }) => {
  const info = describeRules().find((one) => one.id === rule);

  it("is reported where it is broken", () => {
    const found = lint(list, format, options).filter((one) => one.rule === rule);
    expect(found.map((one) => one.path)).toEqual(at);
    for (const one of found) {
      expect(one.index).toBe(Number(/^messages\[(\d+)\]/.exec(one.path)?.[1] ?? 0));
      expect(one).toMatchObject({ severity: info?.severity, link: info?.link });
      expect(one.explanation).not.toBe("");
    }
  });

  it("is mended as it says", () => {
    const repaired = repair(list, format, options);
    expect(repaired.messages).toEqual(mended ?? list);
    expect(repaired.mends.some((mend) => mend.rule === rule)).toBe(mended !== undefined);
    expect(info?.mend !== undefined).toBe(mended !== undefined);
    for (const entry of repaired.messages) {
      const same = list.find((one) => JSON.stringify(one) === JSON.stringify(entry));
      if (same !== undefined) expect(list).toContain(entry);
    }
  });
});

it("what a text replaces is in the mend, so that no image is lost", () => {
  const large = image(9_000, 100);
  const other = image(9_001, 100);
  const inResult = { role: "user", content: [{ ...toolResult("a"), content: [large, other] }] };
  const { mends } = repair([shown(large), calls("a"), inResult], "anthropic");
  expect(mends.map(({ removed }) => removed && JSON.parse(removed))).toEqual([large, large, other]);
  const many = Array.from({ length: 101 }, () => image(10, 10));
  expect(repair([shown(...many)], "anthropic").mends.every(({ removed }) => removed !== undefined)).toBe(
    true,
  );
});

it("an id is looked for where its format keeps it", () => {
  const kept = (id: string) => ({ ...ask, type: "message", id, data: { id: "one" }, kwargs: { id: "one" } });
  expect(lint([kept("msg_1"), kept("msg_2")], "openai-responses")).toEqual([]);
});

it("items of one Chat Completions answer share its id in the Agents SDK, or a placeholder", () => {
  const part = { type: "output_text", text: "Looking." };
  const message = (id: string) => ({
    id,
    type: "message",
    role: "assistant",
    content: [part],
    status: "completed",
  });
  const call = (callId: string) => ({
    type: "function_call",
    id: "chatcmpl-1",
    callId,
    name: "read",
    arguments: "{}",
  });
  const result = (callId: string) => ({ type: "function_call_result", callId, name: "read", output: "ok" });
  const list = [ask, message("chatcmpl-1"), call("a"), call("b"), result("a"), result("b")];
  expect(lint([...list, message("FAKE_ID"), ask, message("FAKE_ID")], "openai-agents")).toEqual([]);
  expect(lint([...list, ask, message("chatcmpl-1")], "openai-agents")).toMatchObject([
    { rule: "generic/duplicate-entry-id", path: "messages[7]" },
  ]);
});

it("calls are looked for and mended wherever their format keeps them", () => {
  const result = { role: "tool", tool_call_id: "c1", content: "ok" };
  const old = { ...said, content: null, function_call: { name: "read", arguments: '{"path":"a' } };
  const answer = { role: "function", name: "read", content: "ok" };
  const { messages, mends } = repair([ask, old, answer], "openai-chat");
  expect(mends).toMatchObject([{ rule: "generic/arguments-json", path: "messages[1].function_call" }]);
  const readable = JSON.stringify({ INVALID_JSON: '{"path":"a' });
  expect(messages[1]).toEqual({ ...old, function_call: { name: "read", arguments: readable } });

  const block = { type: "tool_use", name: "read", input: {} };
  const raw = { function: { name: "read", arguments: "{}" } };
  for (const caller of [
    { ...said, content: [block] },
    { type: "ai", content: "", additional_kwargs: { tool_calls: [raw], kept: 1 } },
  ]) {
    const mended = repair([ask, caller, result], "langchain").messages;
    const { tool_call_id: id } = mended[2] as { tool_call_id: string };
    expect(lint(mended, "langchain")).toEqual([]);
    expect(mended[1]).toMatchObject(
      "type" in caller
        ? { additional_kwargs: { tool_calls: [{ ...raw, id }], kept: 1 } }
        : { content: [{ ...block, id }] },
    );
  }
  const named = { type: "function_call", call_id: "c1", name: "read", arguments: "{}" };
  expect(lint([ask, { ...said, content: [named] }, result], "langchain")).toEqual([]);
});

it("an answered legacy call beside others keeps its result", () => {
  const both = { ...chatCalls("c1"), function_call: { name: "write", arguments: "{}" } };
  const list = [ask, both, chatResult("c1"), { role: "function", name: "write", content: "ok" }, said];
  expect(lint(list, "openai-chat")).toEqual([]);
  expect(repair(list, "openai-chat").messages).toEqual(list);
});

it("every rule has a case that breaks it", () => {
  const broken = new Set(CASES.map((one) => one.rule));
  expect(describeRules().filter((rule) => !broken.has(rule.id))).toEqual([]);
  for (const rule of describeRules()) expect(FORMATS).toEqual(expect.arrayContaining([...rule.formats]));
});
