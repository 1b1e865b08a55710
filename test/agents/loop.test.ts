import { describe, expect, it } from "vitest";
import { type AgentModel, createAgent } from "../../packages/compact-context/src/agent/index.ts";
import { createScriptedModel } from "../../packages/compact-context/src/agent/scripted.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { agentWith, endOf, eventsOf, play, resultsIn, tool } from "./harness.ts";

const callOnce =
  (name: string, args: unknown = {}) =>
  (_request: unknown, number: number) =>
    number === 1 ? { text: "Let me see. ", calls: [{ name, arguments: args }] } : { text: "Done." };

describe("the loop", () => {
  it("streams text, calls, results and use, in order, to one end", async () => {
    const { agent, requests } = await agentWith(callOnce("read"), { tools: [tool("read", () => "hello")] });
    const events = await play(agent, "read it");
    expect(events.map(({ type }) => type)).toEqual([
      "text",
      "usage",
      "toolStarted",
      "toolFinished",
      "text",
      "usage",
      "ended",
    ]);
    expect(endOf(events)).toEqual({ type: "ended", end: "answered", text: "Done." });
    expect(resultsIn(requests[1] ?? { messages: [] })).toEqual(["hello"]);
    expect(agent.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it("keeps tools and system prompt the same, byte by byte, over a session", async () => {
    const { agent, requests } = await agentWith(callOnce("read"), {
      system: "Be brief.",
      tools: [tool("read", () => "x")],
    });
    await play(agent, "one");
    await play(agent, "two");
    const heads = requests.map(({ system, tools }) => JSON.stringify({ system, tools }));
    expect(new Set(heads).size).toBe(1);
    expect(requests.map(({ messages }) => messages.length)).toEqual([1, 3, 5]);
  });

  it("counts what a request cost where prices are known", async () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 0, inputTokenDetails: {} };
    const model = createScriptedModel(() => ({ text: "ok", usage }), { name: "openai:gpt-5.4-mini" });
    const { agent } = await agentWith(() => ({}), { model });
    const [used] = eventsOf(await play(agent, "hi"), "usage");
    expect(used?.spent.inputTokens).toBe(1_000_000);
    expect(used?.spent.dollars).toBeGreaterThan(0);
    expect(agent.spent.dollars).toBe(used?.spent.dollars);
  });

  it("is asked beside its turns without tools and without the session, and counts what that takes", async () => {
    const usage = { inputTokens: 7, outputTokens: 2 };
    const { agent, requests } = await agentWith(() => ({ text: "Two words.", usage }));
    await play(agent, "hello");
    const answer = await agent.ask({
      messages: [
        { role: "system", content: "Be short." },
        { role: "user", content: "What is new?" },
      ],
      maxOutputTokens: 100,
    });
    expect(answer).toEqual({ text: "Two words.", stop: "end", usage });
    expect(requests[1]).toMatchObject({
      system: "Be short.",
      messages: [{ role: "user", content: "What is new?" }],
      tools: [],
    });
    expect(agent.spent).toMatchObject({ requests: 2, inputTokens: 14, outputTokens: 4 });
    expect(JSON.stringify(agent.messages)).not.toContain("What is new?");
  });

  it("lets one turn run at a time", async () => {
    const { agent } = await agentWith(() => ({ text: "ok" }));
    const first = agent.send("one")[Symbol.asyncIterator]();
    await first.next();
    await expect(play(agent, "two")).rejects.toMatchObject({ code: "InvalidUsage" });
    await expect(agent.compact()).rejects.toMatchObject({ code: "InvalidUsage" });
    await first.return?.(undefined);
    expect(endOf(await play(agent, "three"))?.end).toBe("answered");
  });

  it("refuses a manager that would send any amount of tool output", async () => {
    const model = createScriptedModel(() => ({}));
    const manager = new CompactManager({ storage: { kind: "memory" } });
    await expect(createAgent({ model, manager })).rejects.toMatchObject({
      code: "InvalidConfig",
      place: "policy.maxToolResultTokens",
    });
  });

  it.each(["read", "compact_search"])("refuses two tools named %s", async (name) => {
    const tools = [tool("read", () => "one"), tool(name, () => "two")];
    await expect(agentWith(() => ({ text: "ok" }), { tools })).rejects.toMatchObject({
      code: "InvalidConfig",
      place: "tools",
      message: `two tools are named "${name}"`,
    });
  });

  it("ends at its bounds with every call answered", async () => {
    const { agent, requests } = await agentWith(() => ({ calls: [{ name: "read" }, { name: "read" }] }), {
      tools: [tool("read", () => "x")],
      limits: { requests: 3, calls: 5 },
    });
    expect(endOf(await play(agent, "loop"))?.end).toBe("call-limit");
    expect(requests).toHaveLength(3);
    expect(endOf(await play(agent, "go on"))?.end).toBe("call-limit");
  });
});

describe("tools that go wrong", () => {
  it("tells the model what a tool threw, and of a tool that does not exist", async () => {
    const { agent, requests } = await agentWith(
      (_request, number) =>
        number === 1 ? { calls: [{ name: "broken" }, { name: "reed" }] } : { text: "I see." },
      {
        tools: [
          tool("broken", () => {
            throw new Error("no such table");
          }),
        ],
      },
    );
    const events = await play(agent, "go");
    expect(resultsIn(requests[1] ?? { messages: [] })).toEqual([
      "The tool failed: no such table",
      expect.stringMatching(/^There is no tool "reed". The tools are: broken, /),
    ]);
    expect(eventsOf(events, "toolFinished").every(({ isError }) => isError)).toBe(true);
    expect(endOf(events)?.end).toBe("answered");
  });

  it.each([undefined, null])("gives an empty result for a tool that returns %s", async (nothing) => {
    const { agent, requests } = await agentWith(callOnce("quiet"), { tools: [tool("quiet", () => nothing)] });
    await play(agent, "go");
    expect(resultsIn(requests[1] ?? { messages: [] })).toEqual([""]);
  });

  it("gives up a tool that never returns", async () => {
    const { agent, requests } = await agentWith(callOnce("hang"), {
      tools: [tool("hang", () => new Promise(() => undefined), { deadlineMs: 20 })],
    });
    expect(endOf(await play(agent, "go"))?.end).toBe("answered");
    expect(resultsIn(requests[1] ?? { messages: [] })[0]).toMatch(/did not answer within 0.02 s/);
  });

  it("cuts a flood before it is sent for the first time, and the whole is found by its id", async () => {
    const flood = Array.from({ length: 40_000 }, (_, line) => `line ${line} says ${line * 7}`).join("\n");
    let id = "";
    const { agent, requests } = await agentWith(
      (request, number) => {
        if (number === 1) return { calls: [{ name: "flood" }] };
        const [seen = ""] = resultsIn(request);
        id ||= /archive id (\w{10})/.exec(seen)?.[1] ?? "";
        if (number === 2) return { calls: [{ name: "compact_expand", arguments: { id, offset: 400_000 } }] };
        return { text: "Found." };
      },
      {
        tools: [tool("flood", () => flood)],
        config: { storage: { kind: "memory" }, policy: { maxToolResultTokens: 500 } },
      },
    );
    const events = await play(agent, "go");
    expect(JSON.stringify(requests[1]?.messages).length).toBeLessThan(8000);
    expect(resultsIn(requests[2] ?? { messages: [] })[0]).toContain("line 18709 says 130963");
    expect(eventsOf(events, "compacted")[0]?.kept).toMatch(/^long tool output shortened/);
  });

  it("says what of an endless output was not kept", async () => {
    const { agent, requests } = await agentWith(callOnce("flood"), {
      tools: [tool("flood", () => "x".repeat(5000))],
      limits: { outputCharacters: 1000 },
    });
    await play(agent, "go");
    expect(resultsIn(requests[1] ?? { messages: [] })[0]).toContain(
      "[4000 characters of output were not kept",
    );
  });

  it("asks for permission, tells the model of a refusal, and takes a broken asker for a refusal", async () => {
    const ran: string[] = [];
    const tools = ["read", "write", "erase"].map((name) => tool(name, () => ran.push(name)));
    const { agent, requests } = await agentWith(
      (_request, number) =>
        number === 1 ? { calls: [{ name: "read" }, { name: "write" }, { name: "erase" }] } : { text: "ok" },
      {
        tools,
        permissions: ({ tool: name }) => {
          if (name === "erase") throw new Error("the prompt is gone");
          return name === "write" ? { deny: "Not on a Friday." } : "allow";
        },
      },
    );
    await play(agent, "go");
    expect(ran).toEqual(["read"]);
    expect(resultsIn(requests[1] ?? { messages: [] }).slice(1)).toEqual([
      "The user did not allow this call. Not on a Friday.",
      "Not run: the permission could not be asked for (the prompt is gone).",
    ]);
  });

  it("runs neighbours that may run together at the same time, others in order", async () => {
    const log: string[] = [];
    const slow = (name: string, together: boolean) =>
      tool(
        name,
        async () => {
          log.push(`${name} begins`);
          await new Promise((done) => setTimeout(done, 5));
          log.push(`${name} ends`);
        },
        { concurrent: together },
      );
    const { agent } = await agentWith(
      (_request, number) =>
        number === 1 ? { calls: ["a", "b", "c"].map((name) => ({ name })) } : { text: "ok" },
      { tools: [slow("a", true), slow("b", true), slow("c", false)] },
    );
    await play(agent, "go");
    expect(log.slice(0, 2)).toEqual(["a begins", "b begins"]);
    expect(log.slice(4)).toEqual(["c begins", "c ends"]);
  });
});

describe("models that go wrong", () => {
  it("asks again after an error that may pass, and tells what of the text does not count", async () => {
    const overloaded = Object.assign(new Error("overloaded"), { status: 529 });
    const { agent } = await agentWith((_request, number) =>
      number === 1 ? { text: "Half an ", error: overloaded } : { text: "A whole answer." },
    );
    const events = await play(agent, "go");
    expect(eventsOf(events, "retry")).toEqual([
      { type: "retry", attempt: 1, reason: "overloaded", pauseMs: 500, discarded: "Half an " },
    ]);
    expect(endOf(events)).toMatchObject({ end: "answered", text: "A whole answer." });
    expect(agent.messages).toHaveLength(2);
  });

  it("tells an error that does not pass, keeps the part that came, and the session goes on", async () => {
    const denied = Object.assign(new Error("invalid key"), { status: 401 });
    const { agent, requests } = await agentWith((_request, number) =>
      number === 1 ? { text: "Half an ", error: denied } : { text: "Here." },
    );
    const events = await play(agent, "go");
    expect(eventsOf(events, "error")[0]?.diagnostic).toMatchObject({
      code: "model-failed",
      message: "invalid key",
    });
    expect(endOf(events)?.end).toBe("failed");
    expect(endOf(await play(agent, "again"))?.end).toBe("answered");
    expect(JSON.stringify(requests[1]?.messages)).toContain(
      "Half an \\n[The answer was cut off: the model failed: invalid key]",
    );
  });

  it("compacts what the provider finds too long and sends it once more", async () => {
    const tooLong = Object.assign(new Error("prompt is too long: 9000 tokens > 8000 maximum"), {
      statusCode: 400,
    });
    const { agent, requests } = await agentWith((_request, number) =>
      number > 12 && number % 2 === 1 ? { error: tooLong } : { text: `Noted ${"a fact ".repeat(40)}` },
    );
    for (let turn = 1; turn <= 12; turn += 1)
      await play(agent, `Remember fact ${turn}. ${"More. ".repeat(40)}`);
    const events = await play(agent, "go on");
    expect(endOf(events)?.end).toBe("answered");
    expect(eventsOf(events, "retry")).toMatchObject([{ reason: expect.stringContaining("too long") }]);
    expect(eventsOf(events, "error")).toEqual([]);
    const [refused, sent] = requests.slice(-2).map(({ messages }) => JSON.stringify(messages));
    expect(sent?.length).toBeLessThan((refused?.length ?? 0) * 0.8);
    expect(sent).toContain("<COMPACT-SUMMARY v1>");
    expect(sent).toContain("go on");
  });

  it("tells that a request is too long where nothing of it can go", async () => {
    const tooLong = Object.assign(new Error("prompt is too long"), { statusCode: 400 });
    const { agent, requests } = await agentWith(() => ({ error: tooLong }));
    const events = await play(agent, "go");
    expect(requests).toHaveLength(1);
    expect(eventsOf(events, "error")[0]?.diagnostic).toMatchObject({ message: "prompt is too long" });
  });

  it("gives up a model that says nothing more", async () => {
    const model = createScriptedModel(() => ({ text: "never heard" }), {
      pause: () => new Promise(() => undefined),
    });
    const { agent } = await agentWith(() => ({}), { model, limits: { modelSilenceMs: 10, retries: 1 } });
    const events = await play(agent, "go");
    expect(eventsOf(events, "retry")).toHaveLength(1);
    expect(eventsOf(events, "error")[0]?.diagnostic.message).toBe("the model said nothing for 0.01 s");
  });

  it("stops when the user interrupts, in the middle of text and of tools, with a list that can go on", async () => {
    const stop = new AbortController();
    const { agent } = await agentWith(
      (_request, number) =>
        number === 1
          ? { calls: [{ name: "slow" }, { name: "next" }] }
          : { text: "A long answer. ".repeat(50) },
      {
        tools: [
          tool("slow", () => {
            stop.abort();
            return new Promise(() => undefined);
          }),
          tool("next", () => "never run"),
        ],
      },
    );
    expect(endOf(await play(agent, "go", stop.signal))?.end).toBe("interrupted");
    expect(JSON.stringify(agent.messages.at(-1))).toMatch(/was not finished.*was not run/);
    const again = new AbortController();
    const events = [];
    for await (const event of agent.send("go on", { signal: again.signal })) {
      events.push(event);
      if (event.type === "text") again.abort();
    }
    expect(endOf(events)?.end).toBe("interrupted");
    expect(JSON.stringify(agent.messages.at(-1))).toContain("[The answer was cut off: the user interrupted]");
    expect(endOf(await play(agent, "and now"))?.end).toBe("answered");
  });

  it("takes any number of milliseconds for a limit, also one without an end", async () => {
    const { agent } = await agentWith(callOnce("slow"), {
      tools: [tool("slow", () => new Promise((done) => setTimeout(done, 30)))],
      limits: { wallMs: Number.POSITIVE_INFINITY, toolMs: 1e12, modelSilenceMs: 2 ** 40 },
    });
    const events = await play(agent, "go");
    expect(endOf(events)).toMatchObject({ end: "answered", text: "Done." });
    expect(eventsOf(events, "toolFinished")[0]?.isError).toBe(false);
  });

  it("closes the model's stream, whether the answer ended, broke off or was not waited for", async () => {
    const closed: string[] = [];
    const model: AgentModel = {
      name: "demo:stream",
      async *stream({ messages }) {
        const [asked] = messages.flatMap(({ role, content }) => (role === "user" ? [content] : [])).slice(-1);
        const text = JSON.stringify(asked);
        try {
          yield { type: "text", text: "Here." };
          if (text.includes("break")) throw new Error("denied");
          yield { type: "end", stop: "end" };
        } finally {
          closed.push(text.includes("break") ? "broken" : text.includes("leave") ? "left" : "ended");
        }
      },
    };
    const { agent } = await agentWith(() => ({}), { model });
    await play(agent, "end");
    await play(agent, "break");
    for await (const event of agent.send("leave")) if (event.type === "text") break;
    expect(closed).toEqual(["ended", "broken", "left"]);
  });

  it("ends when its wall time is over", async () => {
    const { agent } = await agentWith(callOnce("hang"), {
      tools: [tool("hang", () => new Promise(() => undefined))],
      limits: { wallMs: 30 },
    });
    expect(endOf(await play(agent, "go"))?.end).toBe("time-limit");
    expect(agent.messages.at(-1)?.role).toBe("tool");
  });
});
