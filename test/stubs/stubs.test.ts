import { afterEach, describe, expect, it } from "vitest";
import {
  brokenBytes,
  brokenJson,
  drip,
  filtered,
  loneSurrogate,
  overLong,
  rateLimited,
  reasoningOnly,
  refusal,
  reset,
  resetMidway,
  silent,
  stale,
  truncated,
} from "./answers.ts";
import { createPromptCache } from "./prompt-cache.ts";
import { type Stub, type StubOptions, startStub } from "./server.ts";

type Json = Record<string, unknown>;

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly refusal?: string;
}

/** The fields of all three providers' bodies that the tests look at. */
interface Body {
  readonly id: string;
  readonly choices: readonly { readonly message: Json; readonly finish_reason: string }[];
  readonly content: readonly Part[];
  readonly stop_reason: string;
  readonly stop_details: { readonly explanation: string } | null;
  readonly output: readonly { readonly type: string; readonly content?: readonly Part[] }[];
  readonly status: string;
  readonly incomplete_details: { readonly reason: string } | null;
  readonly error?: { readonly message: string; readonly code?: string };
  readonly usage: {
    readonly input_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
}

let stub: Stub | undefined;
afterEach(async () => stub?.close());

async function open(options: StubOptions = {}): Promise<Stub> {
  stub = await startStub({ countText: (text) => Math.ceil(text.length / 4), ...options });
  return stub;
}

const PATHS = {
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  anthropic: "/v1/messages",
} as const;
type Api = keyof typeof PATHS;
const APIS = Object.keys(PATHS) as Api[];

function post(api: Api, body: Json, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${stub?.anthropicUrl}${PATHS[api]}`, {
    method: "POST",
    headers: { authorization: "Bearer test", "anthropic-version": "2023-06-01", ...headers },
    body: JSON.stringify(body),
  });
}

async function ask(api: Api, body: Json): Promise<{ status: number; json: Body }> {
  const response = await post(api, body);
  return { status: response.status, json: (await response.json()) as Body };
}

const simple = (api: Api, text: string, more: Json = {}): Json => {
  const messages = [{ role: "user", content: text }];
  if (api === "responses") return { model: "m", input: messages, ...more };
  return { model: "m", messages, max_tokens: api === "anthropic" ? 1000 : undefined, ...more };
};

/** Text, stop and refusal as each provider says them. */
function said(api: Api, json: Body): unknown[] {
  if (api === "chat") {
    const [choice] = json.choices;
    return [choice?.message.content, choice?.finish_reason, choice?.message.refusal];
  }
  if (api === "anthropic") {
    const text = json.content.find((block) => block.type === "text")?.text;
    return [text, json.stop_reason, json.stop_details?.explanation];
  }
  const part = json.output.find((item) => item.type === "message")?.content?.[0];
  return [part?.text, json.incomplete_details?.reason ?? json.status, part?.refusal];
}

describe.each(APIS)("the stub of %s", (api) => {
  it("answers from its script, in the provider's form, and says when it is used up", async () => {
    await open({ answers: ["hello", truncated, refusal, reasoningOnly, filtered, loneSurrogate] });
    const answers = [];
    for (let index = 0; index < 6; index += 1)
      answers.push(said(api, (await ask(api, simple(api, "hi"))).json));
    const stops = { chat: "stop", responses: "completed", anthropic: "end_turn" };
    const lengths = { chat: "length", responses: "max_output_tokens", anthropic: "max_tokens" };
    const filters = { chat: "content_filter", responses: "content_filter", anthropic: "refusal" };
    expect(answers[0]?.slice(0, 2)).toEqual(["hello", stops[api]]);
    expect(answers[1]?.[1]).toBe(lengths[api]);
    expect(answers[2]?.[2]).toBe("I'm sorry, but I can't help with that.");
    expect(answers[3]?.[0] ?? "").toBe("");
    expect(answers[4]?.[1]).toBe(filters[api]);
    expect(answers[5]?.[0]).toBe("The parser reads \ud83d and goes on.");
    expect(await ask(api, simple(api, "hi"))).toMatchObject({ status: 400 });
  });

  it("streams the same text in pieces", async () => {
    const text = "a text of some length, in several pieces — with a dash";
    await open({
      answers: () => ({ text, reasoning: "well", toolCalls: [{ name: "read", arguments: { a: 1 } }] }),
    });
    const response = await post(api, simple(api, "hi", { stream: true }));
    const body = await response.text();
    const events = [...body.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data ?? ""));
    const deltas = events.map((event) =>
      api === "chat"
        ? event.choices[0]?.delta.content
        : api === "anthropic"
          ? event.delta?.text
          : event.type === "response.output_text.delta" && event.delta,
    );
    expect(deltas.filter(Boolean).join("")).toBe(text);
    expect(body).toContain("read");
  });

  it("cuts at the request's limit, and not when the server ignores it", async () => {
    await open({ answers: ["one two three four five six seven eight nine ten ".repeat(9), overLong(400)] });
    const limit = { chat: "max_completion_tokens", responses: "max_output_tokens", anthropic: "max_tokens" }[
      api
    ];
    const [text] = said(api, (await ask(api, simple(api, "hi", { [limit]: 16 }))).json);
    expect(String(text).length).toBeLessThanOrEqual(64);
    const [long] = said(api, (await ask(api, simple(api, "hi", { [limit]: 16 }))).json);
    expect(String(long).split(" ")).toHaveLength(400);
  });

  it("refuses in the provider's words: no key, unknown parameters, too many tokens, no messages", async () => {
    await open({ window: 2000, unsupported: ["temperature"] });
    const keyless = await fetch(`${stub?.anthropicUrl}${PATHS[api]}`, { method: "POST", body: "{}" });
    expect(keyless.status).toBe(401);
    expect((await ask(api, simple(api, "hi", { surprise: 1 }))).json.error?.message).toMatch(/surprise/);
    expect((await ask(api, simple(api, "hi", { temperature: 0 }))).json.error?.message).toMatch(
      /temperature/,
    );
    const over = await ask(api, simple(api, "word ".repeat(3000)));
    expect(over.status).toBe(400);
    expect(api === "anthropic" ? over.json.error?.message : over.json.error?.code).toMatch(
      /prompt is too long: \d+ tokens > 2000 maximum|context_length_exceeded/,
    );
    const none = api === "responses" ? { input: [] } : { messages: [] };
    expect((await ask(api, simple(api, "hi", none))).status).toBe(400);
    expect(stub?.requests.every(({ rejection }) => rejection !== undefined)).toBe(true);
  });

  it("breaks as it is told: errors with retry-after, bad JSON, bad bytes, resets, silence", async () => {
    await open({ answers: [rateLimited(7), brokenJson, brokenBytes, reset, resetMidway, silent, drip(2)] });
    const limited = await post(api, simple(api, "hi"));
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "7"]);
    await expect(ask(api, simple(api, "hi"))).rejects.toThrow(SyntaxError);
    expect(await (await post(api, simple(api, "hi"))).text()).toContain("The parser reads\ufffd\ufffd");
    await expect(post(api, simple(api, "hi"))).rejects.toThrow();
    await expect(post(api, simple(api, "hi")).then((response) => response.text())).rejects.toThrow();
    for (const pause of [20, 20]) {
      const control = new AbortController();
      const response = await fetch(`${stub?.anthropicUrl}${PATHS[api]}`, {
        method: "POST",
        headers: { authorization: "x", "anthropic-version": "1" },
        body: JSON.stringify(simple(api, "hi", { stream: true })),
        signal: control.signal,
      });
      expect(response.status).toBe(200);
      setTimeout(() => control.abort(), pause);
      await expect(response.text()).rejects.toThrow(/abort/);
    }
    await expect.poll(() => stub?.requests.slice(-2).map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it("says the last answer again when it is stale", async () => {
    await open({ answers: stale });
    const talk = [
      { role: "user", content: "one" },
      { role: "assistant", content: "the answer of before" },
      { role: "user", content: "two" },
    ];
    const body = simple(api, "", api === "responses" ? { input: talk } : { messages: talk });
    expect(said(api, (await ask(api, body)).json)[0]).toBe("the answer of before");
  });
});

describe("what chat completions hold against a list", () => {
  const call = (id: string): Json => ({ id, type: "function", function: { name: "read", arguments: "{}" } });
  const list = (...more: Json[]): Json => ({
    model: "m",
    messages: [{ role: "user", content: "hi" }, ...more],
  });

  it("a call must be answered at once, and an answer needs its call", async () => {
    await open();
    const assistant = { role: "assistant", content: null, tool_calls: [call("c1"), call("c2")] };
    const result = (id: string): Json => ({ role: "tool", tool_call_id: id, content: "x" });
    const messages = async (body: Json): Promise<string> =>
      (await ask("chat", body)).json.error?.message ?? "fine";
    expect(await messages(list(assistant, result("c1")))).toMatch(
      /must be followed by tool messages .*: c2$/,
    );
    expect(await messages(list(assistant, { role: "user", content: "x" }))).toMatch(/c1, c2$/);
    expect(await messages(list(result("c1")))).toMatch(/must be a response to a preceeding message/);
    expect(await messages(list(assistant, result("c1"), result("c2"), result("c9")))).toMatch(
      /'c9' not found/,
    );
    expect(await messages(list(assistant, result("c1"), result("c2")))).toBe("fine");
    expect(await messages(list({ role: "assistant", content: null }))).toMatch(/expected a string, got null/);
    expect(await messages(list({ role: "robot", content: "x" }))).toMatch(/'robot'/);
  });
});

describe("what responses hold against a list", () => {
  it("calls, outputs and reasoning come back together", async () => {
    await open({
      answers: () => ({ reasoning: "well", toolCalls: [{ name: "read", arguments: {}, id: "c1" }] }),
    });
    const user = { role: "user", content: "hi" };
    const first = await ask("responses", { model: "m", input: [user] });
    const [reasoning, call] = first.json.output as unknown as Json[];
    const output = { type: "function_call_output", call_id: "c1", output: "x" };
    const message = async (...input: unknown[]): Promise<string> =>
      (await ask("responses", { model: "m", input })).json.error?.message ?? "fine";
    expect(await message(user, reasoning, call, output)).toBe("fine");
    expect(await message(user, reasoning, call)).toMatch(/No tool output found for function call c1/);
    expect(await message(user, output)).toMatch(
      /No tool call found for function call output with call_id c1/,
    );
    expect(await message(user, call, output)).toMatch(/without its required 'reasoning' item/);
    expect(await message(user, reasoning, user)).toMatch(/without its required following item/);
    expect(await message(user, reasoning, call, output, reasoning, call)).toMatch(/Duplicate item/);
    expect(await message(user, { ...reasoning, encrypted_content: "gAAA" }, call, output)).toMatch(
      /could not be verified/,
    );
    const next = { model: "m", previous_response_id: first.json.id, input: [output] };
    expect((await ask("responses", next)).json.usage.input_tokens).toBeGreaterThan(5);
    expect((await ask("responses", { ...next, previous_response_id: "resp_x" })).json.error?.code).toBe(
      "previous_response_not_found",
    );
  });
});

describe("what messages hold against a list", () => {
  const use = (id: string): Json => ({ type: "tool_use", id, name: "read", input: {} });
  const result = (id: string): Json => ({ type: "tool_result", tool_use_id: id, content: "x" });
  const user = (content: unknown): Json => ({ role: "user", content });
  const assistant = (...content: unknown[]): Json => ({ role: "assistant", content });
  const message = async (messages: unknown[], more: Json = {}): Promise<string> =>
    (await ask("anthropic", { model: "m", max_tokens: 100, messages, ...more })).json.error?.message ??
    "fine";

  it("results follow their calls, first in the next message", async () => {
    await open({ toolBlocksNeedTools: true });
    const tools = [{ name: "read", input_schema: {} }];
    const both = assistant(use("a"), use("b"));
    expect(await message([user("hi"), both, user([result("a"), result("b")])], { tools })).toBe("fine");
    expect(await message([user("hi"), both, user([result("a"), result("b")])])).toMatch(/toolConfig/);
    expect(await message([user("hi"), both, user([result("a")])], { tools })).toMatch(/without .*: b\. Each/);
    expect(
      await message([user("hi"), both, user([{ type: "text", text: "x" }, result("a"), result("b")])], {
        tools,
      }),
    ).toMatch(/a, b/);
    expect(await message([user([result("a")])], { tools })).toMatch(/unexpected `tool_use_id`/);
    expect(await message([assistant({ type: "text", text: "x" })])).toMatch(/first message must use/);
    expect(await message([user("hi"), assistant({ type: "text", text: "x" })])).toMatch(/prefill/);
    expect(await message([user("")])).toMatch(/non-empty content/);
    const marked = { type: "text", text: "x", cache_control: { type: "ephemeral" } };
    expect(await message([user([marked, marked, marked, marked, marked])])).toMatch(
      /maximum of 4 .* Found 5/,
    );
  });

  it("thinking comes back as it was signed", async () => {
    await open({
      boundThinking: "error",
      answers: () => ({ reasoning: "let me see", toolCalls: [{ name: "read", arguments: {}, id: "a" }] }),
    });
    const thinking = { thinking: { type: "enabled", budget_tokens: 1024 }, max_tokens: 2000 };
    const first = await ask("anthropic", { model: "m", messages: [user("hi")], ...thinking });
    const [thought, call] = first.json.content as unknown as Json[];
    const behind = (...content: unknown[]): unknown[] => [
      user("hi"),
      assistant(...content),
      user([result("a")]),
    ];
    expect(await message(behind(thought, call), thinking)).toBe("fine");
    expect(await message(behind(call), thinking)).toMatch(/Expected `thinking` or `redacted_thinking`/);
    expect(await message(behind({ ...thought, thinking: "other" }, call), thinking)).toMatch(
      /cannot be modified/,
    );
    expect(await message([user("edited"), ...behind(thought, call).slice(1)], thinking)).toMatch(
      /bound to a different/,
    );
  });
});

describe("the prompt cache", () => {
  const segment = (text: string, tokens: number, mark?: "5m" | "1h") => ({ text, tokens, mark });

  it("OpenAI: the longest common beginning from 1024 tokens, in steps of 128", async () => {
    await open();
    const body = (tail: string): Json => ({
      model: "m",
      messages: [
        { role: "system", content: "s".repeat(8000) },
        { role: "user", content: tail },
      ],
    });
    const first = await ask("chat", body("one"));
    const second = await ask("chat", body("two"));
    expect(first.json.usage.prompt_tokens_details.cached_tokens).toBe(0);
    expect(second.json.usage.prompt_tokens_details.cached_tokens).toBe(1920);
  });

  it("Anthropic: marked beginnings, 20 pieces back, five minutes or an hour", () => {
    let now = 0;
    const cache = createPromptCache({ kind: "marked", least: 1024, now: () => now });
    const head = segment("system", 2000, "5m");
    const message = (index: number, mark?: "5m") => segment(`m${index}`, 1000, mark);
    expect(cache.read([head, message(0, "5m")])).toMatchObject({ cacheRead: 0, cacheWrite: 3000 });
    expect(cache.read([head, message(0), message(1), message(2, "5m")])).toMatchObject({
      cacheRead: 3000,
      cacheWrite: 2000,
    });
    const many = Array.from({ length: 27 }, (_, index) =>
      message(index + 3, index === 26 ? "5m" : undefined),
    );
    const long = [head, message(0), message(1), message(2), ...many];
    expect(cache.read(long)).toMatchObject({ cacheRead: 2000, cacheWrite: 30_000 });
    now = 301_000;
    expect(cache.read(long)).toMatchObject({ cacheRead: 0, cacheWrite: 32_000, cacheWrite1h: 0 });
  });

  it("OpenAI since 5.6: only whole earlier requests, written at a price", () => {
    const cache = createPromptCache({ kind: "whole", least: 1024, now: () => 0 });
    expect(cache.read([segment("a", 2000)])).toMatchObject({ cacheRead: 0, cacheWrite: 2000 });
    expect(cache.read([segment("a", 2000), segment("b", 500)])).toMatchObject({
      cacheRead: 2000,
      cacheWrite: 500,
    });
    expect(cache.read([segment("a", 2000), segment("c", 500)])).toMatchObject({
      cacheRead: 2000,
      cacheWrite: 500,
    });
    expect(cache.read([segment("x", 2000), segment("b", 500)])).toMatchObject({
      cacheRead: 0,
      cacheWrite: 2500,
    });
  });
});
