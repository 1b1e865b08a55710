import { describe, expect, it } from "vitest";
import { eventSchema } from "../../../../scripts/events-schema.mjs";
import { compact } from "../compact.ts";
import { FALLBACK, type StorageDriver } from "../core/ports.ts";
import type { CompactionReport, SessionEvent } from "../core/report.ts";
import { CompactManager } from "../create-manager.ts";
import { CompactError } from "../errors.ts";
import { createMemoryDriver } from "../storage/memory/driver.ts";
import { describeEvent, type EventDescription } from "./descriptions.ts";

const messages = Array.from({ length: 60 }, (_, index) => ({
  role: index % 2 === 0 ? "user" : "assistant",
  content: `${index} ${"word ".repeat(60)}`,
}));

/** The first event of an occurrence. */
function described(told: SessionEvent): EventDescription {
  const [first] = describeEvent("s", told, { storageKind: "fs" });
  if (first === undefined) throw new Error("nothing is described");
  return first;
}

async function compactedReport(): Promise<CompactionReport> {
  const { report } = await compact(messages, { maxTokens: 1500 });
  expect(report.compacted).toBe(true);
  return report;
}

describe("event properties", () => {
  it("every fallback that the core names is explained in the schema", () => {
    const explained = eventSchema["compact.error"].properties.fallback?.values ?? {};
    expect(Object.keys(explained)).toEqual(expect.arrayContaining(Object.values(FALLBACK)));
  });

  it("OBS-1 names the estimate's properties", () => {
    const breakdown = { system: 100, developer: 0, tools_schema: 900, messages: 107_800 };
    const estimate = { kind: "estimate", model: "m", count: { tokens: 108_800, breakdown } } as const;
    expect(described({ ...estimate, maxTokens: 128_000 })).toEqual({
      name: "compact.token_estimate",
      status: "ok",
      properties: { model: "m", t_est: 108_800, max_tokens: 128_000, usage_pct: 0.85, breakdown },
    });
    expect(described({ ...estimate, maxTokens: 0 }).properties.usage_pct).toBe(0);
  });

  it("TRG-2 names the decision's properties either way", async () => {
    const policy = { triggerPct: 0.85, hardCapBuffer: 1500, strategy: "task_state" } as const;
    const waits = { triggered: false, reason: "below_trigger" } as const;
    expect(described({ kind: "decision", decision: waits, policy }).properties).toEqual({
      triggered: false,
      reason: "below_trigger",
      policy: { trigger_pct: 0.85, hard_cap_buffer: 1500, strategy: "task_state" },
    });
    const report = await compactedReport();
    const counts = report.plan?.counts;
    const decision = { triggered: true, reason: "manual" } as const;
    expect(described({ kind: "decision", decision, policy, report, step: 3 }).properties).toMatchObject({
      kept: { pinned: counts?.pinned, recent_turns: counts?.recentTurns, tool_pairs: counts?.toolPairs },
      pruned_count: report.prunedCount,
      step: 3,
    });
  });

  it("OBS-2 names the summary's properties and carries it as payload", async () => {
    const report = await compactedReport();
    const created = described({ kind: "summary", report, strategy: "brief", text: "all of it" });
    expect(created).toMatchObject({
      name: "compact.summary_created",
      status: "ok",
      properties: {
        strategy: "brief",
        input_messages: report.prunedCount,
        summary_tokens: report.summaryTokens,
        summarizer: "builtin",
      },
      payload: "all of it",
    });
    const replaced = report.plan?.entries.filter(({ action }) => action === "summarize") ?? [];
    const tokens = replaced.reduce((total, entry) => total + entry.tokens, 0);
    expect(created.properties.compression_ratio).toBeCloseTo(report.summaryTokens / tokens, 4);
  });

  it("OBS-3 names the properties of pruning, archival and errors", async () => {
    const report = await compactedReport();
    const { after } = report.layers;
    expect(described({ kind: "pruned", report, step: 2 }).properties).toMatchObject({
      layers: {
        pinned: after.pinned.messages,
        summary: 1,
        recent: after.recent.messages + after.toolPairs.messages + after.remainder.messages,
      },
      pruned_count: report.prunedCount,
      tokens_before: report.tokensBefore,
      tokens_after: report.tokensAfter,
      step: 2,
    });
    const alternating = (report.plan?.entries ?? []).flatMap((entry, index) =>
      Array.from({ length: 10 }, (_, copy) => ({
        ...entry,
        index: index * 10 + copy,
        action: copy % 2 === 0 ? ("keep" as const) : ("clear" as const),
      })),
    );
    const plan = report.plan && { ...report.plan, entries: alternating };
    const many = described({ kind: "pruned", report: { ...report, plan } });
    expect(many.properties.actions).toHaveLength(200);
    expect(many.properties.actions_left_out).toBe(alternating.length - 200);
    const location = "/a/s/transcript-pre-compact-002.jsonl";
    expect(described({ kind: "archived", step: 2, location, messages: 7 })).toMatchObject({
      name: "compact.archival",
      properties: { session_id: "s", step: 2, storage_adapter: "fs", location, messages: 7 },
    });
    const error = new CompactError("SummarizerFailed", "m");
    expect(described({ kind: "failed", error, fallback: "pruning-only" })).toEqual({
      name: "compact.error",
      status: "error",
      properties: { error_type: "SummarizerFailed", message: "m", fallback: "pruning-only" },
    });
  });
});

describe("events on their way to the archive", () => {
  it("go in one append for each session and write, in order", async () => {
    const storage = createMemoryDriver();
    const appended: [key: string, records: number][] = [];
    const counting: StorageDriver = {
      ...storage,
      append: (key, records, options) => {
        appended.push([key, typeof records === "string" ? 1 : records.length]);
        return storage.append(key, records, options);
      },
    };
    const manager = new CompactManager({ maxContextTokens: 2500 }, { storage: counting });
    for (const session of ["one", "two"]) await manager.preflight(session, messages);
    await manager.flush();
    expect(appended.map(([key]) => key)).toEqual(["one/events.jsonl", "two/events.jsonl"]);
    const stored = (await storage.get("one/events.jsonl"))?.value.trimEnd().split("\n") ?? [];
    expect(stored.length).toBe(appended[0]?.[1]);
    expect(stored.length).toBeGreaterThan(4);
    const names = stored.map((line) => (JSON.parse(line) as { name: string }).name);
    expect(names.indexOf("compact.token_estimate")).toBeLessThan(names.indexOf("compact.pruned_messages"));
  });
});
