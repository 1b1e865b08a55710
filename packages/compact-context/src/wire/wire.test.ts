import { describe, expect, it } from "vitest";
import type { CompactEvent } from "../core/report.ts";
import { CompactManager } from "../create-manager.ts";
import type { Json } from "../providers/request.ts";
import { compactFetch, createWire, type WireOptions } from "./index.ts";

const WINDOW = 6_000;
const words = (name: string, times = 60): string =>
  `${name} ${"the clerk writes about tides ".repeat(times)}`;

/** A conversation of `turns` questions with their answers and one more question. */
function chat(turns: number, first = "the first question"): Json[] {
  const said = Array.from({ length: turns }, (_, index) => [
    { role: "user", content: words(index === 0 ? first : `question ${index}`) },
    { role: "assistant", content: words(`answer ${index}`) },
  ]).flat();
  return [...said, { role: "user", content: turns === 0 ? words(first) : `question ${turns}?` }];
}

const contents = (list: readonly Json[]): Json[] =>
  list.map(({ role, content }) => ({
    role: role === "assistant" ? "model" : "user",
    parts: [{ text: content }],
  }));

/** One interface of a provider: its address and a body for a list. */
const INTERFACES = [
  {
    title: "Anthropic",
    url: "https://api.anthropic.com/v1/messages?beta=true",
    bodyOf: (list: readonly Json[], more: Json = {}): Json => ({
      model: "m",
      max_tokens: 500,
      messages: list,
      ...more,
    }),
    refusal: /^prompt is too long: \d+ tokens > 6000 maximum/,
  },
  {
    title: "Chat Completions",
    url: "https://x.openai.azure.com/openai/deployments/m/chat/completions?api-version=1",
    bodyOf: (list: readonly Json[], more: Json = {}): Json => ({ model: "m", messages: list, ...more }),
    refusal: /^This model's maximum context length is 6000 tokens/,
  },
  {
    title: "Responses",
    url: "https://gateway.example/openai/v1/responses",
    bodyOf: (list: readonly Json[], more: Json = {}): Json => ({ model: "m", input: list, ...more }),
    refusal: /^This model's maximum context length is 6000 tokens/,
  },
  {
    title: "Gemini",
    url: "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
    bodyOf: (list: readonly Json[], more: Json = {}): Json => ({ contents: contents(list), ...more }),
    refusal: /^The input token count \(\d+\) exceeds the maximum number of tokens allowed \(6000\)/,
  },
];
const [ANTHROPIC, CHAT, RESPONSES] = INTERFACES as [
  (typeof INTERFACES)[0],
  (typeof INTERFACES)[0],
  (typeof INTERFACES)[0],
];

/** The interface's own list has no room for the mark in `chat`. */
const withMeta = (body: Json): Json => ({
  ...body,
  contents: (body.contents as Json[]).map((entry, index) =>
    index === 1 ? { ...entry, meta: { protected: true } } : entry,
  ),
});

const listOf = (body: Json): readonly Json[] =>
  (body.messages ?? body.input ?? body.contents) as readonly Json[];
const hasSummary = (body: Json): boolean => JSON.stringify(body).includes("COMPACT-SUMMARY");

interface Setup {
  readonly warnings: string[];
  readonly events: CompactEvent[];
  readonly manager: CompactManager;
  wire: ReturnType<typeof createWire>;
}

function setUp(more: Partial<WireOptions> = {}): Setup {
  const warnings: string[] = [];
  const events: CompactEvent[] = [];
  const onWarning = (message: string): void => void warnings.push(message);
  const manager = new CompactManager(
    {
      model: "gpt-4o",
      maxContextTokens: WINDOW,
      storage: { kind: "memory" },
      policy: { keepRecentTurns: 2, keepToolIoPairs: 2 },
    },
    { onWarning, exporters: [{ export: (event) => void events.push(event) }] },
  );
  return { warnings, events, manager, wire: createWire({ manager, onWarning, ...more }) };
}

const copy = <T>(value: T): T => structuredClone(value);
const ok = (body: object = {}): Response => Response.json(body);
const bad = (message: string): Response => Response.json({ error: { message } }, { status: 400 });

async function nameOf(headers: Readonly<Record<string, string>>, body: Json): Promise<string | undefined> {
  return (await setUp().wire(ANTHROPIC.url, headers, body)).session;
}

describe("the session of a request that names none", () => {
  const key = { "x-api-key": "k" };
  const body = ANTHROPIC.bodyOf(chat(2));

  it.each([
    "x-compact-session",
    "X-Claude-Code-Session-Id",
    "session_id",
    "session-id",
    "thread-id",
    "x-session-id",
  ])("is that of %s, mixed with the key and with the first message", async (header) => {
    const one = await nameOf({ ...key, [header]: "s-1" }, body);
    expect(one).toContain("-s-1-");
    expect(await nameOf({ ...key, [header]: "s-1" }, ANTHROPIC.bodyOf(chat(4)))).toBe(one);
    expect(await nameOf({ ...key, [header]: "s-2" }, body)).not.toBe(one);
    expect(await nameOf({ "x-api-key": "other", [header]: "s-1" }, body)).not.toBe(one);
    const title = ANTHROPIC.bodyOf(chat(0, "Write a title"));
    expect(await nameOf({ ...key, [header]: "s-1" }, title)).not.toBe(one);
  });

  it("is that of prompt_cache_key, and tells agents apart", async () => {
    const named = { ...body, prompt_cache_key: "thread-7" };
    expect(await nameOf(key, named)).toContain("thread-7");
    const session = { ...key, "x-claude-code-session-id": "s" };
    const agents = ["a1", "a2"].map((id) => nameOf({ ...session, "x-claude-code-agent-id": id }, body));
    expect(new Set([...(await Promise.all(agents)), await nameOf(session, body)]).size).toBe(3);
  });

  it("changes neither with the system prompt nor with cache marks, and never holds the key", async () => {
    const secret = { authorization: "Bearer sk-secret" };
    const plain = await nameOf(secret, { ...body, system: "You are careful." });
    expect(await nameOf(secret, { ...body, system: "It is Monday." })).toBe(plain);
    const marked = listOf(body).map(({ role, content }) => ({
      role,
      content: [{ type: "text", text: content, cache_control: { type: "ephemeral" } }],
    }));
    expect(await nameOf(secret, { ...body, messages: marked })).toBe(plain);
    expect(plain).not.toContain("secret");
  });

  it("is a new one where the client's list begins anew", async () => {
    const { wire } = setUp();
    const before = await wire(ANTHROPIC.url, key, ANTHROPIC.bodyOf(chat(20)));
    const list = chat(2, "This session is being continued from a previous conversation.");
    const after = await wire(ANTHROPIC.url, key, ANTHROPIC.bodyOf(list));
    expect(before.report?.compacted).toBe(true);
    expect(after.session).not.toBe(before.session);
    expect(listOf(after.body)).toEqual(list);
  });
});

describe.each(INTERFACES)("calls of $title", ({ url, bodyOf, refusal }) => {
  it("are compacted, the rest of the body as it was, and go on from there", async () => {
    const { wire } = setUp();
    const body = bodyOf(chat(20), { temperature: 0.5 });
    const call = await wire(url, {}, copy(body));
    expect(call.report?.compacted).toBe(true);
    expect(hasSummary(call.body)).toBe(true);
    expect({ ...call.body, messages: 0, input: 0, contents: 0 }).toEqual({
      ...body,
      messages: 0,
      input: 0,
      contents: 0,
    });
    const longer = [
      ...chat(20),
      { role: "assistant", content: "yes" },
      { role: "user", content: "and now?" },
    ];
    const next = await wire(url, {}, copy(bodyOf(longer, { temperature: 0.5 })));
    expect(next.report?.compacted).toBe(false);
    expect(JSON.stringify(listOf(next.body))).toContain(JSON.stringify(listOf(call.body)).slice(1, -1));
  });

  it("are the very body that was given where nothing changes", async () => {
    const body = bodyOf(chat(1));
    expect((await setUp().wire(url, {}, body)).body).toBe(body);
  });

  it("leave without the mark that protects a message, which stays", async () => {
    const { wire } = setUp();
    const list = chat(30).map((entry, index) =>
      index === 1 ? { ...entry, meta: { protected: true } } : entry,
    );
    for (const messages of [list.slice(0, 3), list]) {
      const given = bodyOf(messages);
      const { body } = await wire(url, {}, url.includes("generativelanguage") ? withMeta(given) : given);
      expect(hasSummary(body)).toBe(messages === list);
      expect(JSON.stringify(body)).not.toContain('"protected"');
      expect(JSON.stringify(body)).toContain("answer 0");
    }
  });

  it("over their budget are answered in the provider's own words, without asking it", async () => {
    const { wire } = setUp();
    const call = await wire(url, {}, bodyOf([{ role: "user", content: words("only", 2_000) }]));
    const answer = await call.send(() => Promise.reject(new Error("must not be sent")));
    const { error } = (await answer.json()) as { error: { message: string } };
    expect([answer.status, answer.headers.get("x-should-retry")]).toEqual([400, "false"]);
    expect(error.message).toMatch(refusal);
    expect(error.message).toContain("Raise the context limit to");
  });

  it("that the provider finds too long are compacted harder and sent once more, never twice", async () => {
    const { wire } = setUp();
    const sent: Json[] = [];
    const long = (): Response => bad("prompt is too long: 9000 tokens > 2000 maximum");
    const call = await wire(url, {}, bodyOf(chat(9)));
    const answer = await call.send(async (body) => {
      sent.push(body);
      return sent.length === 1 ? long() : ok();
    });
    expect(answer.status).toBe(200);
    expect(sent.map((body) => JSON.stringify(body).length)).toEqual([
      expect.any(Number),
      expect.toSatisfy((length: number) => length < JSON.stringify(sent[0]).length * 0.7),
    ]);
    const again = await (await wire(url, {}, bodyOf(chat(30, "another")))).send(async () => long());
    expect(again.status).toBe(400);
    expect(await again.text()).toContain("prompt is too long");
  });

  it.each([
    [500, "Context size has been exceeded."],
    [429, "Request too large for m on tokens per min (TPM): Limit 3000, Requested 5000."],
  ])("are compacted harder whatever the status of that refusal: %s %s", async (status, message) => {
    const { wire } = setUp();
    const sent: number[] = [];
    const answer = await (await wire(url, {}, bodyOf(chat(9)))).send(async (body) => {
      sent.push(JSON.stringify(body).length);
      return sent.length === 1 ? Response.json({ error: { message } }, { status }) : ok();
    });
    expect(answer.status).toBe(200);
    expect(sent[1]).toBeLessThan(sent[0]! * 0.7);
  });

  it.each([
    [429, "Rate limit reached for m on tokens per min (TPM): Limit 3000, Used 2500, Requested 900."],
    [500, "Internal server error"],
    [529, "Overloaded"],
  ])("that fail otherwise are sent once, the answer as it is: %s %s", async (status, message) => {
    let sent = 0;
    const call = await setUp().wire(url, {}, bodyOf(chat(9)));
    const answer = await call.send(async () => {
      sent += 1;
      return Response.json({ error: { message } }, { status, headers: { "retry-after": "7" } });
    });
    expect([sent, answer.status, answer.headers.get("retry-after"), await answer.json()]).toEqual([
      1,
      status,
      "7",
      { error: { message } },
    ]);
  });

  it("are retried with the same bytes", async () => {
    const { wire } = setUp();
    const first = await wire(url, {}, copy(bodyOf(chat(20))));
    const again = await wire(url, {}, copy(bodyOf(chat(20))));
    expect(JSON.stringify(again.body)).toBe(JSON.stringify(first.body));
  });
});

describe("a body of compactFetch", () => {
  const text = JSON.stringify(CHAT.bodyOf(chat(20)));
  const sentOf = async (url: string, body: RequestInit["body"]): Promise<[unknown, string[]]> => {
    const sent: unknown[] = [];
    const { manager, warnings } = setUp();
    const fetch = compactFetch({
      manager,
      onWarning: (message) => void warnings.push(message),
      fetch: async (_url, init) => {
        sent.push(init?.body);
        return ok();
      },
    });
    await fetch(url, { method: "POST", body });
    await fetch(url, { method: "POST", body });
    expect(sent[1]).toEqual(sent[0]);
    return [sent[0], warnings];
  };

  it.each([
    ["text", text],
    ["bytes", new TextEncoder().encode(text)],
    ["a buffer", new TextEncoder().encode(text).buffer],
  ])("is compacted where it is %s", async (_, body) => {
    expect(await sentOf(CHAT.url, body)).toEqual([expect.stringContaining("COMPACT-SUMMARY"), []]);
  });

  it("is compacted in a Request that names no JSON", async () => {
    const { manager } = setUp();
    const sent: unknown[] = [];
    const fetch = compactFetch({ manager, fetch: async (_url, init) => ok({ sent: sent.push(init?.body) }) });
    await fetch(new Request(CHAT.url, { method: "POST", body: text }));
    expect(sent).toEqual([expect.stringContaining("COMPACT-SUMMARY")]);
  });

  it.each([
    ["a Blob", new Blob([text])],
    ["a stream", new Blob([text]).stream()],
  ])("passes as it is where it is %s, with one warning", async (_, body) => {
    const [sent, warnings] = await sentOf(CHAT.url, body);
    expect(sent).toBe(body);
    expect(warnings).toEqual([expect.stringContaining("/chat/completions are not compacted")]);
  });

  it.each([
    ["a form", CHAT.url, new FormData()],
    ["a file", "https://api.example/v1/files", new Blob([text])],
  ])("passes without a word where it is %s", async (_, url, body) => {
    expect(await sentOf(url, body)).toEqual([body, []]);
  });
});

describe("tokens that are counted", () => {
  const url = ANTHROPIC.url.replace("?", "/count_tokens?");

  it("are those of the compacted list, with what has come since", async () => {
    const { wire } = setUp();
    const sent = listOf((await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(chat(20)))).body);
    const now = [...chat(20), { role: "assistant", content: "yes" }];
    const counted = await wire(url, {}, { model: "m", messages: copy(now) });
    expect(listOf(counted.body)).toEqual([...sent, now.at(-1)]);
    const edited = await wire(url, {}, { model: "m", messages: [...chat(20).slice(0, -1), now.at(-1)] });
    expect(listOf(edited.body)).toHaveLength(41);
  });
});

describe("the provider's cache", () => {
  const mark = { type: "ephemeral", ttl: "1h" };
  /** As Claude Code does: marks move with the newest messages. */
  const marked = (list: readonly Json[], marks = 2): Json[] =>
    list.map(({ role, content }, index) => ({
      role,
      content: [
        { type: "text", text: content, ...(index >= list.length - marks ? { cache_control: mark } : {}) },
      ],
    }));
  const bare = (body: Json): string =>
    JSON.stringify(listOf(body), (key, value: unknown) => (key === "cache_control" ? undefined : value));
  const marksIn = (body: Json): number => JSON.stringify(body).split('"cache_control"').length - 1;

  it("breaks at compactions only, however the client moves its marks", async () => {
    const { wire } = setUp();
    let before = "";
    let broken = 0;
    let compactions = 0;
    for (let turns = 1; turns <= 30; turns += 1) {
      const { body, report } = await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(marked(chat(turns))));
      const now = bare(body);
      // The newest question stands short in this list and long in the next.
      const prefix = before.slice(0, Math.max(0, before.lastIndexOf('{"role":"user"')));
      if (!now.startsWith(prefix)) broken += 1;
      if (report?.compacted === true) compactions += 1;
      before = now;
    }
    expect(compactions).toBeGreaterThan(1);
    expect(broken).toBe(compactions);
  });

  it.each([
    [0, 0],
    [1, 2],
    [2, 3],
    [3, 4],
    [4, 4],
  ])("of %i marks makes %i, the summary with one as long-lived as the client's", async (given, sent) => {
    const { wire } = setUp();
    const { body } = await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(marked(chat(20), given)));
    expect(hasSummary(body)).toBe(true);
    expect(marksIn(body)).toBe(sent);
    const summary = listOf(body).find((entry) => JSON.stringify(entry).includes("COMPACT-SUMMARY"));
    if (sent > given)
      expect(JSON.stringify(summary)).toContain(JSON.stringify({ cache_control: mark }).slice(1, -1));
  });
});

describe("reasoning that the provider refuses", () => {
  const thought = (text: string): Json => ({ type: "thinking", thinking: text, signature: "s" });
  const call = (id: string): Json => ({ type: "tool_use", id, name: "read", input: {} });
  const result = (id: string): Json => ({
    role: "user",
    content: [{ type: "tool_result", tool_use_id: id, content: "ok" }],
  });
  const answer = (...content: Json[]): Json => ({ role: "assistant", content });
  const ask = { role: "user", content: "go on" };
  const thinking = { type: "enabled", budget_tokens: 1024 };
  const refusal = "messages.1.content.0: this `thinking` block is bound to a different conversation.";

  it("goes out once more without it, and later calls without what was refused", async () => {
    const { wire, events, manager, warnings } = setUp();
    const list = [ask, answer(thought("a"), { type: "text", text: "b" }), ask];
    const sent: Json[] = [];
    const send = async (body: Json): Promise<Response> => {
      sent.push(body);
      return sent.length === 1 ? bad(refusal) : ok();
    };
    const first = await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(list, { thinking }));
    expect((await first.send(send)).status).toBe(200);
    const longer = [...list, answer(thought("c"), call("t")), result("t")];
    await (await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(longer, { thinking }))).send(send);
    expect(sent.map((body) => JSON.stringify(body).match(/"thinking":"\w"/g))).toEqual([
      ['"thinking":"a"'],
      null,
      ['"thinking":"c"'],
    ]);
    expect(sent.map((body) => body.thinking)).toEqual([thinking, thinking, thinking]);
    await manager.flush();
    expect(events.filter(({ properties }) => properties.code === "reasoning_refused")).toHaveLength(1);
    expect(warnings).toEqual([expect.stringContaining("calls are made without thinking")]);
  });

  it("in a list that was compacted harder goes out once more without it", async () => {
    const { wire } = setUp();
    const sent: Json[] = [];
    const answers = [bad("prompt is too long"), bad(refusal), ok()];
    const call = await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf([...chat(9), answer(thought("a")), ask]));
    const last = await call.send(async (body) => {
      sent.push(body);
      return answers[sent.length - 1] as Response;
    });
    expect([last.status, sent.length, JSON.stringify(sent.at(-1)).includes('"thinking"')]).toEqual([
      200,
      3,
      false,
    ]);
  });

  it("in the middle of a turn goes on without thinking until the turn is over", async () => {
    const { wire } = setUp();
    const list = [ask, answer(thought("a"), call("t")), result("t")];
    const sent: Json[] = [];
    const send = async (body: Json): Promise<Response> => {
      sent.push(body);
      return sent.length === 1 ? bad(refusal) : ok();
    };
    const done = [...list, answer({ type: "text", text: "done" }), ask];
    for (const messages of [list, done])
      await (await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(messages, { thinking }))).send(send);
    expect(sent.map((body) => body.thinking)).toEqual([thinking, undefined, thinking]);
  });

  it("of Responses leaves with its items, and with the ids that refer to it", async () => {
    const { wire } = setUp();
    const items = [
      ask,
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" },
      { type: "function_call", id: "fc_1", call_id: "c", name: "read", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "ok" },
    ];
    const sent: Json[] = [];
    const found = await wire(RESPONSES.url, {}, RESPONSES.bodyOf(items));
    await found.send(async (body) => {
      sent.push(body);
      return sent.length === 1 ? bad("The encrypted content gAAA could not be verified.") : ok();
    });
    const { id: _, ...bare } = items[2] as { id: string };
    expect(sent.map(listOf)).toEqual([items, [ask, bare, items[3]]]);
  });

  const DROP = { type: "reasoning_dropped", reason: "prefix_mismatch" };
  const inStream = (piece: object): Response =>
    new Response(`data: ${JSON.stringify(piece)}\n\n`, { headers: { "content-type": "text/event-stream" } });
  it.each([
    { of: "Anthropic", made: ANTHROPIC, answer: () => ok({ input_transformations: [DROP] }) },
    {
      of: "Anthropic, in a stream",
      made: ANTHROPIC,
      answer: () => inStream({ type: "message_start", message: { input_transformations: [DROP] } }),
    },
    { of: "Responses", made: RESPONSES, answer: () => ok({ input_transformations: [DROP] }) },
    {
      of: "Responses, in a stream",
      made: RESPONSES,
      answer: () => inStream({ type: "response.completed", response: { input_transformations: [DROP] } }),
    },
  ])("that the provider dropped is counted in the next report: $of", async ({ made, answer: respond }) => {
    const { wire, events, manager } = setUp();
    const reports = [];
    for (let call = 0; call < 2; call += 1) {
      const found = await wire(made.url, {}, made.bodyOf([ask]));
      reports.push(found.report?.reasoningDroppedByProvider);
      await (await found.send(async () => respond())).text();
    }
    expect(reports).toEqual([undefined, 1]);
    await manager.flush();
    expect(events.map(({ properties }) => properties.code)).toContain("reasoning_dropped");
  });

  it("that the provider dropped is told of each of two parallel answers", async () => {
    const { wire, events, manager } = setUp();
    const calls = [await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf([ask]))];
    calls.push(await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf([ask])));
    const drops = [1, 2].map((many) => ok({ input_transformations: Array(many).fill(DROP) }));
    for (const [index, call] of calls.entries())
      await (await call.send(async () => drops[index] as Response)).text();
    const next = await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf([ask]));
    expect(next.report?.reasoningDroppedByProvider).toBe(2);
    await manager.flush();
    const codes = events.map(({ properties }) => properties.code);
    expect(codes.filter((code) => code === "reasoning_dropped")).toHaveLength(2);
  });

  it("a refusal for another reason stands", async () => {
    let calls = 0;
    const found = await setUp().wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(chat(1)));
    const said = await found.send(async () => {
      calls += 1;
      return bad("temperature: range is 0..1");
    });
    expect([calls, said.status, await said.text()]).toEqual([
      1,
      400,
      expect.stringContaining("range is 0..1"),
    ]);
  });
});

describe("a conversation that the provider keeps or compacts", () => {
  it.each([
    ["context_management", ANTHROPIC, { edits: [{ type: "compact_20260112" }] }],
    ["compaction", ANTHROPIC, { enabled: true }],
    ["thread", ANTHROPIC, { type: "continue", previous_message_id: "msg_1" }],
    ["previous_response_id", RESPONSES, "resp_1"],
    ["conversation", RESPONSES, "conv_1"],
    ["context_management", RESPONSES, [{ type: "compaction" }]],
  ])("by %s of $title passes as it is, told once", async (field, { url, bodyOf }, value) => {
    const { wire, warnings } = setUp();
    const body = bodyOf(chat(20), { [field]: value });
    for (const _ of [1, 2]) {
      const call = await wire(url, {}, body);
      expect([call.body === body, call.passedBy]).toEqual([true, "server_managed"]);
      await call.send(async () => Response.json({}));
    }
    expect(warnings).toEqual([expect.stringMatching(`${field}.* sent whole`)]);
  });

  it("and that the provider does not know is told of by nobody: the client sends the list next", async () => {
    const { wire, warnings } = setUp();
    const thread = { type: "continue", previous_message_id: "msg_1" };
    const call = await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(chat(1), { thread }));
    expect((await call.send(async () => Response.json({}, { status: 404 }))).status).toBe(404);
    expect(warnings).toEqual([]);
  });

  it("that would begin on the server is kept here", async () => {
    const thread = { type: "create" };
    const call = await setUp().wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(chat(20), { thread }));
    expect([call.report?.compacted, call.body.thread]).toEqual([true, undefined]);
    const short = await setUp().wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(chat(1), { thread }));
    expect(short.body).toEqual(ANTHROPIC.bodyOf(chat(1)));
  });

  it("is ours where it only clears tool results", async () => {
    const edits = { edits: [{ type: "clear_tool_uses_20250919" }] };
    const { wire } = setUp();
    const call = await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(chat(20), { context_management: edits }));
    expect(call.report?.compacted).toBe(true);
  });
});

describe("a chain of responses", () => {
  it("is the server's: nothing is rebuilt, not even when the list behind it grows over the window", async () => {
    const { wire, manager } = setUp();
    const headers = { "session-id": "chain" };
    const first = await wire(RESPONSES.url, headers, RESPONSES.bodyOf(chat(1), { store: true }));
    expect(first.passedBy).toBeUndefined();
    for (const turns of [1, 20]) {
      const body = RESPONSES.bodyOf(chat(turns), { store: true, previous_response_id: "resp_1" });
      const next = await wire(RESPONSES.url, headers, body);
      expect([next.body === body, next.passedBy, next.session]).toEqual([
        true,
        "server_managed",
        first.session,
      ]);
    }
    expect(manager.getState(first.session as string).summaryVersion).toBeUndefined();
  });

  it("that the client gives up is compacted from then on, `store` as the client wants it", async () => {
    const { wire } = setUp();
    const chained = { store: true, previous_response_id: "resp_1" };
    await wire(RESPONSES.url, {}, RESPONSES.bodyOf(chat(0), chained));
    const whole = await wire(RESPONSES.url, {}, RESPONSES.bodyOf(chat(20), { store: true }));
    expect([whole.report?.compacted, whole.body.store, hasSummary(whole.body)]).toEqual([true, true, true]);
  });
});

describe("recall tools", () => {
  const looked = (times: number): Json[] => [
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "r1", name: "compact_search", input: { query: "tides" } }],
    },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "r1", content: words("the tide table", times) }],
    },
  ];

  it.each(INTERFACES)("are never added to the tools of $title", async ({ url, bodyOf }) => {
    const tools = [{ name: "read", description: "Reads.", input_schema: { type: "object" } }];
    for (const more of [{ tools }, {}]) {
      const call = await setUp().wire(url, {}, bodyOf(chat(20), more));
      expect(call.report?.compacted).toBe(true);
      expect(call.body.tools).toBe((more as { tools?: unknown }).tools);
    }
  });

  it("that the client has itself go through, and what they just found stays whole", async () => {
    const { wire } = setUp();
    const found = looked(40);
    const list = [...chat(20), ...found];
    const call = await wire(
      ANTHROPIC.url,
      {},
      ANTHROPIC.bodyOf(list, { tools: [{ name: "compact_search" }] }),
    );
    expect(call.report?.compacted).toBe(true);
    expect(listOf(call.body).slice(-2)).toEqual(found);
  });
});

describe("what is no call with a conversation", () => {
  it("passes; a list under an address that nobody knows is told once", async () => {
    const { wire, warnings } = setUp();
    const body = { messages: chat(20) };
    for (const _ of [1, 2])
      expect((await wire("https://x.example/api/chat", {}, body)).passedBy).toBe("no_model_call");
    expect((await wire("https://x.example/v1/embeddings", {}, { input: ["a", "b"] })).passedBy).toBe(
      "no_model_call",
    );
    expect(warnings).toEqual([expect.stringContaining("/api/chat")]);
  });
});

describe("usage", () => {
  const usage = {
    input_tokens: 9,
    cache_read_input_tokens: 3,
    cache_creation_input_tokens: 0,
    output_tokens: 1,
  };

  it.each([
    ["JSON", "application/json", JSON.stringify({ content: [], usage: { ...usage, output_tokens: 5 } })],
    [
      "a stream",
      "text/event-stream",
      [
        `event: message_start\ndata: ${JSON.stringify({ type: "message_start", message: { usage } })}`,
        'event: ping\r\ndata: {"type": "ping"}',
        `event: message_delta\ndata: ${JSON.stringify({ type: "message_delta", usage: { output_tokens: 5 } })}`,
        "data: [DONE]",
      ].join("\n\n"),
    ],
  ])("is read from %s as it passes, not a byte changed", async (_, type, text) => {
    const told: Json[] = [];
    const { wire } = setUp({ onUsage: (_session, seen) => void told.push(seen) });
    const bytes = new TextEncoder().encode(`${text}\n`);
    // In pieces of seven bytes, as a slow network brings them.
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += 7) controller.enqueue(bytes.slice(at, at + 7));
        controller.close();
      },
    });
    const call = await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(chat(1)));
    const answer = await call.send(async () => new Response(body, { headers: { "content-type": type } }));
    expect(await answer.text()).toBe(`${text}\n`);
    expect(told.at(-1)).toEqual({ ...usage, output_tokens: 5 });
  });

  it("teaches the manager that made the call, where two models take turns in a session", async () => {
    const seen: unknown[] = [];
    const managers = new Map(
      ["one", "two"].map((name) => {
        const { manager } = setUp();
        const preflight = manager.preflight.bind(manager);
        manager.preflight = (session, list, request) => {
          seen.push([name, request?.usage]);
          return preflight(session, list, request);
        };
        return [name, manager];
      }),
    );
    const { wire } = setUp({ manager: (model) => managers.get(model ?? "") as CompactManager });
    for (const [turns, model] of ["one", "two", "one", "two"].entries()) {
      const call = await wire(CHAT.url, {}, CHAT.bodyOf(chat(turns), { model }));
      const told = { prompt_tokens: 100 + turns, completion_tokens: 1 };
      await (await call.send(async () => ok({ usage: told }))).text();
    }
    const told = (tokens: number) => ({ prompt_tokens: tokens, completion_tokens: 1 });
    expect(seen).toEqual([
      ["one", undefined],
      ["two", undefined],
      ["one", told(100)],
      ["two", told(101)],
    ]);
  });

  it.each([
    { prompt_tokens: -5, completion_tokens: "many" },
    { prompt_tokens: Number.MAX_SAFE_INTEGER, completion_tokens: 1, total_tokens: 2 },
    { prompt_tokens: 0, completion_tokens: 0 },
    { total_tokens: null },
  ])("that makes no sense changes nothing: %o", async (nonsense) => {
    const { wire } = setUp();
    const call = await wire(CHAT.url, {}, CHAT.bodyOf(chat(2)));
    await (await call.send(async () => ok({ usage: nonsense }))).text();
    const next = await wire(CHAT.url, {}, CHAT.bodyOf(chat(3)));
    expect([next.report?.compacted, listOf(next.body).length]).toEqual([false, 7]);
  });
});

describe("an application that changes its mind", () => {
  it.each([
    ["another system prompt", { system: "It is Tuesday." }],
    ["other tools", { tools: [{ name: "read", input_schema: { type: "object" } }] }],
    ["another model", { model: "claude-haiku-4-5" }],
  ])("%s in mid-session keeps the session and its summary", async (_, change) => {
    const { wire } = setUp();
    const before = await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(chat(20)));
    const after = await wire(ANTHROPIC.url, {}, ANTHROPIC.bodyOf(copy(chat(20)), change));
    expect(after.session).toBe(before.session);
    expect(listOf(after.body)).toEqual(listOf(before.body));
  });

  it("a fork goes on from the last entry that both have, and nothing of the other branch is sent", async () => {
    const { wire } = setUp();
    const root = chat(20);
    await wire(
      CHAT.url,
      {},
      CHAT.bodyOf([...root, { role: "assistant", content: "left" }, { role: "user", content: "and left?" }]),
    );
    const right = [...root, { role: "assistant", content: "right" }, { role: "user", content: "and right?" }];
    const { body } = await wire(CHAT.url, {}, CHAT.bodyOf(copy(right)));
    const sent = JSON.stringify(body);
    expect([sent.includes("and right?"), sent.includes("and left?")]).toEqual([true, false]);
  });

  it("an early message that is edited is never answered from the old summary", async () => {
    const { wire } = setUp();
    await wire(CHAT.url, {}, CHAT.bodyOf(chat(20)));
    const edited = chat(20).map((entry, index) =>
      index === 2 ? { role: "user", content: words("a new wish: PURPLE") } : entry,
    );
    const { body, report } = await wire(CHAT.url, {}, CHAT.bodyOf(edited));
    expect(report?.compacted).toBe(true);
    expect(JSON.stringify(body)).toContain("PURPLE");
    expect(JSON.stringify(body)).not.toMatch(/question 1\b/);
  });

  it("a text as input of Responses is counted", async () => {
    const { wire, manager } = setUp();
    const call = await wire(RESPONSES.url, {}, { model: "m", input: words("only") });
    expect(typeof call.body.input).toBe("string");
    expect(manager.getState(String(call.session)).totalTokens).toBeGreaterThan(100);
    const over = await wire(RESPONSES.url, {}, { model: "m", input: words("only", 2_000) });
    expect((await over.send(async () => ok())).status).toBe(400);
  });
});
