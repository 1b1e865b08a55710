import { describe, expect, it } from "vitest";
import type { Format } from "../../packages/compact-context/src/core/message.ts";
import { checkProvider } from "../support/provider-checks.ts";
import { brokenSeals, sealEntries } from "../support/soak-seal.ts";

type Entry = Record<string, unknown>;

const user = (content: unknown): Entry => ({ role: "user", content });
const assistant = (...content: Entry[]): Entry => ({ role: "assistant", content });
const use = (id: string): Entry => ({ type: "tool_use", id, name: "search", input: {} });
const result = (id: string, more: Entry = {}): Entry => {
  return { type: "tool_result", tool_use_id: id, content: "found", ...more };
};
const text = { type: "text", text: "well" };
const thinking = { type: "thinking", thinking: "so", signature: "EqQB" };
const served = [
  { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "x" } },
  { type: "web_search_tool_result", tool_use_id: "s1", content: [] },
];
const compaction = { type: "compaction", content: "sealed" };
const ask = user("go on");
const whole = [
  ask,
  assistant(thinking, use("t1"), use("t2")),
  user([result("t1"), result("t2")]),
  assistant(compaction, ...served, text),
  ask,
];
const marked = result("t1", { cache_control: { type: "ephemeral" } });

const item = (type: string, more: Entry): Entry => ({ type, ...more });
const call = (id: string): Entry =>
  item("function_call", { id: `fc_${id}`, call_id: id, name: "search", arguments: "{}" });
const output = (id: string): Entry => item("function_call_output", { call_id: id, output: "found" });
const reasoning = item("reasoning", { id: "rs_1", summary: [], encrypted_content: "gAAA" });
const message = item("message", { id: "msg_1", role: "assistant", phase: "final_answer", content: [] });
const sealedItem = item("compaction", { id: "cmp_1", encrypted_content: "gAAA" });
const request = item("mcp_approval_request", { id: "mcpr_1", name: "search", arguments: "{}" });
const response = item("mcp_approval_response", { approval_request_id: "mcpr_1", approve: true });
const said = item("message", { role: "user", content: [] });
const items = [said, reasoning, call("c1"), output("c1"), request, response, sealedItem, message, said];

const calls = (...ids: string[]): Entry => ({
  role: "assistant",
  content: null,
  reasoning_content: "so",
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "search", arguments: "{}" } })),
});
const tool = (id: string): Entry => ({ role: "tool", tool_call_id: id, content: "found" });
const chat = [ask, calls("c1", "c2"), tool("c1"), tool("c2"), { role: "assistant", content: "well" }, ask];
const loop = [ask, calls("c1"), tool("c1"), calls("c2"), tool("c2")];

const model = (...names: string[]): Entry => {
  return {
    role: "model",
    parts: names.map((name) => ({ functionCall: { name }, thoughtSignature: "CsQB" })),
  };
};
const answers = (...names: string[]): Entry => {
  return { role: "user", parts: names.map((name) => ({ functionResponse: { name, response: {} } })) };
};
const spoken = { role: "user", parts: [{ text: "go on" }] };
const gemini = [
  spoken,
  model("a", "b"),
  answers("a", "b"),
  { role: "model", parts: [{ text: "well" }] },
  spoken,
];

const aiCall = { type: "tool-call", toolCallId: "c1", toolName: "search", input: {} };
const approval = { type: "tool-approval-request", approvalId: "a1", toolCallId: "c1" };
const answer = {
  role: "tool",
  content: [{ type: "tool-approval-response", approvalId: "a1", approved: true }],
};
const outcome = {
  role: "tool",
  content: [{ type: "tool-result", toolCallId: "c1", toolName: "search", output: {} }],
};
const aiSdk = [user([text]), assistant(aiCall, approval), answer, outcome, user([text])];

const lc = (kind: string, kwargs: Entry): Entry => ({
  lc: 1,
  id: ["langchain_core", "messages", kind],
  kwargs,
});
const human = lc("HumanMessage", { id: "h1", content: "go on" });
const ai = lc("AIMessage", { id: "a1", content: "", tool_calls: [{ id: "c1", name: "search", args: {} }] });
const found = lc("ToolMessage", { tool_call_id: "c1", content: "found" });
const langchain = [human, ai, found, lc("HumanMessage", { id: "h2", content: "more" })];

const piAsk = { role: "user", content: [text] };
const piCall = assistant(
  { ...thinking, thinkingSignature: "EqQB" },
  { type: "toolCall", id: "c1", name: "search", arguments: {} },
);
const piResult = { role: "toolResult", toolCallId: "c1", content: [text] };
const pi = [piAsk, piCall, piResult, piAsk];

/** A list of the format and what is done to it; the checks must name the invariant. */
const BROKEN: readonly (readonly [string, Format, unknown[], unknown[]])[] = [
  ["A1", "anthropic", whole, whole.toSpliced(2, 1)],
  ["A1", "anthropic", whole, whole.toSpliced(1, 1)],
  ["A1", "anthropic", whole, whole.with(2, user([result("t1")]))],
  ["A1", "anthropic", whole, whole.with(2, user([text, result("t1"), result("t2")]))],
  ["A1", "anthropic", whole, whole.with(2, user([result("t1"), result("t2"), result("t2")]))],
  ["A2", "anthropic", whole, whole.slice(1)],
  ["A3", "anthropic", whole, whole.with(1, assistant({ ...thinking, thinking: "s…" }, use("t1"), use("t2")))],
  ["A3", "anthropic", whole, whole.with(1, assistant({ ...thinking, signature: "" }, use("t1"), use("t2")))],
  ["A5", "anthropic", whole, whole.with(3, assistant(compaction, ...served.slice(0, 1), text))],
  ["A5", "anthropic", whole, whole.with(3, assistant(compaction, ...served.slice(1), text))],
  [
    "A5",
    "anthropic",
    whole,
    whole.with(3, assistant(compaction, { ...served[0], input: {} }, ...served.slice(1), text)),
  ],
  ["A6", "anthropic", whole, whole.with(3, assistant(text))],
  ["A6", "anthropic", whole, whole.with(3, assistant(text, compaction))],
  ["A7", "anthropic", whole, [...whole, user([marked, marked, marked, marked, marked])]],
  ["A8", "anthropic", whole, whole.with(2, user([result("t1", { is_error: true }), result("t2")]))],
  ["R1", "openai-responses", items, items.toSpliced(2, 2)],
  ["R2", "openai-responses", items, items.toSpliced(3, 1)],
  ["R2", "openai-responses", items, items.toSpliced(2, 1)],
  ["R2", "openai-responses", items, items.toSpliced(3, 0, output("c1"))],
  ["R5", "openai-responses", items, items.toSpliced(6, 1)],
  ["R5", "openai-responses", items, items.with(6, { ...sealedItem, encrypted_content: "" })],
  ["R6", "openai-responses", items, [...items, message]],
  ["R6", "openai-responses", items, items.with(7, { ...message, phase: "commentary" })],
  ["V1", "openai-responses", items, items.toSpliced(4, 1)],
  ["C1", "openai-chat", chat, chat.toSpliced(3, 1)],
  ["C1", "openai-chat", chat, chat.toSpliced(1, 1)],
  ["C1", "openai-chat", chat, chat.toSpliced(2, 0, ask)],
  ["C2", "openai-chat", chat, chat.with(4, { role: "assistant", content: null })],
  ["C4", "openai-chat", loop, loop.with(1, { ...calls("c1"), reasoning_content: undefined })],
  ["M1", "gemini", gemini, gemini.toSpliced(2, 1)],
  ["M1", "gemini", gemini, gemini.with(2, answers("b", "a"))],
  ["M1", "gemini", gemini, gemini.toSpliced(1, 1)],
  [
    "M2",
    "gemini",
    gemini,
    gemini.with(1, {
      role: "model",
      parts: [{ functionCall: { name: "a" } }, { functionCall: { name: "b" } }],
    }),
  ],
  ["M3", "gemini", gemini, gemini.slice(1)],
  ["V1", "ai-sdk", aiSdk, aiSdk.with(1, assistant(aiCall))],
  ["V1", "ai-sdk", aiSdk, aiSdk.with(1, assistant(approval))],
  ["V1", "ai-sdk", aiSdk, aiSdk.toSpliced(3, 1)],
  ["L3", "langchain", langchain, langchain.with(3, lc("HumanMessage", { id: "other", content: "more" }))],
  ["L5", "langchain", langchain, langchain.toSpliced(2, 1)],
  ["L5", "langchain", langchain, langchain.toSpliced(1, 1)],
  ["G1", "pi", pi, pi.toSpliced(2, 1)],
  [
    "G1",
    "pi",
    pi,
    pi.with(1, assistant({ ...thinking, thinkingSignature: "x" }, { type: "toolCall", id: "c1" })),
  ],
];

describe("the checks of each wire", () => {
  it.each([
    ["anthropic", whole],
    ["openai-responses", items],
    ["openai-chat", chat],
    ["openai-chat", loop],
    ["gemini", gemini],
    ["ai-sdk", aiSdk],
    ["langchain", langchain],
    ["pi", pi],
  ] as const)("find nothing in a whole list of %s", (format, list) => {
    expect(checkProvider(format, list, list)).toEqual([]);
  });

  it.each(BROKEN)("see %s in %s", (invariant, format, list, broken) => {
    expect(checkProvider(format, broken, list).map((found) => found.split(" ", 1)[0])).toContain(invariant);
  });
});

describe("seals", () => {
  const thought = (text: string): Entry =>
    assistant({ type: "thinking", thinking: text, signature: "seal_1_" }, use(text));
  const sealed = sealEntries([], [ask, thought("one"), user([result("one")]), thought("two")]);

  it("hold behind what they were made for, and behind more that is new", () => {
    expect(brokenSeals(sealed)).toEqual([]);
    expect(brokenSeals([...sealed, ...sealEntries(sealed, [ask, thought("three")])])).toEqual([]);
  });

  it("break behind anything else", () => {
    expect(brokenSeals(sealed.with(0, user("go on!")))).toEqual([1, 3]);
    expect(brokenSeals(sealed.with(2, user([result("one", { content: "cleared" })])))).toEqual([3]);
    expect(brokenSeals(sealed.slice(1))).toEqual([0, 2]);
  });
});
