import { describe, expect, it } from "vitest";
import type { Summarizer } from "../../core/ports.ts";
import { CompactManager } from "../../create-manager.ts";
import { createMemoryDriver } from "../../storage/memory/driver.ts";
import {
  compactExtension,
  type PiContext,
  type PiExtensionApi,
  type PiExtensionOptions,
} from "./extension.ts";

type Handler = (event: unknown, context: PiContext) => unknown;

/** The extension in a pi that only notes what was registered and said. */
function extended(options: PiExtensionOptions) {
  const handlers: (readonly [string, Handler])[] = [];
  const commands = new Map<string, Parameters<PiExtensionApi["registerCommand"]>[1]>();
  const notices: string[] = [];
  const pi: PiExtensionApi = {
    on: (event, handler) => void handlers.push([event, handler as Handler]),
    registerCommand: (name, command) => void commands.set(name, command),
    registerTool: () => undefined,
    getActiveTools: () => [],
    getAllTools: () => [],
  };
  compactExtension(options)(pi);
  const context: PiContext = {
    cwd: "/",
    hasUI: true,
    ui: { notify: (text) => void notices.push(text), setStatus: () => undefined },
    sessionManager: { getSessionId: () => "one" },
    model: { id: "gpt-4o", contextWindow: 8_000 },
    signal: undefined,
    getSystemPrompt: () => "",
  };
  return {
    notices,
    emit: async (name: string, event: object = {}) => {
      const heard = handlers.filter(([one]) => one === name);
      const given = await Promise.all(heard.map(([, handler]) => handler(event, context)));
      return given[0];
    },
    command: async (name: string) => commands.get(name)?.handler("", context as never),
  };
}

const manager = (): CompactManager =>
  new CompactManager({}, { storage: createMemoryDriver(), onWarning: () => undefined });
const user = { role: "user", content: "Build the importer for quay 431.", timestamp: 1 };
const preparation = {
  firstKeptEntryId: "e2",
  messagesToSummarize: [user],
  turnPrefixMessages: [],
  tokensBefore: 100,
};

describe("compactExtension", () => {
  it("says so when the built-in summarizer steps in", async () => {
    const summarizer: Summarizer = {
      name: "broken",
      summarize: () => Promise.reject(new Error("no model")),
    };
    const { emit, notices } = extended({ manager: manager(), summarizer });
    expect(await emit("session_before_compact", { preparation })).toMatchObject({
      compaction: { details: { summarizer: "builtin" } },
    });
    expect(notices).toEqual(["compact: the built-in summarizer stepped in: no model"]);
  });

  it("gives nothing for a compaction that was called off", async () => {
    const stop = new AbortController();
    const summarizer: Summarizer = {
      name: "slow",
      summarize: () => {
        stop.abort();
        return Promise.reject(stop.signal.reason);
      },
    };
    const { emit, notices } = extended({ manager: manager(), summarizer });
    const event = { preparation, signal: stop.signal };
    expect(await emit("session_before_compact", event)).toBeUndefined();
    expect(notices).toEqual([]);
  });

  it("never throws: what goes wrong in any handler or command is a notice", async () => {
    const broken = manager();
    broken.flush = () => Promise.reject(new Error("no such disk"));
    const memory = {
      recall: () => Promise.reject(new Error("lost")),
      close: () => Promise.reject(new Error("lost")),
    } as unknown as NonNullable<PiExtensionOptions["memory"]>;
    const { emit, command, notices } = extended({ manager: broken, memory, channelDir: "/\0" });
    await emit("session_shutdown");
    await emit("before_agent_start", { prompt: "hi" });
    await emit("session_before_compact", { preparation: { ...preparation, messagesToSummarize: [7] } });
    await command("memory");
    expect(notices).toHaveLength(5);
    for (const notice of notices) expect(notice).toMatch(/^compact: \S/);
  });
});
