import { describe, expect, it } from "vitest";
import * as events from "./events.ts";

describe("event properties", () => {
  it("OBS-1 names the estimate's properties", () => {
    const breakdown = { system: 100, developer: 0, tools_schema: 900, messages: 107_800 };
    const described = events.tokenEstimate({ model: "m", tokens: 108_800, maxTokens: 128_000, breakdown });
    expect(described).toEqual({
      name: "compact.token_estimate",
      status: "ok",
      properties: { model: "m", t_est: 108_800, max_tokens: 128_000, usage_pct: 0.85, breakdown },
    });
    expect(
      events.tokenEstimate({ model: "m", tokens: 1, maxTokens: 0, breakdown }).properties.usage_pct,
    ).toBe(0);
  });

  it("TRG-2 names the decision's properties either way", () => {
    const policy = { triggerPct: 0.85, hardCapBuffer: 1500, strategy: "task_state" };
    expect(events.triggerDecision({ triggered: false, reason: "below", policy }).properties).toEqual({
      triggered: false,
      reason: "below",
      policy: { trigger_pct: 0.85, hard_cap_buffer: 1500, strategy: "task_state" },
    });
    const kept = { pinned: 1, recentTurns: 6, toolPairs: 4 };
    const triggered = events.triggerDecision({ triggered: true, reason: "r", policy, kept, prunedCount: 9 });
    expect(triggered.properties).toMatchObject({
      kept: { pinned: 1, recent_turns: 6, tool_pairs: 4 },
      pruned_count: 9,
    });
  });

  it("OBS-2 names the summary's properties and carries it as payload", () => {
    const counts = { strategy: "brief", inputMessages: 40, inputTokens: 20_000, summaryTokens: 1_000 };
    expect(events.summaryCreated({ ...counts, text: "all of it" })).toEqual({
      name: "compact.summary_created",
      status: "ok",
      properties: { strategy: "brief", input_messages: 40, summary_tokens: 1_000, compression_ratio: 0.05 },
      payload: "all of it",
    });
  });

  it("OBS-3 names the properties of pruning, archival and errors", () => {
    const layers = { pinned: 1, summary: 1, recent: 12 };
    expect(events.prunedMessages({ layers, prunedCount: 9 }).properties).toEqual({ layers, pruned_count: 9 });
    const saved = {
      sessionId: "s",
      step: 2,
      storageAdapter: "fs",
      location: "/a/s/transcript-pre-compact-002.jsonl",
    };
    expect(events.archival(saved)).toMatchObject({
      name: "compact.archival",
      properties: { session_id: "s", step: 2, storage_adapter: "fs", location: saved.location },
    });
    expect(events.failure({ errorType: "SummarizerFailed", message: "m", fallback: "pruning-only" })).toEqual(
      {
        name: "compact.error",
        status: "error",
        properties: { error_type: "SummarizerFailed", message: "m", fallback: "pruning-only" },
      },
    );
  });
});
