import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { planCompaction } from "./compact.ts";
import type { CompactConfigInput } from "./config/settings.ts";
import type { StorageDriver } from "./core/ports.ts";
import type { CompactEvent } from "./core/report.ts";
import { readState, writeState } from "./core/store.ts";
import type { LoggedMessage } from "./core/view.ts";
import { CompactManager, type ManagerPorts } from "./create-manager.ts";
import { CompactError } from "./errors.ts";
import { createRedactor } from "./redaction/redactor.ts";
import { createArchive } from "./search/archive.ts";
import { createMemoryDriver } from "./storage/memory/driver.ts";

type Chat = Record<string, unknown> & { role: string; content: string | null };
const say = (role: string, content: string, extra: Record<string, unknown> = {}): Chat => ({
  role,
  content,
  ...extra,
});
const words = (seed: number, count: number) =>
  Array.from({ length: count }, (_, index) => `word${(seed * 31 + index * 7) % 997}`).join(" ");
const turn = (n: number, size = 60): Chat[] => [
  say("user", `question ${n} ${words(n, size)}`),
  say("assistant", `answer ${n} ${words(n + 500, size)}`),
];
const turns = (from: number, to: number, size = 60): Chat[] =>
  Array.from({ length: to - from }, (_, index) => turn(from + index, size)).flat();

function setUp(config: CompactConfigInput = {}, ports: ManagerPorts = {}) {
  const events: CompactEvent[] = [];
  const storage = ports.storage ?? createMemoryDriver();
  const manager = new CompactManager(
    { maxContextTokens: 8000, ...config, policy: { hardCapBuffer: 500, ...config.policy } },
    { storage, exporters: [{ export: (event) => void events.push(event) }], ...ports },
  );
  const named = (name: string) => events.filter((event) => event.name === name);
  return { manager, events, named, storage };
}

describe("CompactManager.preflight", () => {
  it("TRG-1 leaves a list below the trigger alone: the caller's own array comes back", async () => {
    const { manager } = setUp();
    const list = turns(0, 5);
    const result = await manager.preflight("s", list);
    expect(result.messages).toBe(list);
    expect(result.report).toMatchObject({ compacted: false, reason: "below_trigger" });
  });

  it("TRG-2, PRT-8, OBS-1, OBS-2 and OBS-3: says every estimate and decision, and what a compaction did", async () => {
    const { manager, named } = setUp({ model: "gpt-4o" });
    await manager.preflight("s", turns(0, 5));
    await manager.preflight("s", [say("system", "be brief"), ...turns(0, 40)]);
    await manager.flush();
    expect(named("compact.token_estimate")).toHaveLength(2);
    expect(named("compact.token_estimate")[1]?.properties).toMatchObject({
      model: "gpt-4o",
      t_est: expect.any(Number),
      max_tokens: 8000,
      usage_pct: expect.any(Number),
      breakdown: { system: expect.any(Number), developer: 0, tools_schema: 0, messages: expect.any(Number) },
    });
    const [below, above] = named("compact.trigger_decision").map((event) => event.properties);
    expect(below).toMatchObject({
      triggered: false,
      reason: "below_trigger",
      policy: { trigger_pct: 0.85, hard_cap_buffer: 500, strategy: "task_state" },
    });
    expect(above).toMatchObject({
      triggered: true,
      reason: "trigger_pct",
      kept: { pinned: 1, recent_turns: 6, tool_pairs: 0 },
      pruned_count: 68,
    });
    expect(named("compact.summary_created")[0]).toMatchObject({
      payload: expect.stringContaining("question"),
      properties: {
        strategy: "task_state",
        input_messages: 68,
        summary_tokens: expect.any(Number),
        compression_ratio: expect.any(Number),
      },
    });
    const ratio = Number(named("compact.summary_created")[0]?.properties.compression_ratio);
    expect(ratio > 0 && ratio < 1).toBe(true);
    expect(named("compact.pruned_messages")[0]?.properties).toMatchObject({
      layers: { pinned: 1, summary: 1, recent: 12 },
    });
    expect(named("compact.archival")[0]?.properties).toMatchObject({
      session_id: "s",
      step: 1,
      location: expect.stringContaining("transcript-pre-compact-001.jsonl"),
    });
  });

  it("gives the same view for the raw list and for our own output, with new messages behind either", async () => {
    const { manager } = setUp();
    const raw = [say("system", "be brief"), ...turns(0, 40)];
    const first = await manager.preflight("s", raw);
    expect(first.report.compacted).toBe(true);
    const added = turns(40, 42);
    const fromRaw = await manager.preflight("s", [...raw, ...added]);
    const fromOutput = await manager.preflight("s", [...first.messages, ...added]);
    const fromCopies = await manager.preflight("s", structuredClone([...raw, ...added]));
    expect(fromRaw.report.compacted).toBe(false);
    expect(fromOutput.messages).toEqual(fromRaw.messages);
    expect(fromCopies.messages).toEqual(fromRaw.messages);
    expect(fromRaw.messages.slice(0, first.messages.length)).toEqual(first.messages);
  });

  it("RUN-2 never summarizes a message twice, over many rounds of a raw list", async () => {
    const { manager, named } = setUp();
    const raw: Chat[] = [say("system", "be brief")];
    for (let n = 0; n < 150; n += 1) {
      raw.push(...turn(n));
      await manager.preflight("s", structuredClone(raw));
    }
    await manager.flush();
    const summarized = manager.getRunningSummary("s")?.summarizedMessageIds ?? [];
    expect(manager.getState("s").summaryCount).toBeGreaterThan(2);
    expect(new Set(summarized).size).toBe(summarized.length);
    const read = named("compact.summary_created").map((event) => Number(event.properties.input_messages));
    const rounds = read.length;
    expect(read.reduce((total, count) => total + count, 0)).toBe(summarized.length + rounds - 1);
  });

  it("tells equal texts apart by their place", async () => {
    const { manager } = setUp();
    const raw = Array.from({ length: 60 }, (_, n) => [
      say("user", "ok"),
      say("assistant", n === 30 ? words(n, 4000) : "done"),
    ]).flat();
    const first = await manager.preflight("s", raw);
    expect(first.report.compacted).toBe(true);
    const again = await manager.preflight("s", structuredClone([...raw, say("user", "ok")]));
    expect(again.messages).toEqual([...first.messages, say("user", "ok")]);
  });

  it("takes a rewound history as it is, and says so", async () => {
    const { manager, named } = setUp();
    const raw = turns(0, 40);
    await manager.preflight("s", raw);
    const rewound = raw.slice(0, 10);
    const result = await manager.preflight("s", rewound);
    await manager.flush();
    expect(result.messages).toBe(rewound);
    expect(named("compact.warning")[0]?.properties).toMatchObject({ code: "history_changed" });
  });

  it("MEM-12 resumes from stored state: another manager gives the same view without compacting again", async () => {
    const storage = createMemoryDriver();
    const raw = [say("system", "be brief"), ...turns(0, 40)];
    const first = await setUp({}, { storage }).manager.preflight("s", raw);
    const resumed = await setUp({}, { storage }).manager.preflight("s", structuredClone(raw));
    expect(resumed.report.compacted).toBe(false);
    expect(resumed.messages).toEqual(first.messages);
  });

  it("TOK-5 resumes a session that was never compacted without counting it again", async () => {
    const storage = createMemoryDriver();
    const list = turns(0, 10);
    const first = setUp({ maxContextTokens: 100_000 }, { storage }).manager;
    await first.preflight("s", list);
    await first.flush();
    const state = readState((await storage.get("s/state.json"))?.value ?? "", "here");
    // Counts that nobody would come to: whoever counts again gets other figures.
    const forged = state.log.map(([hash]): LoggedMessage => [hash, 777]);
    expect(forged.length).toBe(20);
    await storage.put("s/state.json", writeState({ ...state, log: forged }));
    const resumed = setUp({ maxContextTokens: 100_000 }, { storage }).manager;
    const result = await resumed.preflight("s", structuredClone(list));
    expect(result.report.compacted).toBe(false);
    expect(resumed.getState("s").totalTokens).toBeGreaterThanOrEqual(20 * 777);
  });

  it("counts again what another model's counter had counted", async () => {
    const storage = createMemoryDriver();
    const list = turns(0, 10);
    const first = setUp({ maxContextTokens: 100_000, model: "gpt-4.1" }, { storage }).manager;
    await first.preflight("s", list);
    await first.flush();
    const model = "claude-sonnet-4-5";
    const resumed = setUp({ maxContextTokens: 100_000, model }, { storage }).manager;
    await resumed.preflight("s", structuredClone(list));
    const fresh = setUp({ maxContextTokens: 100_000, model }).manager;
    await fresh.preflight("s", list);
    expect(resumed.getState("s").totalTokens).toBe(fresh.getState("s").totalTokens);
  });

  it("keeps cleared results cleared when nothing else was compacted", async () => {
    const call = (n: number): Chat[] => [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: `c${n}`, type: "function", function: { name: "read", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: `c${n}`, content: words(n, 250) },
    ];
    const list = [say("user", "look"), ...Array.from({ length: 14 }, (_, n) => call(n)).flat()];
    const { manager } = setUp({ policy: { targetContextTokens: 5000 } });
    const first = await manager.preflight("s", list);
    expect(first.report).toMatchObject({ compacted: true, prunedCount: 0 });
    expect(first.report.clearedCount).toBeGreaterThan(0);
    const again = await manager.preflight("s", structuredClone([...list, say("assistant", "seen")]));
    expect(again.report.compacted).toBe(false);
    expect(again.messages).toEqual([...first.messages, say("assistant", "seen")]);
    const fromOutput = await manager.preflight(
      "s",
      structuredClone([...first.messages, say("assistant", "seen")]),
    );
    expect(fromOutput.messages).toEqual(again.messages);
  });

  it("TRG-4 goes down to the target of the policy where that is below what it would leave", async () => {
    const list = turns(0, 40);
    const plain = await setUp().manager.preflight("s", list);
    const targetContextTokens = Math.floor(plain.report.tokensAfter * 0.6);
    const { report } = await setUp({ policy: { targetContextTokens } }).manager.preflight("s", list);
    expect(report.tokensAfter).toBeLessThanOrEqual(targetContextTokens);
  });

  it("FIT-6 brings a session of three windows through many rounds without an error", async () => {
    const { manager } = setUp();
    const raw: Chat[] = [say("system", "be brief")];
    let rounds = 0;
    for (let n = 0; n < 140; n += 1) {
      raw.push(...turn(n));
      const { report } = await manager.preflight("s", raw);
      rounds += report.compacted ? 1 : 0;
      expect(report.tokensAfter).toBeLessThanOrEqual(7500);
    }
    expect(manager.getState("s").totalTokens).toBeLessThan(7500);
    expect(rounds).toBeGreaterThan(2);
  });

  it("FIT-2 rejects with InsufficientBudget and says so in an event when protected messages are over budget", async () => {
    const { manager, named } = setUp();
    const list = [say("system", words(1, 6000)), ...turns(0, 5)];
    await expect(manager.preflight("s", list)).rejects.toMatchObject({ code: "InsufficientBudget" });
    await manager.flush();
    expect(named("compact.error")[0]).toMatchObject({
      status: "error",
      properties: { error_type: "InsufficientBudget" },
    });
  });

  it("TRG-3 compacts on demand whatever the usage and carries the note", async () => {
    const { manager, named } = setUp();
    const list = turns(0, 20, 20);
    const { messages, report } = await manager.manualCompact("s", list, { note: "user-requested" });
    await manager.flush();
    expect(report).toMatchObject({ compacted: true, reason: "manual", prunedCount: 28 });
    expect(messages).toHaveLength(13);
    expect(named("compact.trigger_decision")[0]?.properties).toMatchObject({
      triggered: true,
      reason: "manual",
      note: "user-requested",
    });
  });

  it("leaves a summary alone that nothing came after, also on demand", async () => {
    const { manager } = setUp();
    const first = await manager.manualCompact("s", turns(0, 20, 20));
    const again = await manager.manualCompact("s", first.messages);
    expect(again.report).toMatchObject({ compacted: false, reason: "nothing_eligible" });
    expect([again.messages, again.summary]).toEqual([first.messages, first.summary]);
    const smaller = await manager.manualCompact("s", first.messages, {
      targetTokens: Math.floor(first.report.tokensAfter * 0.8),
    });
    expect(smaller.report).toMatchObject({ compacted: true, summaryVersion: 2 });
    expect(smaller.report.tokensAfter).toBeLessThan(first.report.tokensAfter);
  });

  it("TRG-5 answers what is known of a session and announces each compaction", async () => {
    const { manager } = setUp({}, { now: () => new Date("2026-01-02T03:04:05Z") });
    const heard: string[] = [];
    const stop = manager.onCompaction((notice) =>
      heard.push(`${notice.sessionId} ${notice.report.prunedCount}`),
    );
    expect(manager.getState("s")).toMatchObject({
      totalTokens: 0,
      messageCount: 0,
      summaryCount: 0,
      lastSummaryAt: undefined,
    });
    await manager.preflight("s", turns(0, 40));
    expect(manager.getState("s")).toMatchObject({
      messageCount: 13,
      summaryCount: 1,
      lastSummaryAt: "2026-01-02T03:04:05.000Z",
    });
    stop();
    await manager.manualCompact("s", turns(0, 60));
    expect(heard).toEqual(["s 68"]);
    expect(manager.getState("s")).toMatchObject({ summaryCount: 2, summaryVersion: 2 });
  });

  it("RUN-1 fills summary, summarized ids and the last id", async () => {
    const { manager } = setUp();
    const list = turns(0, 40).map((message, index) => ({ ...message, id: `m${index}` }));
    expect(manager.getRunningSummary("s")).toBeUndefined();
    await manager.preflight("s", list, { format: "openai-chat" });
    const running = manager.getRunningSummary("s");
    expect(running?.summarizedMessageIds).toHaveLength(68);
    expect(running?.lastSummarizedMessageId).toBe(running?.summarizedMessageIds.at(-1));
    expect(running?.summary).toContain("question");
  });

  it("ARC-1 saves the whole transcript before anything is dropped, secrets taken out", async () => {
    const { manager, storage } = setUp();
    const list = [...turns(0, 40), say("user", "use api_key=sk-abc123 please")];
    await manager.preflight("s", list);
    const archive = createArchive(storage, { redact: createRedactor() });
    const saved = await archive.readTranscript("s", 1);
    expect(saved.messages).toHaveLength(81);
    const text = (await storage.get("s/transcript-pre-compact-001.jsonl"))?.value ?? "";
    expect(text).toContain("api_key=<REDACTED>");
    expect(text).not.toContain("sk-abc123");
    expect((await storage.get("s/summary-001.json"))?.value).toContain('"version": 1');
    expect((await storage.get("s/events.jsonl"))?.value).toContain("compact.pruned_messages");
  });

  it("ARC-3 prunes nothing when the archive fails, and goes on where the policy says so", async () => {
    const broken = (): StorageDriver => ({
      ...createMemoryDriver(),
      put: () => Promise.reject(new CompactError("StorageFailed", "disk full")),
    });
    const list = turns(0, 23);
    const careful = setUp({ policy: { triggerPct: 0.5 } }, { storage: broken() });
    const result = await careful.manager.preflight("s", list);
    await careful.manager.flush();
    expect(result.messages).toBe(list);
    expect(careful.named("compact.error")[0]?.properties).toMatchObject({ fallback: "nothing is pruned" });
    await expect(careful.manager.preflight("s", turns(0, 60))).rejects.toMatchObject({
      code: "StorageFailed",
    });
    const memory = createMemoryDriver();
    const withoutArchive: StorageDriver = {
      ...memory,
      put: (key, value, options) =>
        key.includes("transcript") ? broken().put(key, value, options) : memory.put(key, value, options),
    };
    const careless = setUp({ storage: { onFailure: "continue" } }, { storage: withoutArchive });
    const { report } = await careless.manager.preflight("s", turns(0, 60));
    await careless.manager.flush();
    expect(report).toMatchObject({ compacted: true, archive: undefined });
    expect(careless.named("compact.error")[0]?.properties).toMatchObject({
      fallback: "compacted without an archive",
    });
  });

  it("PRT-7 compacts a list with an orphan result and says so; unknown roles are an error with their place", async () => {
    const { manager, named } = setUp();
    const list = [
      { role: "tool", tool_call_id: "nobody", content: "stray" } as unknown as Chat,
      ...turns(0, 40),
    ];
    const { report } = await manager.preflight("s", list, { format: "openai-chat" });
    await manager.flush();
    expect(report.compacted).toBe(true);
    expect(named("compact.error")[0]?.properties).toMatchObject({ error_type: "MalformedMessages" });
    await expect(
      manager.preflight("t", [say("user", "a"), say("robot", "b")], { format: "openai-chat" }),
    ).rejects.toMatchObject({ code: "InvalidMessages" });
  });

  it("RED-3 warns with high severity before anything else when redaction is off", async () => {
    const { manager, events } = setUp({ redaction: { enabled: false } });
    await manager.preflight("s", turns(0, 2));
    await manager.flush();
    expect(events[0]).toMatchObject({
      name: "compact.warning",
      properties: { severity: "high", code: "redaction_off" },
    });
  });

  it("TOK-7 calibrates later estimates by the usage that the provider reports", async () => {
    const { manager } = setUp({ maxContextTokens: 100_000 });
    const list = turns(0, 40);
    await manager.preflight("s", list);
    const own = manager.getState("s").totalTokens;
    const reported = Math.round(own * 1.3) + 900;
    const usage = { prompt_tokens: reported, completion_tokens: 10, total_tokens: reported + 10 };
    await manager.preflight("s", [...list], { usage });
    expect(Math.abs(manager.getState("s").totalTokens - reported) / reported).toBeLessThan(0.05);
  });

  it("appends events to no file that holds something else, and says so", async () => {
    const folder = mkdtempSync(join(tmpdir(), "compact-events-"));
    const path = join(folder, "package.json");
    writeFileSync(path, '{"name":"somebody"}\n');
    const warnings: string[] = [];
    const manager = new CompactManager(
      { maxContextTokens: 8000, storage: { kind: "memory" }, tracing: { jsonl: path } },
      { onWarning: (message) => warnings.push(message) },
    );
    await manager.preflight("s", turns(0, 40));
    await manager.flush();
    const text = readFileSync(path, "utf8");
    rmSync(folder, { recursive: true });
    expect(text).toBe('{"name":"somebody"}\n');
    expect(warnings).toEqual([expect.stringContaining("holds something else than events")]);
  });

  it("OBS-3 writes events to the file that the configuration names, one JSON record a line", async () => {
    // Loaded by then: an exporter has two seconds, which reading it for the first time may take on a busy machine.
    await import("./storage/fs/driver.ts");
    const folder = mkdtempSync(join(tmpdir(), "compact-events-"));
    const path = join(folder, "events.jsonl");
    const manager = new CompactManager({
      maxContextTokens: 8000,
      storage: { kind: "memory" },
      tracing: { jsonl: path },
    });
    await manager.preflight("s", turns(0, 40));
    await manager.flush();
    const names = readFileSync(path, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as CompactEvent).name);
    rmSync(folder, { recursive: true });
    expect(names).toEqual([
      "compact.token_estimate",
      "compact.archival",
      "compact.trigger_decision",
      "compact.summary_created",
      "compact.pruned_messages",
    ]);
  });

  it("FIT-3 OBS-3 goes on with the built-in summarizer when the given one fails, or with pruning alone", async () => {
    const failing = { name: "broken", summarize: () => Promise.reject(new Error("503")) };
    const first = setUp({}, { summarizer: failing });
    const { report } = await first.manager.preflight("s", turns(0, 40));
    await first.manager.flush();
    expect(report.summarizer).toBe("builtin");
    expect(first.named("compact.error")[0]?.properties).toMatchObject({
      fallback: "builtin",
      message: "503",
    });
    const second = setUp({ summarizer: { fallback: "pruning-only" } }, { summarizer: failing });
    const pruned = await second.manager.preflight("s", turns(0, 40));
    expect(pruned.summary).toBeUndefined();
    expect(pruned.report.rungs).toEqual(["pruning-only"]);
  });

  it("a summary covers only what a summarizer read, also where all of them fail", async () => {
    let fails = false;
    const summarizer = {
      name: "sometimes",
      summarize: async () => {
        if (fails) throw new Error("503");
        return { text: "what was said", tokens: 3, summarizer: "sometimes", messagesRead: 1 };
      },
    };
    const config = { summarizer: { fallback: "pruning-only" } } as const;
    const { manager } = setUp(config, { summarizer });
    await manager.preflight("s", turns(0, 40));
    const read = manager.getRunningSummary("s");
    expect(read?.summarizedMessageIds.length).toBeGreaterThan(0);
    fails = true;
    const { report } = await manager.preflight("s", turns(0, 80));
    expect(report).toMatchObject({ compacted: true, rungs: ["pruning-only"], summaryVersion: 1 });
    expect(manager.getRunningSummary("s")).toEqual(read);
    expect(manager.getState("s").summaryCount).toBe(1);
    const opening = setUp(config, { summarizer });
    const exchange = [
      { role: "assistant", content: [{ type: "tool_use", id: "t", name: "read", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "found" }] },
    ];
    const list = [...turns(0, 1).slice(0, 1), ...exchange, ...turns(1, 40)];
    const pruned = await opening.manager.preflight("s", list, { format: "anthropic" });
    expect(pruned.summary).toBe("Earlier messages were removed without a summary.");
    expect(opening.manager.getRunningSummary("s")?.summarizedMessageIds).toEqual([]);
    expect(opening.manager.getState("s").summaryCount).toBe(0);
  });

  it("leaves the session as it was when the caller aborts", async () => {
    const { manager, storage } = setUp();
    const list = turns(0, 40);
    const signal = AbortSignal.abort();
    await expect(manager.preflight("s", list, { signal })).rejects.toMatchObject({ code: "Aborted" });
    expect(manager.getState("s").summaryCount).toBe(0);
    expect(await storage.get("s/state.json")).toBeUndefined();
    expect((await manager.preflight("s", list)).report.compacted).toBe(true);
  });

  it("runs calls for one session one after the other", async () => {
    const { manager } = setUp();
    const raw = turns(0, 40);
    const results = await Promise.all([
      manager.preflight("s", raw),
      manager.preflight("s", raw),
      manager.preflight("s", raw),
    ]);
    expect(results.filter((result) => result.report.compacted)).toHaveLength(1);
    expect(results[1]?.messages).toEqual(results[0]?.messages);
  });

  it("CFG-1 names settings that do not exist or are out of range", () => {
    expect(() => new CompactManager({ policy: { triggerPct: 1.5 } })).toThrowError(
      /policy.triggerPct must be 0.0-1.0/,
    );
    expect(() => new CompactManager({ triggerPct: 0.5 } as CompactConfigInput)).toThrowError(
      /triggerPct is not a setting; did you mean policy.triggerPct\?/,
    );
    const unknown = (config: object) => () => new CompactManager(config as CompactConfigInput);
    expect(unknown({ modell: "gpt-4o" })).toThrowError(/^modell is not a setting; did you mean model\?$/);
    expect(unknown({ policy: { trigger_pct: 0.5 } })).toThrowError(/did you mean triggerPct\?/);
    expect(unknown({ policy: { keepRecentTurnz: 3 } })).toThrowError(
      /policy.keepRecentTurnz is not a setting; did you mean keepRecentTurns\?/,
    );
    expect(unknown({ storage: { folder: "x" } })).toThrowError(/storage.folder is not a setting/);
    expect(unknown({ storage: { kind: "s4" } })).toThrowError(/storage.kind must be one of fs, memory/);
    expect(() => planCompaction([], { maxTokens: 9, policy: { keepRecentTurns: 0.5 } })).toThrowError(
      /policy.keepRecentTurns must be a whole number/,
    );
  });

  it("takes a setting that is undefined for one that is not given", () => {
    const given = { hardCapBuffer: undefined, keepRecentTurns: undefined } as object;
    const { config } = new CompactManager({ policy: given, storage: { kind: undefined } as object });
    expect(config).toEqual(new CompactManager().config);
    const list = turns(0, 40);
    const plain = planCompaction(list, { maxTokens: 3000 });
    expect(planCompaction(list, { maxTokens: 3000, policy: given })).toEqual(plain);
  });
});

describe("CompactManager on a list that providers refuse", () => {
  const call = (id: string): Chat => ({
    ...say("assistant", ""),
    tool_calls: [{ id, type: "function", function: { name: "read", arguments: "{}" } }],
  });
  const interrupted = [say("user", "read it"), call("c1"), say("user", "stop, go on without")];
  const result = (id: string): Chat => say("tool", "late", { tool_call_id: id });

  it("warns once for a session, with the first violation and the option", async () => {
    const warnings: string[] = [];
    const { manager, named } = setUp({}, { onWarning: (message) => void warnings.push(message) });
    for (const more of [[], [say("assistant", "well")]]) {
      const list = [...interrupted, ...more];
      expect((await manager.preflight("s", list)).messages).toBe(list);
      await manager.flush();
    }
    const own = warnings.filter((message) => message.includes("generic/dead-call"));
    expect(own).toEqual([expect.stringMatching(/"s".*messages\[1\].*call "c1".*repair: true/)]);
    expect(named("compact.warning").map(({ properties }) => properties.code)).toEqual(["malformed_list"]);
  });

  it("warns of nothing while a call is still being answered", async () => {
    const warnings: string[] = [];
    const { manager } = setUp({}, { onWarning: (message) => void warnings.push(message) });
    const list = [say("user", "read it"), call("c1")];
    for (const more of [[], [result("c1")], [result("c1"), say("assistant", "done"), say("user", "thanks")]])
      await manager.preflight("s", [...list, ...more]);
    await manager.flush();
    expect(warnings).toEqual([]);
  });

  it("mends it with `repair`, tells each kind once, and keeps the caller's own objects", async () => {
    const { manager, named } = setUp({}, { repair: true });
    const answer = expect.objectContaining({ role: "tool", tool_call_id: "c1" });
    const first = await manager.preflight("s", interrupted);
    expect(first.messages).toEqual([interrupted[0], interrupted[1], answer, interrupted[2]]);
    expect(first.messages[3]).toBe(interrupted[2]);
    const more = [...interrupted, say("assistant", "well"), say("user", "and?")];
    const second = await manager.preflight("s", more);
    expect(second.messages).toEqual([more[0], more[1], answer, more[2], more[3], more[4]]);
    expect(second.messages[2]).toBe(first.messages[2]);
    const again = await manager.preflight("s", [...more, call("c2"), say("user", "stop")]);
    expect(again.messages.at(-2)).toMatchObject({ role: "tool", tool_call_id: "c2" });
    await manager.flush();
    const told = named("compact.warning").map(({ properties }) => [properties.code, properties.message]);
    expect(told).toEqual([["list_mended", expect.stringContaining("generic/dead-call")]]);
  });

  it("says that what a mend removed is not archived", async () => {
    const { manager, named } = setUp({}, { repair: true });
    const orphan = { role: "tool", tool_call_id: "gone", content: "ok" };
    await manager.preflight("s", [say("user", "read it"), orphan, say("user", "and?")]);
    await manager.flush();
    const [told] = named("compact.warning").map(({ properties }) => properties.message);
    expect(told).toMatch(/generic\/orphan-result.*not in the archive/);
  });

  it("mends reasoning that an aborted stream of the AI SDK left without what it led to", async () => {
    const reasoning = { type: "reasoning", text: "hm", providerOptions: { openai: { itemId: "rs_1" } } };
    const asked = [
      { role: "user", content: "read it" },
      { role: "assistant", content: [reasoning] },
      { role: "user", content: [{ type: "text", text: "once more" }] },
    ];
    const { manager, named } = setUp({}, { repair: true });
    const { messages } = await manager.preflight("s", asked, { format: "ai-sdk" });
    expect(messages).toEqual([asked[0], asked[2]]);
    await manager.flush();
    const told = named("compact.warning").map(({ properties }) => properties.message);
    expect(told).toEqual([expect.stringContaining("ai-sdk/reasoning-followed")]);
  });

  it("takes the real result instead of the made-up one when it comes late", async () => {
    const { manager } = setUp({}, { repair: true });
    await manager.preflight("s", interrupted);
    const { messages } = await manager.preflight("s", [...interrupted, result("c1")]);
    expect(messages).toEqual([interrupted[0], interrupted[1], result("c1"), interrupted[2]]);
  });

  it("mends one call where its request asks for it", async () => {
    const { manager } = setUp();
    const { messages } = await manager.preflight("s", interrupted, { repair: true });
    expect(messages).toHaveLength(4);
  });

  it("leaves a valid list to itself: the caller's own array comes back", async () => {
    const { manager } = setUp({}, { repair: true });
    const list = turns(0, 5);
    expect((await manager.preflight("s", list)).messages).toBe(list);
  });
});

describe("what a caller got wrong", () => {
  it("is told of a port that does not exist", () => {
    expect(() => new CompactManager({}, { onWarnings: () => undefined } as ManagerPorts)).toThrowError(
      expect.objectContaining({
        code: "InvalidArgument",
        message: "onWarnings is not a port of a manager; did you mean onWarning?",
        place: "ports.onWarnings",
      }),
    );
  });

  it.each(["preflight", "manualCompact", "undo"] as const)(
    "is told by %s of a field that no request has",
    async (method) => {
      const { manager } = setUp();
      await expect(manager[method]("s", turns(0, 2), { sytem: "be brief" } as object)).rejects.toMatchObject({
        code: "InvalidArgument",
        message: "sytem is not a field of a request; did you mean system?",
        place: "request.sytem",
        hint: expect.stringContaining("system"),
      });
    },
  );

  it.each([
    [
      { model: "somebodys-model-9" },
      [
        'The model "somebodys-model-9" is not known here: a window of 128000 tokens is assumed. Set maxContextTokens.',
      ],
    ],
    [{ model: "somebodys-model-9", maxContextTokens: 32_000 }, []],
    [{ model: "gpt-4o" }, []],
    [{}, []],
  ])("is told of a model without a known window: %j", (config, expected) => {
    const warnings: string[] = [];
    new CompactManager(
      { ...config, storage: { kind: "memory" } },
      { onWarning: (message) => warnings.push(message) },
    );
    expect(warnings).toEqual(expected);
  });
});
