import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it as vitestIt } from "vitest";
import {
  compactExtension,
  type PiExtensionOptions,
} from "../../../packages/compact-context/src/adapters/pi/index.ts";
import { CompactManager } from "../../../packages/compact-context/src/index.ts";
import { ensureChannel } from "../../../packages/compact-context/src/memory/files/folders.ts";
import { writeMemoryFile } from "../../../packages/compact-context/src/memory/files/write-file.ts";
import { createChannelMemory } from "../../../packages/compact-context/src/memory/index.ts";
import { createMemoryDriver } from "../../../packages/compact-context/src/storage/memory/driver.ts";
import { ask, createProvider, FACTS, question, survey, TURNS, WINDOW } from "../scripted-agent.ts";

// biome-ignore lint/suspicious/noExplicitAny: pi is loaded at run time
type Loose = any;

interface Modules {
  readonly pi: Loose;
  readonly ai: Loose;
}

async function load(...names: string[]): Promise<Modules | undefined> {
  try {
    const [pi, ai] = await Promise.all(names.map((name) => import(name)));
    return { pi, ai };
  } catch {
    return undefined;
  }
}

async function loadNext(): Promise<Modules | undefined> {
  const path = "./next/missing.mjs";
  return (await import(path).catch(() => undefined)) as Modules | undefined;
}

/** The line that ended, and the one that goes on, which asks for a newer Node. */
const lines: Readonly<Record<string, Modules | undefined>> = {
  "pi 0.73": await load("@mariozechner/pi-coding-agent", "@mariozechner/pi-ai"),
  "pi 0.87": await load("@earendil-works/pi-coding-agent", "@earendil-works/pi-ai"),
  "pi 1.4": await loadNext(),
};
const folders: string[] = [];
const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

type Respond = (context: { systemPrompt?: string; messages: unknown[] }) => object;

/** A pi session in a folder of its own, its model scripted, with the extension. */
async function start({ pi, ai }: Modules, options: PiExtensionOptions, respond: Respond, window = WINDOW) {
  const cwd = mkdtempSync(join(tmpdir(), "compact-pi-"));
  folders.push(cwd);
  const models = [{ id: "faux-model", contextWindow: window, maxTokens: 1_000 }];
  const faux = (ai.registerFauxProvider ?? ai.fauxProvider)({ models });
  ends.push(() => faux.unregister?.());
  faux.setResponses(Array.from({ length: 400 }, () => respond));
  const survey_ = {
    name: "survey",
    label: "survey",
    description: "Looks at a quay.",
    parameters: {
      type: "object",
      properties: { quay: { type: "number" }, part: { type: "number" } },
      required: ["quay", "part"],
    },
    execute: async (_id: string, args: { quay: number; part: number }) => ({
      content: [{ type: "text", text: survey(args) }],
      details: {},
    }),
  };
  const settingsManager = pi.SettingsManager.inMemory({ compaction: { enabled: false } });
  const resourceLoader = new pi.DefaultResourceLoader({
    cwd,
    agentDir: cwd,
    settingsManager,
    systemPrompt: "You survey quays and answer briefly.",
    noSkills: true,
    noPromptTemplates: true,
    noThemes: true,
    noContextFiles: true,
    noExtensions: true,
    extensionFactories: [compactExtension(options)],
  });
  await resourceLoader.reload();
  const { session, extensionsResult } = await pi.createAgentSession({
    cwd,
    agentDir: cwd,
    model: faux.getModel(),
    noTools: "builtin",
    customTools: [survey_],
    settingsManager,
    resourceLoader,
    ...(await modelsOf({ pi, ai }, faux, cwd)),
    sessionManager: pi.SessionManager.inMemory(cwd),
  });
  expect(extensionsResult.errors).toEqual([]);
  const notices: string[] = [];
  await session.bindExtensions?.({
    uiContext: { notify: (text: string) => notices.push(text), setStatus: () => undefined },
  });
  return { session, notices, cwd };
}

/** Where a session finds the scripted model, by the line of pi. */
async function modelsOf({ pi }: Modules, faux: Loose, cwd: string): Promise<object> {
  if (pi.ModelRuntime !== undefined) {
    const places = { authPath: join(cwd, "auth.json"), modelsPath: null, refreshOnCreate: false };
    const modelRuntime = await pi.ModelRuntime.create(places);
    modelRuntime.registerNativeProvider(faux.provider);
    return { modelRuntime };
  }
  const authStorage = pi.AuthStorage.inMemory();
  authStorage.setRuntimeApiKey(faux.getModel().provider, "test");
  return { authStorage, modelRegistry: pi.ModelRegistry.inMemory(authStorage) };
}

function createManager(): CompactManager {
  return new CompactManager(
    { model: "gpt-4o", maxContextTokens: WINDOW, policy: { keepRecentTurns: 2, keepToolIoPairs: 2 } },
    { storage: createMemoryDriver(), onWarning: () => undefined },
  );
}

const textOf = (session: Loose): string => {
  const newest = session.messages.at(-1);
  return newest.content.map((block: Loose) => block.text ?? "").join("");
};

describe.each(Object.entries(lines))("compactExtension in %s", (_name, loaded) => {
  const modules = loaded as Modules;
  const it = vitestIt.skipIf(loaded === undefined);

  it("INT-3 carries a session over three windows, every fact in context or recalled, pi's own history complete", async () => {
    const { ai } = modules;
    const provider = createProvider({
      format: "pi",
      recall: (query) => ({ name: "compact_search", args: { query } }),
    });
    const manager = createManager();
    let rounds = 0;
    manager.onCompaction(() => {
      rounds += 1;
    });
    const { session, notices } = await start(modules, { manager }, ({ systemPrompt, messages }) => {
      const { text, calls } = provider.answer(messages, systemPrompt);
      return ai.fauxAssistantMessage(
        [
          ...(text === "" ? [] : [{ type: "text", text }]),
          ...calls.map(({ id, name, args }) => ai.fauxToolCall(name, args, { id })),
        ],
        { stopReason: calls.length > 0 ? "toolUse" : "stop" },
      );
    });
    const say = async (text: string): Promise<string> => {
      await session.prompt(text);
      return textOf(session);
    };
    for (let turn = 1; turn <= TURNS; turn += 1) await say(ask(turn));
    const answers: string[] = [];
    for (const fact of FACTS) answers.push(await say(question(fact)));
    expect(answers).toEqual(FACTS.map(({ value }) => `It is ${value} long.`));
    expect(rounds).toBeGreaterThanOrEqual(4);
    expect(provider.figures.largest).toBeLessThanOrEqual(WINDOW);
    expect(JSON.stringify(session.messages)).not.toContain("COMPACT-SUMMARY");
    expect(notices.filter((notice) => notice.startsWith("compacted: ")).length).toBe(rounds);
  });

  it("AGT-3 tells how full the context is, and summarizes on demand with what a person asks for", async () => {
    const { ai } = modules;
    const manager = createManager();
    const sent: string[] = [];
    const { session, notices } = await start(modules, { manager }, ({ messages }) => {
      sent.push(JSON.stringify(messages));
      return ai.fauxAssistantMessage(`Answer. ${"It adds two. ".repeat(30)}`);
    });
    await session.prompt("/summarize");
    expect(notices.at(-1)).toContain("nothing to summarize yet");
    for (let turn = 0; turn < 12; turn += 1)
      await session.prompt(`Question ${turn}: ${"what does this line do? ".repeat(10)}`);
    await session.prompt("/context");
    expect(notices.at(-1)).toMatch(/of 8,000 tokens \(\d+ %\)[\s\S]*nothing has been summarized/);
    await session.prompt("/summarize look after the quays");
    expect(notices.at(-1)).toMatch(/^compacted: [\d,]+ to [\d,]+ tokens, \d+ messages summarized/);
    await session.prompt("/context");
    expect(notices.at(-1)).toContain("1 compactions");
    expect(sent.at(-1)).not.toContain("COMPACT-SUMMARY");
    await session.prompt("and now?");
    expect(sent.at(-1)).toContain("COMPACT-SUMMARY v1");
    await session.prompt("/context");
    expect(notices.at(-1)).toMatch(/system: \d+[\s\S]*summary: \d+[\s\S]*recent: [\d,]+/);
    await session.prompt("/memory quays");
    expect(notices.at(-1)).toBe("This session has no memory.");
  });

  it("MEM-12 recalls before a prompt, tells what the memory holds, and keeps the state of the work over a new session", async () => {
    const { ai } = modules;
    const workspaceDir = mkdtempSync(join(tmpdir(), "compact-pi-memory-"));
    folders.push(workspaceDir);
    const channelDir = join(workspaceDir, "channel");
    await ensureChannel(channelDir);
    await writeMemoryFile(
      join(channelDir, "MEMORY.md"),
      "# Channel memory\n\n## Facts\n\n- The northern quay is 431 m long.\n",
    );
    const memory = createChannelMemory({ workspaceDir, channelDir });
    const sent: string[] = [];
    const options = { manager: createManager(), memory, workspaceDir, channelDir };
    const { session, notices } = await start(modules, options, ({ messages }) => {
      sent.push(JSON.stringify(messages));
      return ai.fauxAssistantMessage("I will use ticket 5512 for it.");
    });
    await session.prompt("How long is the northern quay?");
    expect(sent.at(-1)).toContain("431 m long");
    await session.prompt("/memory northern quay");
    expect(notices.at(-1)).toContain("The northern quay is 431 m long.");
    await session.prompt("We must never dredge the eastern basin in May.");
    await session.extensionRunner.emit({ type: "session_before_switch", reason: "new" });
    await session.prompt("/memory");
    expect(notices.at(-1)).toMatch(/eastern basin/);
  });

  it("MEM-6 tells the memory of each turn once: every message, none twice", async () => {
    const { ai } = modules;
    const workspaceDir = mkdtempSync(join(tmpdir(), "compact-pi-turns-"));
    folders.push(workspaceDir);
    const told: string[][] = [];
    const real = createChannelMemory({ workspaceDir, channelDir: join(workspaceDir, "channel") });
    const memory: typeof real = {
      ...real,
      afterTurn: (messages) => {
        told.push(messages.map(({ role }) => role));
        return false;
      },
    };
    let request = 0;
    const { session } = await start(modules, { manager: createManager(), memory }, () => {
      request += 1;
      return request === 1
        ? ai.fauxAssistantMessage([ai.fauxToolCall("survey", { quay: 1, part: 1 }, { id: "c1" })], {
            stopReason: "toolUse",
          })
        : ai.fauxAssistantMessage("It is long.");
    });
    await session.prompt("How long is the quay?");
    await session.prompt("And the other?");
    const first = ["user", "assistant", "tool", "assistant"];
    expect(told).toEqual([first, [...first, "user", "assistant"]]);
  });

  it("gives pi's own compaction our summary, the built-in one where the given one fails", async () => {
    const { ai } = modules;
    const summarizer = { name: "broken", summarize: () => Promise.reject(new Error("no model")) };
    const { session } = await start(modules, { manager: createManager(), summarizer }, () =>
      ai.fauxAssistantMessage(`Answer. ${"It adds two. ".repeat(30)}`),
    );
    for (let turn = 0; turn < 6; turn += 1)
      await session.prompt(`Question ${turn} about berth ${turn + 40}: ${"what does it do? ".repeat(1500)}`);
    const made = await session.compact();
    expect(made.details).toEqual({ summarizer: "builtin" });
    expect(made.summary).toContain("berth 40");
  });

  it("goes on with the request as it is, and says why, when the manager fails", async () => {
    const { ai } = modules;
    const storage = { ...createMemoryDriver(), get: () => Promise.reject(new Error("no such disk")) };
    const manager = new CompactManager({ maxContextTokens: 3_000 }, { storage, onWarning: () => undefined });
    let asked = 0;
    const { session, notices } = await start(modules, { manager, onFailure: "throw" }, () => {
      asked += 1;
      return ai.fauxAssistantMessage("fine");
    });
    await session.prompt(`Look at ${"this long line ".repeat(1500)}`);
    expect(textOf(session)).toBe("fine");
    expect(asked).toBe(1);
    expect(notices.at(-1)).toContain("no such disk");
  });
});
