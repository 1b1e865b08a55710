import { describe, expect, it } from "vitest";
import { CompactManager } from "../../create-manager.ts";
import { createMemoryDriver } from "../../storage/memory/driver.ts";
import { createMetrics } from "./metrics.ts";

const event = (name: string, properties: Readonly<Record<string, unknown>>) =>
  ({ version: 1, name, sessionId: "s", startedAt: "", endedAt: "", status: "ok", properties }) as never;

describe("createMetrics", () => {
  it("gives the metrics of a run under the names of a collector, none of which names a session", async () => {
    const metrics = createMetrics();
    const manager = new CompactManager(
      { model: "gpt-4o", maxContextTokens: 4_000, policy: { hardCapBuffer: 200, keepRecentTurns: 1 } },
      { storage: createMemoryDriver(), exporters: [metrics] },
    );
    const list = Array.from({ length: 60 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `message ${index} of the session `.repeat(20),
    }));
    await manager.preflight("secret-session", list);
    await manager.flush();
    const text = metrics.text();
    expect(text).toContain('compact_rounds_total{compact_reason="trigger_pct"} 1\n');
    expect(text).toContain("# TYPE compact_round_duration_seconds histogram\n");
    expect(text).toMatch(/^compact_request_tokens_bucket\{gen_ai_request_model="gpt-4o",le="\+Inf"\} 1$/m);
    expect(text).toMatch(/^compact_round_messages_pruned_total [1-9]/m);
    expect(text).not.toContain("secret-session");
    for (const line of text.trimEnd().split("\n")) {
      expect(line).toMatch(/^(?:# (?:HELP|TYPE) [a-z_]+ .+|[a-z_]+(?:\{[^{}]+\})? [\d.e+-]+)$/);
    }
  });

  it("counts a value in every bucket that it fits, and sums it", () => {
    const metrics = createMetrics();
    for (const ms of [20, 300]) {
      void metrics.export(
        event("compact.pruned_messages", { elapsed_ms: ms, tokens_before: 9, tokens_after: 4 }),
      );
    }
    const text = metrics.text();
    expect(text).toContain('compact_round_duration_seconds_bucket{le="0.01"} 0\n');
    expect(text).toContain('compact_round_duration_seconds_bucket{le="0.025"} 1\n');
    expect(text).toContain('compact_round_duration_seconds_bucket{le="0.5"} 2\n');
    expect(text).toContain("compact_round_duration_seconds_sum 0.32\n");
    expect(text).toContain("compact_round_tokens_removed_total 10\n");
  });

  it("escapes what a label cannot hold, and has an end to its series", () => {
    const metrics = createMetrics();
    void metrics.export(event("compact.error", { error_type: 'a"b\\c\nd' }));
    expect(metrics.text()).toContain('compact_errors_total{error_type="a\\"b\\\\c\\nd"} 1\n');
    for (let index = 0; index < 5_000; index += 1) {
      void metrics.export(event("compact.error", { error_type: `type ${index}` }));
    }
    expect(metrics.text().split("\n").length).toBeLessThan(300);
    expect(metrics.text()).toContain("compact_errors_total 4801\n");
  });
});
