import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type {
  AgentModelRequest,
  AgentOptions,
  SubAgent,
} from "../../packages/compact-context/src/agent/index.ts";
import { createScriptedModel } from "../../packages/compact-context/src/agent/scripted.ts";
import { CompactManager } from "../../packages/compact-context/src/create-manager.ts";
import { ensureChannel } from "../../packages/compact-context/src/memory/files/folders.ts";
import { writeMemoryFile } from "../../packages/compact-context/src/memory/files/write-file.ts";
import { createChannelMemory } from "../../packages/compact-context/src/memory/index.ts";
import { agentWith, endOf, eventsOf, play, resultsIn, tempFolder, tool } from "./harness.ts";

const reviewer: SubAgent = {
  name: "reviewer",
  description: "Reviews.",
  prompt: "You review.",
  contextMode: "isolated",
  memory: "none",
  limits: {},
  place: "reviewer.md",
};

const isSub = ({ system }: AgentModelRequest): boolean => system === "You review.";

/** An agent whose first answer hands the task over; `sub` answers for the sub-agent. */
async function handing(
  sub: (request: AgentModelRequest, number: number) => object,
  options: Partial<AgentOptions> & { readonly subAgent?: Partial<SubAgent> } = {},
) {
  const { subAgent, ...rest } = options;
  let subRequests = 0;
  return agentWith(
    (request) => {
      if (isSub(request)) {
        subRequests += 1;
        return sub(request, subRequests);
      }
      if (JSON.stringify(request.messages.at(-1)).includes("Search for the colour"))
        return { calls: [{ name: "compact_search", arguments: { query: "colour of page" } }] };
      return request.messages.at(-1)?.role === "user"
        ? {
            calls: [
              {
                name: "sub_agent",
                arguments: { agent: "reviewer", task: "Review how the parser reads UTF-8 files, rule 7." },
              },
            ],
          }
        : { text: "Handed over." };
    },
    { system: "You lead.", subAgents: [{ ...reviewer, ...subAgent }], ...rest },
  );
}

async function channelWithMemory(): Promise<{ channelDir: string; workspaceDir: string }> {
  const workspaceDir = tempFolder();
  const channelDir = join(workspaceDir, "channel");
  await ensureChannel(channelDir);
  await writeMemoryFile(
    join(channelDir, "SESSION.md"),
    "# Current State\n\nThe parser loses the last line of a file.\n",
  );
  await writeMemoryFile(
    join(channelDir, "MEMORY.md"),
    "# Channel memory\n\n## Decisions\n\n- The parser reads UTF-8 files only, ticket 4411.\n\n## Facts\n\n- Lunch is at noon.\n",
  );
  return { channelDir, workspaceDir };
}

describe("sub-agents", () => {
  it("AGT-1 isolated: its request is its prompt and its task and nothing else, memory or not", async () => {
    const plain = await handing(() => ({ text: "Fine." }));
    await play(plain.agent, "Please review.");
    const folders = await channelWithMemory();
    const rich = await handing(() => ({ text: "Fine." }), {
      ...folders,
      memory: createChannelMemory(folders),
    });
    await play(rich.agent, "Please review.");
    const [one, other] = [plain, rich].map(({ requests }) => {
      const request = requests.find(isSub);
      const { signal: _, ...sent } = request ?? { signal: undefined };
      return JSON.stringify(sent);
    });
    expect(one).toBe(other);
    expect(plain.requests.find(isSub)).toMatchObject({
      system: "You review.",
      messages: [
        {
          role: "user",
          content: [{ type: "text", text: "Review how the parser reads UTF-8 files, rule 7." }],
        },
      ],
    });
  });

  it.each([
    ["none", [], ["loses the last line", "4411"]],
    ["relevant", ["4411"], ["Lunch"]],
    ["session", ["loses the last line"], ["4411"]],
    ["channel", ["loses the last line", "4411"], ["Lunch"]],
  ] as const)(
    "AGT-1 contextual with memory %s: what it reads before its task",
    async (memory, holds, lacks) => {
      const folders = await channelWithMemory();
      const { agent, requests } = await handing(() => ({ text: "Fine." }), {
        ...folders,
        memory: createChannelMemory(folders),
        subAgent: { contextMode: "contextual", memory },
      });
      await play(agent, "Please review.");
      const sent = JSON.stringify(requests.find(isSub)?.messages);
      for (const text of holds) expect(sent).toContain(text);
      for (const text of lacks) expect(sent).not.toContain(text);
      expect(sent).toContain("Review how the parser reads UTF-8 files, rule 7.");
    },
  );

  it.each(["relevant", "session", "channel"] as const)(
    "AGT-1 contextual with memory %s stays inside its budget, however long the files are",
    async (memory) => {
      const folders = await channelWithMemory();
      const more =
        "which holds for each file that it reads, whatever its size, its age and its name, ".repeat(4);
      const long = Array.from(
        { length: 900 },
        (_, line) => `- The parser has rule ${line}, ${more}always.`,
      ).join("\n");
      await writeMemoryFile(join(folders.channelDir, "SESSION.md"), `# Current State\n\n${long}\n`);
      await writeMemoryFile(
        join(folders.channelDir, "MEMORY.md"),
        `# Channel memory\n\n## Facts\n\n${long}\n`,
      );
      const { agent, requests } = await handing(() => ({ text: "Fine." }), {
        ...folders,
        memory: createChannelMemory(folders),
        subAgent: { contextMode: "contextual", memory },
      });
      await play(agent, "Please review.");
      const [first] = requests.find(isSub)?.messages ?? [];
      const text = JSON.stringify(first).length;
      expect(text).toBeLessThan({ relevant: 2000, session: 3000, channel: 5000 }[memory] + 600);
      expect(text).toBeGreaterThan(500);
    },
  );

  it("AGT-1 thinks as hard as its definition says, whatever its parent does", async () => {
    const { agent, requests } = await handing(() => ({ text: "Fine." }), {
      subAgent: { thinkingLevel: "high" },
    });
    await play(agent, "Please review.");
    expect(requests.map((request) => [isSub(request), request.thinkingLevel])).toEqual([
      [false, undefined],
      [true, "high"],
      [false, undefined],
    ]);
  });

  it("tells when it starts and ends, what it took, and gives its answer to the parent", async () => {
    const { agent, requests } = await handing(() => ({
      text: "No faults.",
      usage: { inputTokens: 10, outputTokens: 5 },
    }));
    const events = await play(agent, "Please review.");
    expect(eventsOf(events, "subAgentStarted")).toMatchObject([
      { name: "reviewer", task: "Review how the parser reads UTF-8 files, rule 7." },
    ]);
    expect(eventsOf(events, "subAgentEnded")).toMatchObject([
      { name: "reviewer", end: "answered", spent: { requests: 1, inputTokens: 10, outputTokens: 5 } },
    ]);
    expect(resultsIn(requests.at(-1) ?? { messages: [] })).toEqual(["No faults."]);
    expect(agent.spent.requests).toBe(3);
    expect(JSON.stringify(agent.messages)).not.toContain("You review.");
  });

  it("bounds what comes back to the parent, the whole behind an id", async () => {
    const answer = Array.from({ length: 5000 }, (_, line) => `finding ${line}`).join("\n");
    const { agent, requests } = await handing(() => ({ text: answer }), {
      config: { storage: { kind: "memory" }, policy: { maxToolResultTokens: 500 } },
    });
    await play(agent, "Please review.");
    const [seen = ""] = resultsIn(requests.at(-1) ?? { messages: [] });
    expect(seen.length).toBeLessThan(4000);
    expect(seen).toMatch(/archive id \w{10}/);
  });

  it("compacts its own session, not the parent's, and its archive stays within the parent's reach", async () => {
    const page = Array.from({ length: 150 }, (_, line) => `line ${line} of a page`).join("\n");
    const { agent, requests } = await handing(
      (_request, number) => (number <= 14 ? { calls: [{ name: "read" }] } : { text: "Read it all." }),
      {
        tools: [tool("read", () => `${page}\nThe colour of page is teal-77.`)],
        config: { storage: { kind: "memory" }, maxContextTokens: 9000, policy: { hardCapBuffer: 500 } },
      },
    );
    const events = await play(agent, "Please review.");
    const compactions = eventsOf(events, "compacted");
    expect(compactions.length).toBeGreaterThan(0);
    expect(compactions.every(({ sessionId }) => sessionId !== agent.sessionId)).toBe(true);
    expect(agent.context().compactions).toBe(0);
    expect(endOf(events)?.end).toBe("answered");
    expect(
      requests.filter(isSub).some(({ messages }) => JSON.stringify(messages).includes("COMPACT-SUMMARY")),
    ).toBe(true);
    await play(agent, "Search for the colour.");
    expect(resultsIn(requests.at(-1) ?? { messages: [] })[0]).toContain("teal-77");
  });

  it("with a model of its own leaves its archive within the parent's reach as well", async () => {
    const page = Array.from({ length: 150 }, (_, line) => `line ${line} of a page`).join("\n");
    let read = 0;
    const own = createScriptedModel(
      () => (read++ < 14 ? { calls: [{ name: "read" }] } : { text: "Read it all." }),
      { name: "demo:small", window: 9000 },
    );
    const { agent, requests } = await handing(() => ({ text: "never asked" }), {
      tools: [tool("read", () => `${page}\nThe colour of page is teal-77.`)],
      models: () => own,
      subAgent: { model: "demo:small" },
    });
    const events = await play(agent, "Please review.");
    expect(eventsOf(events, "compacted").length).toBeGreaterThan(0);
    await play(agent, "Search for the colour.");
    expect(resultsIn(requests.at(-1) ?? { messages: [] })[0]).toContain("teal-77");
  });

  it("reads a SESSION.md of odd headings in no time", async () => {
    const folders = await channelWithMemory();
    const odd = `# ${"#".repeat(60)}\n\nThe parser waits.\n`;
    await writeMemoryFile(join(folders.channelDir, "SESSION.md"), odd);
    const { agent, requests } = await handing(() => ({ text: "Fine." }), {
      ...folders,
      memory: createChannelMemory(folders),
      subAgent: { contextMode: "contextual", memory: "session" },
    });
    await play(agent, "Please review.");
    expect(JSON.stringify(requests.find(isSub)?.messages)).toContain("The parser waits.");
  });

  it("works without a memory that cannot be recalled, and the parent is warned", async () => {
    const folders = await channelWithMemory();
    const memory = createChannelMemory(folders);
    const { agent, requests } = await handing(() => ({ text: "Fine." }), {
      ...folders,
      memory: { ...memory, recall: () => Promise.reject(new Error("the index is gone")) },
      subAgent: { contextMode: "contextual", memory: "relevant" },
    });
    const events = await play(agent, "Please review.");
    expect(eventsOf(events, "subAgentEnded")[0]?.end).toBe("answered");
    expect(requests.filter(isSub)).not.toHaveLength(0);
    expect(eventsOf(events, "warning").map(({ diagnostic }) => diagnostic.message)).toContain(
      "the index is gone",
    );
  });

  it("ends at its own bounds, and the parent hears of it", async () => {
    const { agent, requests } = await handing(() => ({ text: "Looking.", calls: [{ name: "read" }] }), {
      tools: [tool("read", () => "x")],
      subAgent: { limits: { requests: 3 } },
    });
    const events = await play(agent, "Please review.");
    expect(requests.filter(isSub)).toHaveLength(3);
    expect(eventsOf(events, "subAgentEnded")[0]?.end).toBe("request-limit");
    expect(resultsIn(requests.at(-1) ?? { messages: [] })[0]).toMatch(
      /reached its limit of requests\. It was not done\. What it said last:\nLooking\./,
    );
  });

  it("fails with its cause, as a call that failed", async () => {
    const { agent, requests } = await handing(() => ({ error: new Error("the key was revoked") }));
    await play(agent, "Please review.");
    expect(resultsIn(requests.at(-1) ?? { messages: [] })[0]).toMatch(
      /The sub-agent reviewer failed: .*the key was revoked/,
    );
  });

  it("has the tools that it names, never sub_agent, and asks for permission in its own name", async () => {
    const asked: unknown[] = [];
    const { agent, requests } = await handing(
      (_request, number) =>
        number === 1 ? { calls: [{ name: "read" }, { name: "sub_agent" }] } : { text: "ok" },
      {
        tools: [tool("read", () => "x"), tool("write", () => "x")],
        subAgent: { tools: ["read"] },
        permissions: ({ tool: name, subAgent }) => {
          asked.push([name, subAgent]);
          return "allow";
        },
      },
    );
    await play(agent, "Please review.");
    expect(requests.find(isSub)?.tools.map(({ name }) => name)).toEqual([
      "read",
      "compact_search",
      "compact_expand",
    ]);
    expect(asked).toEqual([
      ["sub_agent", undefined],
      ["read", "reviewer"],
    ]);
  });

  it.each([
    [{ model: "nobody:none" }, /model "nobody:none" of the sub-agent reviewer is not known \(reviewer.md\)/],
    [{ tools: ["reed"] }, /names tools that do not exist: reed \(reviewer.md\)/],
  ])("tells the parent what of a definition does not fit: %o", async (subAgent, words) => {
    const { agent, requests } = await handing(() => ({ text: "never" }), { subAgent });
    expect(endOf(await play(agent, "Please review."))?.end).toBe("answered");
    expect(resultsIn(requests.at(-1) ?? { messages: [] })[0]).toMatch(words);
  });

  it("AGT-1 is held to its paths: outside of them, behind links and by tools that do not say what they touch", async () => {
    const workspaceDir = tempFolder();
    mkdirSync(join(workspaceDir, "src"));
    writeFileSync(join(workspaceDir, "secret.txt"), "x");
    symlinkSync(join(workspaceDir, "secret.txt"), join(workspaceDir, "src", "link.txt"));
    const touched: unknown[] = [];
    const pathOf = (args: unknown): string => (args as { path: string }).path;
    const write = tool("write", (args) => touched.push(pathOf(args)), { paths: (args) => [pathOf(args)] });
    const paths = ["src/a.ts", "src/../secret.txt", "/etc/passwd", "src/link.txt", "src/new/b.ts"];
    const { agent, requests } = await handing(
      (_request, number) =>
        number === 1
          ? { calls: [...paths.map((path) => ({ name: "write", arguments: { path } })), { name: "run" }] }
          : { text: "ok" },
      {
        workspaceDir,
        tools: [write, tool("run", () => touched.push("run"))],
        subAgent: { paths: ["src/**"] },
      },
    );
    await play(agent, "Please review.");
    expect(touched).toEqual(["src/a.ts", "src/new/b.ts"]);
    const refused = resultsIn(requests.filter(isSub)[1] ?? { messages: [] });
    expect(refused[1]).toBe(
      "Not run: the sub-agent reviewer may touch src/** only, and src/../secret.txt is outside.",
    );
    expect(refused[5]).toMatch(/run does not say which files it touches/);
  });

  it("sessions that have ended, a sub-agent's or one before a new one, leave the memory of the process", async () => {
    const policy = { maxToolResultTokens: 1000 };
    const manager = new CompactManager(
      { storage: { kind: "memory" }, policy },
      { onWarning: () => undefined },
    );
    const { agent } = await handing(() => ({ text: "Fine." }), { manager });
    const events = await play(agent, "Please review.");
    const [sub = { sessionId: "" }] = eventsOf(events, "subAgentStarted");
    const tokensOf = (id: string): number => manager.getState(id).totalTokens;
    expect([tokensOf(agent.sessionId) > 0, tokensOf(sub.sessionId)]).toEqual([true, 0]);
    expect(eventsOf(events, "usage").some(({ sessionId }) => sessionId === sub.sessionId)).toBe(true);
    const { previous } = await agent.startNew();
    expect(tokensOf(previous)).toBe(0);
    await play(agent, "Please review.");
    await agent.close();
    expect(tokensOf(agent.sessionId)).toBe(0);
  });

  it("of a channel that names its users nobody else is told the state of the work", async () => {
    const folders = await channelWithMemory();
    mkdirSync(join(folders.channelDir, ".memory"), { recursive: true });
    writeFileSync(join(folders.channelDir, ".memory", "scope.json"), '{"users":["ada"]}');
    const asked = async (user: string) => {
      const memory = createChannelMemory({ ...folders, user });
      const { agent, requests } = await handing(() => ({ text: "Fine." }), {
        ...folders,
        memory,
        subAgent: { contextMode: "contextual", memory: "session" },
      });
      const events = await play(agent, "Please review.");
      const view = await agent.memory().catch((error: { readonly code: string }) => error.code);
      await agent.close();
      return { told: JSON.stringify(requests.find(isSub)?.messages), events, view };
    };
    const [ada, bob] = [await asked("ada"), await asked("bob")];
    expect(ada.told).toContain("loses the last line");
    expect(ada.view).toMatchObject({ session: expect.stringContaining("loses the last line") });
    expect(bob.told).not.toContain("loses the last line");
    expect(bob.view).toBe("NotFound");
    expect(eventsOf(bob.events, "warning").map(({ diagnostic }) => diagnostic.message)).toContain(
      "there is no such memory for this user",
    );
  });
});
