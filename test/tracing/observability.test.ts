import { existsSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { eventsSection, fill, metricsTable } from "../../scripts/events-page.mjs";
import { CompactManager } from "../../src/compaction/manager.ts";
import type { TriggerReason } from "../../src/policy/trigger.ts";
import { createMemoryDriver } from "../../src/storage/drivers/memory.ts";
import { METRICS } from "../../src/tracing/exporters/opentelemetry-metrics.ts";
import * as tracing from "../../src/tracing/index.ts";
import { reasons } from "../../src/tracing/schema-parts.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), "utf8");

describe("OBSERVABILITY.md", () => {
  let page: string;
  beforeAll(() => {
    page = read("OBSERVABILITY.md");
  });

  it("DOC-3 has every event with its schema and an example of a real run, as fresh as the code", async () => {
    const session: unknown = JSON.parse(read("demo/session.json"));
    const section = await eventsSection({ tracing, CompactManager, createMemoryDriver }, session);
    for (const name of Object.keys(tracing.eventSchema)) expect(section).toContain(`### \`${name}\``);
    expect(fill(page, "events", section) === page, "npm run docs").toBe(true);
    expect(fill(page, "metrics", metricsTable(METRICS)) === page, "npm run docs").toBe(true);
  });

  it("DOC-3 says how to set up Ariadne and OTLP", () => {
    expect(page).toMatch(/^## Ariadne$[^]*COMPACT_TRACING_ARIADNE=[^]*^## OpenTelemetry$/m);
    expect(page).toMatch(
      /^## OpenTelemetry$[^]*COMPACT_TRACING_OPENTELEMETRY=true[^]*receivers:\n {2}otlp:/m,
    );
  });

  it("DOC-3 shows pictures that are there", () => {
    const pictures = [...page.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, target = ""]) => target);
    expect(pictures.some((target) => target.includes("view-timeline"))).toBe(true);
    for (const target of pictures)
      expect([target, existsSync(new URL(target, root))]).toEqual([target, true]);
  });
});

describe("the schema of events", () => {
  it("names every reason of the policy, and no other", () => {
    const known: Record<TriggerReason, true> = {
      below_trigger: true,
      trigger_pct: true,
      max_tokens: true,
      max_tokens_before_summary: true,
      hard_cap: true,
      manual: true,
      max_bytes: true,
      cold_cache: true,
      tool_output: true,
      just_compacted: true,
      nothing_eligible: true,
      in_background: true,
      fixed_over_trigger: true,
      attempts_failed: true,
    };
    expect(Object.keys(reasons).sort()).toEqual(Object.keys(known).sort());
  });
});
